//! The unmodified public API on a machine that is simulated inside the process.
//!
//! `interpose` defines the C functions with which tach reads clocks and files. `trap` answers the
//! counter's instruction, which the kernel refuses. Both ask `machine`, the state that a scenario
//! changes.
//!
//! Each scenario runs in a child: this program again, with the scenario's name as its argument.
//! Each has a control that must fail: the same checks of a clock that can't pass, or of a larger
//! disturbance.
//!
//! `cargo test -p tach-core --test machine -- slew` runs the scenarios with `slew` in their names.

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#[path = "."]
mod linux {
    mod child;
    mod interpose;
    mod machine;
    mod mode;
    mod report;
    mod runner;
    mod scenarios;
    mod seccomp;
    mod subject;
    mod trap;
    mod watch;
    mod word;

    pub(crate) use runner::main;
}

fn main() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    linux::main();
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
    eprintln!("0 passed, all NOT RUN: the simulation needs Linux on x86-64");
}
