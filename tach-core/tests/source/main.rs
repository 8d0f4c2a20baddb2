//! The choice of the source. It is made once a process, so each case runs in a child: this program
//! again, with the case's name as its argument. Where there are no processes it says so.

#[cfg(not(target_family = "wasm"))]
mod cases;

fn main() {
    #[cfg(not(target_family = "wasm"))]
    cases::main();
    #[cfg(target_family = "wasm")]
    eprintln!("0 passed, all NOT RUN: there are no processes");
}
