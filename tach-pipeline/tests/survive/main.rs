//! Processes that are killed while they log, and the pipelines that pass on their records.
//!
//! `TACH_KILLS=10000 cargo test --release -p tach-pipeline --all-features --test survive` kills
//! more often than CI does.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod child;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod files;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod kills;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod receivers;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod scene;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod spans;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod unix;

fn main() {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    match std::env::args().nth(1).filter(|_| std::env::var_os(scene::FOLDER).is_some()) {
        Some(role) => child::run(&role),
        None => kills::run(),
    }
}
