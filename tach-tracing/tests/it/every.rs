//! Properties of every timer.

use core::fmt;
use core::time::Duration;

use tach_core::{Anchor, Clock as _, Instant, event_time};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime as _;

use crate::timers::{self, Boxed, CLOCK, NOW};

fn text(timer: &Boxed) -> String {
    let mut text = String::new();
    timer.format_time(&mut Writer::new(&mut text)).unwrap();
    text
}

#[test]
fn it_prints_the_pinned_event_time() {
    let still = timers::still().into_iter().map(|(timer, _)| timer).collect();
    let later = Duration::new(3661, 100_000_001);
    for (instant, timers) in [(Instant::now(), timers::system()), (CLOCK.now(), still)] {
        let one = Anchor::new(instant, NOW);
        let other = Anchor::new(instant + later, NOW.saturating_add(later));
        for (i, timer) in timers.into_iter().enumerate() {
            let [first, again] = [(); 2].map(|()| event_time::during(one, || text(&timer)));
            assert_eq!(first, again, "timer {i}");
            assert_ne!(first, event_time::during(other, || text(&timer)), "timer {i}");
        }
    }
}

/// If a timer failed, the JSON format would lose the event.
#[test]
fn it_never_fails() {
    struct Full;

    impl fmt::Write for Full {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            Err(fmt::Error)
        }
    }

    for (i, timer) in timers::system().into_iter().enumerate() {
        assert_eq!(timer.format_time(&mut Writer::new(&mut Full)), Ok(()), "timer {i}");
    }
}
