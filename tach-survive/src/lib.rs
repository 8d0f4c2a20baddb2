//! Log records that outlive a process which is killed: the queues of
//! [tach-pipeline](https://docs.rs/tach-pipeline) in a mapped file.
//!
//! tach-pipeline's method `Builder::survive` opens the file, and says what is promised. This crate
//! stands behind the traits [`Keeper`] of tach-record and [`Notes`] of tach-sinks: a pipeline
//! without it knows those alone. Only tach-pipeline uses the crate.
//!
//! ```
//! use tach_pipeline::{Pipeline, Sink};
//!
//! # let folder = std::env::temp_dir().join(format!("tach-survive-doc-{}", std::process::id()));
//! # let (log, survivors) = (folder.join("app.log"), folder.join("survivors"));
//! let guard = Pipeline::builder().sink(Sink::file(&log)).survive(&survivors).build()?;
//! # drop(guard);
//! # std::fs::remove_dir_all(folder).unwrap();
//! # Ok::<(), tach_pipeline::Error>(())
//! ```

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod file;

use std::sync::Arc;

use tach_record::keep::Keeper;
use tach_record::queue::file::RingFile;
use tach_sinks::adapter::Notes;

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub use crate::file::open;
#[cfg(all(feature = "watched", target_os = "linux", target_pointer_width = "64"))]
#[doc(hidden)]
pub use crate::file::watched;

/// A file as the queues and the sinks of a pipeline see it, and what keeps the records there.
pub type Parts = (Arc<dyn RingFile>, Arc<dyn Notes>, Box<dyn Keeper>);

/// Fails: the records outlive a process on Linux with 64 bits alone.
///
/// # Errors
///
/// Always.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub fn open(
    _: &std::path::Path,
    _: &mut [tach_sinks::adapter::OpenSink<'_>],
    _: Box<tach_record::keep::OnFault>,
) -> std::io::Result<Parts> {
    let why = "it needs Linux with 64 bits";
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, why))
}

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
