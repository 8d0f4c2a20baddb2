//! Other back ends of `log`. Two of them do not write fields: for these, the fields are text in the
//! message.

use std::path::Path;
use std::sync::Arc;

use log::{LevelFilter, Log};

use super::Opened;

/// Its channel has no bound, so no record is dropped, and no call waits.
pub(super) fn fast_log(path: &Path) -> Opened {
    let path = path.to_str().expect("a path of text");
    let config = fast_log::Config::new().level(LevelFilter::Info).file(path);
    fields_in_message(fast_log::init(config).expect("the process has no other"))
}

/// By default a channel of 100,000 records, beyond which it drops. Here its calls wait.
pub(super) fn ftlog(path: &Path) -> Opened {
    let file = ftlog::appender::FileAppender::builder().path(path).build();
    let builder = ftlog::builder().root(file).bounded(100_000, true);
    fields_in_message(leaked(builder.build().expect("a thread")))
}

/// Formats and writes in the call, and flushes the file after each record.
pub(super) fn log4rs(path: &Path) -> Opened {
    use log4rs::append::file::FileAppender;
    use log4rs::config::{Appender, Config, Root};
    use log4rs::encode::json::JsonEncoder;

    let file = FileAppender::builder().encoder(Box::new(JsonEncoder::new()));
    let file = Appender::builder().build("file", Box::new(file.build(path).expect("a file")));
    let root = Root::builder().appender("file").build(LevelFilter::Info);
    let config = Config::builder().appender(file).build(root).expect("a root with an appender");
    with_fields(leaked(log4rs::Logger::new(config)))
}

/// By default a channel without a bound. Here one of 8,192 records, for which calls wait.
pub(super) fn logforth(path: &Path) -> Opened {
    use logforth::append::asynchronous::AsyncBuilder;
    use logforth::append::file::FileBuilder;
    use logforth::bridge::log::LogBridge;
    use logforth::layout::JsonLayout;

    let (folder, name) = (path.parent().expect("a folder"), path.file_stem().expect("a name"));
    let file = FileBuilder::new(folder, name.to_string_lossy()).filename_suffix("log");
    let file = file.layout(JsonLayout::default()).build().expect("a file");
    let queue = AsyncBuilder::new("logforth").buffered_lines_limit(Some(8_192));
    let queue = queue.append(file).build();
    let logger = Arc::new(logforth::core::builder().dispatch(|it| it.append(queue)).build());
    with_fields(leaked(LogBridge::new(logger)))
}

fn leaked(logger: impl Log + 'static) -> &'static dyn Log {
    log::set_max_level(LevelFilter::Info);
    Box::leak(Box::new(logger))
}

fn with_fields(logger: &'static dyn Log) -> Opened {
    Opened {
        message: Box::new(move |text| log::info!(logger: logger, "{text}")),
        log: Box::new(move |number| {
            log::info!(logger: logger, number, took = 0.25, path = "/index.html"; "request done");
        }),
        close: Box::new(move || logger.flush()),
    }
}

fn fields_in_message(logger: &'static dyn Log) -> Opened {
    Opened {
        message: Box::new(move |text| log::info!(logger: logger, "{text}")),
        log: Box::new(move |number| {
            let (took, path) = (0.25, "/index.html");
            log::info!(logger: logger, "request done number={number} took={took} path={path}");
        }),
        close: Box::new(move || logger.flush()),
    }
}
