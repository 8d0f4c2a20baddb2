//! Ends spans, and then itself: `exits WAY GUARD ENDPOINT`, for the test of that name.

use std::time::Duration;
use std::{env, panic, process, thread};

use tach_pipeline::{Otlp, Pipeline, Signal, Sink};

/// How many spans end.
const SPANS: u32 = 10_000;
/// Longer than the process lives, so that only a flush sends the last of them.
const FOREVER: Duration = Duration::from_secs(600);

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [way, guard, endpoint] = arguments.try_into().expect("there are three arguments");
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(FOREVER);
    let kept = Pipeline::builder()
        .sink(Sink::otlp(otlp.signals([Signal::Traces])))
        .init()
        .expect("it is the first");
    let _living = match &*guard {
        "living" => Some(kept),
        "dropped" => {
            drop(kept);
            None
        }
        guard => panic!("no such guard: {guard}"),
    };
    // It has no end before the exit's.
    let _open = tracing::info_span!("open").entered();
    (0..SPANS).for_each(|number| drop(tracing::info_span!("ended", number)));
    match &*way {
        "return" => {}
        "exit" => process::exit(0),
        "exit in a thread" => {
            let _never = thread::spawn(|| process::exit(0)).join();
        }
        "panic" => panic!("on purpose"),
        "panic in a thread" => {
            let panicked = thread::spawn(|| panic::resume_unwind(Box::new("on purpose"))).join();
            assert!(panicked.is_err());
        }
        way => panic!("no such way: {way}"),
    }
}
