//! The unmodified public API on a machine that is simulated inside the process.
//!
//! `interpose` defines the C functions by which tach reads clocks and files, and `trap` answers the
//! counter's instruction, which the kernel has been told to refuse. Both ask `machine`, the state
//! of the simulated machine, which a scenario resets, suspends, slews, steps and moves.
//!
//! Each scenario runs in a child: this program again, with the scenario's name as its argument.
//! Each has a control that must fail: the same checks of a clock that can't pass them, or of a
//! disturbance that is larger than the bar.
//!
//! `cargo test -p tach-core --test machine -- slew` runs the scenarios whose names hold `slew`.

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#[path = "."]
mod linux {
    mod child;
    mod interpose;
    mod machine;
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
    eprintln!("0 passed, all NOT RUN: the simulated machine is an x86-64 one with Linux");
}
