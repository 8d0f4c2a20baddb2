//! The expressions of tach-log's front page, each in its back end, which writes a line by it.

use std::fs;

use log::{Level, LevelFilter, Log, Record};
use log4rs::append::file::FileAppender;
use log4rs::config::{Appender, Config, Root};
use log4rs::encode::{self, Encode};
use tach_log::{Line, display, write};
use test_support::Captured;

use crate::folder::Folder;

/// Logs a record, and asserts that `text` returns its line.
#[track_caller]
fn assert_line(logger: &dyn Log, text: impl FnOnce() -> String) {
    let message = format_args!("two\nlines");
    logger.log(&Record::builder().target("app").level(Level::Info).args(message).build());
    logger.flush();
    let text = text();
    assert!(text.trim_end().ends_with(r"Z INFO  app: two\nlines"), "{text:?}");
}

#[test]
fn fern_takes_its_expression() {
    let captured = Captured::default();
    let dispatch = fern::Dispatch::new()
        .format(|out, _, record| out.finish(format_args!("{}", display(Line::new(), record))))
        .chain(Box::new(captured.clone()) as Box<dyn std::io::Write + Send>);
    assert_line(&*dispatch.into_log().1, || captured.text());
}

#[test]
fn env_logger_takes_its_expression() {
    let captured = Captured::default();
    let mut builder = env_logger::Builder::new();
    builder.filter_level(LevelFilter::Info).format(write(Line::new()));
    builder.target(env_logger::Target::Pipe(Box::new(captured.clone())));
    assert_line(&builder.build(), || captured.text());
}

#[test]
fn flexi_logger_takes_its_expression() {
    let folder = Folder::new("flexi_logger");
    let file = flexi_logger::FileSpec::default().directory(&folder.path).suppress_timestamp();
    let logger = flexi_logger::Logger::with(flexi_logger::LogSpecification::info())
        .log_to_file(file)
        .format(|out, _, record| write!(out, "{}", display(Line::new(), record)));
    let (logger, _handle) = logger.build().unwrap();
    assert_line(&*logger, || {
        let file = fs::read_dir(&folder.path).unwrap().next().unwrap().unwrap().path();
        fs::read_to_string(file).unwrap()
    });
}

/// A format as an encoder of log4rs.
#[derive(Debug)]
struct Encoder;

impl Encode for Encoder {
    fn encode(&self, out: &mut dyn encode::Write, record: &Record<'_>) -> anyhow::Result<()> {
        Ok(write(Line::new())(out, record)?)
    }
}

#[test]
fn log4rs_takes_its_expression() {
    let folder = Folder::new("log4rs");
    let file = folder.path.join("app.log");
    let appender = FileAppender::builder().encoder(Box::new(Encoder)).build(&file).unwrap();
    let root = Root::builder().appender("file").build(LevelFilter::Info);
    let appender = Appender::builder().build("file", Box::new(appender));
    let config = Config::builder().appender(appender).build(root).unwrap();
    assert_line(&log4rs::Logger::new(config), || fs::read_to_string(&file).unwrap());
}
