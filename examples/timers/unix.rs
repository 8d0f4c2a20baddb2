//! The Unix time as a number.
//!
//! ```text
//! cargo run --example timer_unix
//! ```

use tach_tracing::{UnixMillis, UnixNanos};
use tracing::subscriber::with_default;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::time::FormatTime;

fn main() {
    log_by(UnixMillis);
    log_by(UnixNanos);
}

fn log_by(timer: impl FormatTime + Send + Sync + 'static) {
    let subscriber = fmt().with_timer(timer).finish();
    with_default(subscriber, || tracing::info!("ready"));
}
