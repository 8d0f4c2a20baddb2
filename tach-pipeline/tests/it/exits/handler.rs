//! A process whose signal handler logs, although the docs forbid it.
#![expect(unsafe_code, reason = "installs a handler, as programs do that log in one")]

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::OnceLock;
use std::{process, thread};

use signal_hook::consts::SIGUSR1;
use signal_hook::low_level;
use tach_pipeline::Pipeline;

use super::{end_unless_done, run};
use crate::support::{LONG, Talks, info};

const COUNT: u64 = 20_000;

static PIPELINE: OnceLock<Pipeline> = OnceLock::new();
static HANDLED: AtomicU64 = AtomicU64::new(0);
static IS_DONE: AtomicBool = AtomicBool::new(false);

/// Logs on this thread while signals come to the process, whichever thread they interrupt.
pub(super) fn logs(pipeline: &Pipeline) {
    end_unless_done();
    PIPELINE.set(pipeline.clone()).unwrap();
    // A record of `log` has this span. The handler reads it while the thread reads it.
    #[cfg(feature = "tracing")]
    tracing::dispatcher::set_global_default(crate::support::subscriber(pipeline)).unwrap();
    #[cfg(feature = "tracing")]
    let _span = tracing::info_span!("span", a = 1).entered();
    #[cfg(feature = "tracing")]
    let is_own_road = crate::support::is_own_road();
    let handler = move || {
        // A registry allocates.
        #[cfg(feature = "tracing")]
        let _span = is_own_road.then(|| tracing::info_span!("handler").entered());
        info(PIPELINE.get().unwrap(), "from the handler");
        HANDLED.fetch_add(1, Ordering::SeqCst);
    };
    // Prepare the span's callsite, and the thread's memory for spans.
    handler();
    // Prepare the buffers of this thread, also for a call within a call: a handler must not
    // allocate.
    info(pipeline, &Talks(pipeline).to_string());
    log(pipeline, &Talks(pipeline));
    let before = 4;
    // SAFETY: the handler logs with the buffers above, and allocates nothing.
    unsafe { low_level::register(SIGUSR1, handler) }.unwrap();
    let this = libc::pid_t::try_from(process::id()).unwrap();
    let sender = thread::spawn(move || {
        while !IS_DONE.load(Ordering::SeqCst) {
            // SAFETY: sends a signal to this process, which has a handler.
            unsafe { libc::kill(this, SIGUSR1) };
            thread::sleep(Duration::from_micros(50));
        }
    });
    (0..COUNT).for_each(|number| log(pipeline, &number));
    IS_DONE.store(true, Ordering::SeqCst);
    sender.join().unwrap();
    pipeline.flush(LONG).unwrap();
    let stats = pipeline.stats();
    let from_handler = HANDLED.load(Ordering::SeqCst);
    assert_eq!(stats.records() + stats.dropped(), before + COUNT + from_handler, "{stats:?}");
}

/// Logs on this thread to each of two pipelines. A handler that logs to one of them runs after each
/// instruction.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) fn logs_to_another(pipelines: [&Pipeline; 2]) {
    end_unless_done();
    let both = pipelines.map(Clone::clone);
    let handler = move || {
        // By turns: both within one handler would leave the thread's queues as they were.
        let turn = HANDLED.fetch_add(1, Ordering::SeqCst);
        info(&both[usize::from(turn % 2 == 1)], "from the handler");
    };
    for pipeline in pipelines {
        log(pipeline, &Talks(pipeline));
    }
    // SAFETY: the handler logs with the buffers above, and allocates nothing.
    unsafe { low_level::register(signal_hook::consts::SIGTRAP, handler) }.unwrap();
    for pipeline in pipelines {
        // SAFETY: sets the processor's flag for a trap after each instruction.
        unsafe { core::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
        info(pipeline, "stepped");
        // SAFETY: removes the flag.
        unsafe { core::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
    }
    let from_handler = HANDLED.load(Ordering::SeqCst);
    assert!(from_handler > 100, "{from_handler}");
    for (pipeline, more) in pipelines.into_iter().zip([from_handler % 2, 0]) {
        pipeline.flush(LONG).unwrap();
        let stats = pipeline.stats();
        let all = 3 + from_handler / 2 + more;
        assert_eq!(stats.records() + stats.dropped(), all, "{stats:?}");
    }
}

/// Logs a value, which is printed within the call.
fn log(pipeline: &Pipeline, value: &dyn fmt::Display) {
    let mut record = log::Record::builder();
    record.level(log::Level::Info).target("app");
    log::Log::log(pipeline, &record.args(format_args!("{value}")).build());
}

#[test]
fn a_handler_that_logs_hangs_nothing() {
    for _ in 0..3 {
        let (output, messages) = run("a handler logs");
        assert!(output.status.success(), "{output:?}");
        // The span's field follows the number.
        let number = |message: &String| message.split(' ').next()?.parse().ok();
        let numbers: Vec<u64> = messages.iter().filter_map(number).collect();
        assert_eq!(numbers, (0..COUNT).collect::<Vec<_>>());
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_handler_that_logs_to_another_pipeline_harms_no_queue() {
    let (output, messages) = run("a handler logs to another pipeline");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(messages.iter().filter(|message| *message == "stepped").count(), 1);
}
