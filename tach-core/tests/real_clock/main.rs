//! A real slew and a real step of this machine's clock.
//!
//! The test changes the clock of the whole machine. So it runs only with `TACH_REAL_CLOCK=1` in the
//! environment, and needs the privilege to set the clock. The parent saves the clock's state and
//! restores it after the child, however that ended.

#[cfg(all(target_os = "linux", not(target_env = "uclibc")))]
mod child;
#[cfg(all(target_os = "linux", not(target_env = "uclibc")))]
mod clock;
#[cfg(all(target_os = "linux", not(target_env = "uclibc")))]
mod parent;

fn main() {
    #[cfg(all(target_os = "linux", not(target_env = "uclibc")))]
    parent::main();
    #[cfg(not(all(target_os = "linux", not(target_env = "uclibc"))))]
    eprintln!("0 passed, all NOT RUN: the test changes the clock by Linux's calls");
}
