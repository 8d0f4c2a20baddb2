//! Captures of tests that run in parallel.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::{env, thread};

use tach_pipeline::testing::{Captured, capture};
use test_support::{assert_test_passes, test_of_this_program};

const WAY: &str = "TACH_PIPELINE_TESTING";

/// Each of the tests below runs in a process of its own: other tests have other loggers.
#[test]
fn captures() {
    assert_test_passes("testing::child", &[(WAY, "captures")]);
    let output = test_of_this_program("testing::child").env(WAY, "logger").output().unwrap();
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("log has another logger, which has the records"), "{told}");
}

#[test]
#[ignore = "sets the logger of its process"]
fn child() {
    match env::var(WAY).as_deref() {
        Ok("captures") => {
            thread::scope(|scope| {
                for number in 0..8 {
                    scope.spawn(move || (0..20).for_each(|_| both_front_ends(number)));
                }
            });
            nested();
            a_panic();
            outside();
        }
        Ok("logger") => {
            log::set_boxed_logger(Box::new(env_logger())).unwrap();
            let _refused = capture(|| {});
        }
        _ => {}
    }
}

fn env_logger() -> impl log::Log {
    tach_pipeline::Pipeline::builder().build().unwrap().pipeline().clone()
}

fn lines(captured: &Captured) -> Vec<String> {
    captured.records().iter().map(ToString::to_string).collect()
}

fn both_front_ends(number: u32) {
    let captured = capture(|| {
        log::debug!(target: "app", number; "by log");
        #[cfg(feature = "tracing")]
        tracing::info_span!("request", id = number)
            .in_scope(|| tracing::trace!(target: "app", text = "a \"b\"", "by tracing"));
    });
    assert_eq!(lines(&captured)[0], format!("DEBUG app: by log number={number}\n"));
    let first = &captured.records()[0];
    assert_eq!((first.level(), first.target(), first.message()), ("DEBUG", "app", "by log"));
    assert_eq!(first.field("number"), Some(&*number.to_string()));
    assert_eq!(first.field("id"), None);
    #[cfg(feature = "tracing")]
    {
        let line = format!("TRACE request{{id={number}}}: app: by tracing text=\"a \\\"b\\\"\"\n");
        assert_eq!(lines(&captured)[1..], [line]);
        let second = &captured.records()[1];
        assert_eq!(second.field("text"), Some("a \"b\""));
        assert_eq!(second.field("id"), Some(&*number.to_string()));
    }
}

fn nested() {
    let mut inner = None;
    let outer = capture(|| {
        log::info!(target: "app", "before");
        inner = Some(capture(|| log::info!(target: "app", "within")));
        log::info!(target: "app", "after");
    });
    assert_eq!(lines(&inner.unwrap()), [" INFO app: within\n"]);
    assert_eq!(lines(&outer), [" INFO app: before\n", " INFO app: after\n"]);
}

fn a_panic() {
    let panics = AssertUnwindSafe(|| drop(capture(|| panic!("on purpose"))));
    assert!(catch_unwind(panics).is_err());
    outside();
}

/// Outside of a capture, nothing logs.
fn outside() {
    assert!(!log::log_enabled!(log::Level::Error));
    log::error!("nobody takes it");
}
