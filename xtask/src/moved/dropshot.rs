//! dropshot's logging: slog with slog-async, slog-term and slog-bunyan, chosen by a file.

use super::program::{Change, Form, Program};
use crate::peers::taken::File;

pub(super) const PROGRAM: Program = Program {
    name: "dropshot",
    version: "0.18.0",
    form: Form::Parts(&[
        File::whole("src/logging.rs", "src/logging.rs", &[]),
        File {
            begin: Some("/// Load an object of type `T`"),
            end: Some("#[cfg(test)]"),
            ..File::whole("src/test_util.rs", "src/taken.rs", &[])
        },
    ]),
    repairs: &[],
    commands: &[
        "cargo remove slog-async slog-bunyan slog-json slog-term",
        "cargo add tach-log",
        "cargo add tach-pipeline --features slog",
    ],
    changes: &[
        Change {
            file: "src/logging.rs",
            begin: "use std::io::LineWriter;",
            end: "",
            with: "use tach_log::Json;\nuse tach_pipeline::{Pipeline, Sink, kind};",
            own: &[],
        },
        Change {
            file: "src/logging.rs",
            begin: "let decorator",
            end: "Ok(async_root_logger(level, drain))",
            with: "root_logger(level, Sink::stderr())",
            own: &["root_logger(level, Sink::stderr())"],
        },
        Change {
            file: "src/logging.rs",
            begin: "let drain = log_drain_for_file(",
            end: "async_root_logger(level, drain);",
            with: "let sink = log_sink_for_file(&open_options, Path::new(path), log_name.as_ref())?;
                let logger = root_logger(level, sink)?;",
            own: &[
                "let sink = log_sink_for_file(&open_options, Path::new(path), log_name.as_ref())?;",
                "let logger = root_logger(level, sink)?;",
            ],
        },
        Change {
            file: "src/logging.rs",
            begin: "fn async_root_logger<T>",
            end: "\n}\n",
            with: "fn root_logger(level: &ConfigLoggingLevel, sink: impl Into<Sink>) -> io::Result<Logger> {
    let guard = Pipeline::builder().sink(sink).filter(\"trace\").build()?;
    let drain = slog::LevelFilter(guard.pipeline().clone(), Level::from(level)).fuse();
    Ok(Logger::root(drain, o!()))
}
",
            own: &[
                "fn root_logger(level: &ConfigLoggingLevel, sink: impl Into<Sink>) -> io::Result<Logger> {",
            ],
        },
        Change {
            file: "src/logging.rs",
            begin: "fn log_drain_for_file(",
            end: "\n}\n",
            with: "fn log_sink_for_file(
    open_options: &OpenOptions,
    path: &Path,
    log_name: &str,
) -> io::Result<Sink<kind::Stream>> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let host_name = &hostname::get()?.to_string_lossy().into_owned();
    let format = Json::bunyan(log_name, host_name);
    Ok(Sink::writer(\"file\", open_options.open(path)?).format(format))
}
",
            own: &[
                "fn log_sink_for_file(",
                "open_options: &OpenOptions,",
                "path: &Path,",
                "log_name: &str,",
                ") -> io::Result<Sink<kind::Stream>> {",
                "if let Some(parent) = path.parent() {",
                "std::fs::create_dir_all(parent)?;",
                "let host_name = &hostname::get()?.to_string_lossy().into_owned();",
            ],
        },
    ],
    targets: &["--lib"],
    tests: 9,
    session: None,
    same_line: str::to_owned,
    shown: &[],
};
