//! axum with axum-tracing-opentelemetry: the middleware's own tests, and the spans that arrive.

use super::program::{Change, Form, Program};
use crate::peers::taken::File;

pub(super) const PROGRAM: Program = Program {
    name: "axum-tracing-opentelemetry",
    version: "0.42.1",
    form: Form::Parts(&[File::tests_of(
        "src/middleware/trace_extractor.rs",
        "src/taken.rs",
        &[("use testing_tracing_opentelemetry::", "use crate::environment::")],
    )]),
    repairs: &[],
    commands: &["cargo add tach-pipeline --features opentelemetry,otlp"],
    changes: &[
        Change {
            file: "src/lib.rs",
            begin: "mod before;",
            end: "",
            with: "mod after;",
            own: &["mod after;"],
        },
        Change {
            file: "src/environment.rs",
            begin: "use crate::before",
            end: "",
            with: "use crate::after",
            own: &["use crate::after"],
        },
    ],
    targets: &["--lib"],
    tests: 12,
    session: None,
    same_line: str::to_owned,
    shown: &[],
};
