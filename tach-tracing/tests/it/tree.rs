//! A timer prints the same in tracing-tree's lines.

use tach_core::{ManualClock, UnixTime};
use tach_tracing::{Tree, Utc};
use test_support::Captured;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

#[test]
fn a_line_has_the_timer_s_text() {
    let captured = Captured::default();
    let layer = tracing_tree::HierarchicalLayer::new(2)
        .with_ansi(false)
        .with_writer(captured.clone())
        .with_timer(Tree(Utc.digits(3).with_clock(&CLOCK)));
    tracing::subscriber::with_default(registry().with(layer), || tracing::info!("ready"));
    assert!(
        captured.text().trim_start().starts_with("1970-01-01T00:00:00.000Z"),
        "{}",
        captured.text()
    );
}
