//! The option for records that outlive the process.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::back_end::survival::{Found, Skipped, Survival};
use crate::error::Error;
use crate::faults::Faults;
use crate::incident::{Incident, Reporter};
use crate::queue::WhenFull;
use crate::queue::file::RingFile;
use crate::sink::all::Opened;
use crate::sink::all::survival::Receiving;
use tach_record::host::process::Process;
use tach_sinks::adapter::Notes;

#[derive(Debug, Clone, Default)]
pub(crate) struct Options(pub(crate) Option<Kept>);

#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) folder: PathBuf,
    pub(crate) open: Open,
}

/// Looks what became of the last writes of processes that have ended, and creates a file.
pub(crate) type Open = fn(&Path, to: &mut [Receiving<'_>]) -> io::Result<Found>;

/// What the option adds to a pipeline. Nothing, if it is not set.
#[derive(Default)]
pub(super) struct Added {
    pub(super) rings: Option<Arc<dyn RingFile>>,
    pub(super) notes: Option<Arc<dyn Notes>>,
    pub(super) survival: Option<Survival>,
    /// Whether the program must not log before the records of other processes are passed on.
    pub(super) waits: bool,
}

impl Options {
    /// Adds a fault if the sinks can't work with the option.
    pub(super) fn check(&self, opened: &mut Opened, faults: &mut Faults) {
        let Some(Kept { folder, .. }) = &self.0 else { return };
        let call = || format!("Builder::survive(\"{}\")", folder.display());
        opened.check_kept(call, faults);
    }

    /// Creates the file, and finds the files of processes that have ended.
    ///
    /// # Errors
    ///
    /// If the folder can't be used.
    pub(super) fn open(
        &self,
        opened: &mut Opened,
        when_full: WhenFull,
        reporter: &mut Reporter,
    ) -> Result<Added, Error> {
        let Some(Kept { folder, open }) = &self.0 else { return Ok(Added::default()) };
        if !Process::are_all_noticed() {
            let error = &io::Error::other(
                "the kernel clears no memory in children, and one made by clone would write the file",
            );
            reporter.report(&Incident::NotKept { folder, error });
            return Ok(Added::default());
        }
        let found =
            open(folder, &mut opened.receiving()).map_err(|error| Error::survive(folder, error))?;
        let Found { rings, notes, ledger, fault, recovery, skipped, lost, is_full } = found;
        for Skipped { name, why } in &skipped {
            reporter.report(&Incident::NotRecovered { file: &folder.join(name), error: why });
        }
        if let Some(error) = &fault {
            reporter.report(&Incident::NotKept { folder, error });
        }
        let survival = Survival::new(folder, ledger, recovery, lost, when_full);
        Ok(Added {
            rings: Some(rings),
            notes: Some(notes),
            survival: Some(survival),
            waits: is_full,
        })
    }
}
