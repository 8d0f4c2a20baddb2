//! Perfetto's own reader of traces, which its viewer consists of.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::{Map, Value};

use crate::process::{folder, program};

/// The viewer's release.
#[derive(Debug)]
pub struct Perfetto {
    folder: PathBuf,
}

/// A row of a query, by column. Each value is a text, or null.
pub type Row = Map<String, Value>;
pub type Rows = Vec<Row>;

impl Perfetto {
    /// Returns the release that `PERFETTO_ENGINE` names, or `None` if the test is to be skipped.
    ///
    /// # Panics
    ///
    /// If the variable names no file, or if no test may be skipped.
    #[must_use]
    pub fn find() -> Option<Self> {
        let engine = program("PERFETTO_ENGINE")?;
        Some(Self { folder: engine.parent()?.to_owned() })
    }

    /// Reads a trace and returns the rows of each query.
    ///
    /// # Panics
    ///
    /// If the trace or a query has an error, or if anything in the trace was not understood.
    #[must_use]
    pub fn query<const N: usize>(&self, trace: &[u8], queries: [&str; N]) -> [Rows; N] {
        let folder = folder();
        let path = folder.path().join("trace");
        fs::write(&path, trace).expect("the trace can be written");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("perfetto.js");
        // Losses are errors. The statistics of what is right are left out.
        let stats = "select name, value from stats where value > 0 \
                     and severity in ('error', 'data_loss')";
        let mut node = Command::new(env::var_os("NODE").unwrap_or_else(|| "node".into()));
        node.arg(script).arg(&self.folder).arg(path).args(queries).arg(stats);
        let output = node.output().expect("node is there");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let mut all: Vec<Rows> = serde_json::from_slice(&output.stdout).expect("it is JSON");
        assert_eq!(all.pop(), Some(Rows::new()), "{errors}");
        all.try_into().expect("each query has its rows")
    }
}
