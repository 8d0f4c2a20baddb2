//! The choice of the source. A process makes it once, so each case runs in a child: this program
//! again, with the case's name as its argument. On targets without processes it prints that it did
//! not run.

#[cfg(not(target_family = "wasm"))]
mod cases;

fn main() {
    #[cfg(not(target_family = "wasm"))]
    cases::main();
    #[cfg(target_family = "wasm")]
    eprintln!("0 passed, all NOT RUN: there are no processes");
}
