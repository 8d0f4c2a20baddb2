//! The owner of a file: the process that writes it, or that passes its records on.
//!
//! A file that nobody has locked has no owner. But a child inherits its parent's descriptors, and
//! with them the locks of a parent that has ended. So the owner must also be alive, where we can
//! look it up. From another container we can't, since a number means another process there: then
//! the lock decides.
//!
//! A process that executes another program keeps its number and its start. The new program finds
//! that the file is not its own by the addresses at which the kernel has put it. (A child may hold
//! the lock. Another copy of this crate in the process, such as a plug-in's, finds the same
//! addresses.)

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::process;

use super::layout::{hash, head};
use tach_record::host::process::Process;

const FIRST: &str = "tach-";
const LAST: &str = ".rings";

/// Returns the name of a file.
pub(super) fn name(process: u32, id: u64) -> OsString {
    format!("{FIRST}{process}-{id:016x}{LAST}").into()
}

/// Returns the id in the name of a file, or `None` if the name has another form.
pub(super) fn id_of(name: &OsStr) -> Option<u64> {
    let (process, id) = name.to_str()?.strip_prefix(FIRST)?.strip_suffix(LAST)?.split_once('-')?;
    let _process: u32 = process.parse().ok()?;
    (id.len() == 16).then(|| u64::from_str_radix(id, 16).ok())?
}

/// A process: its number, its start in ticks, numbers for the boot and the namespace in which these
/// two are unique, and a number for the program that it executes. Zeros if the process is not
/// known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner(pub(super) [u64; head::OWNERS]);

impl Owner {
    fn this() -> Self {
        let process = u64::from(process::id());
        let boot = fs::read("/proc/sys/kernel/random/boot_id").map_or(0, |id| hash(&id));
        let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |it| it.ino());
        let program = fs::read("/proc/self/auxv").map_or(0, |addresses| hash(&addresses));
        let this = |start| Self([process, start, boot, namespace, program]);
        started(process).map_or(Self([0; head::OWNERS]), this)
    }

    /// Returns whether a living process uses the file, which may be this one.
    pub(super) fn uses(self, file: &File) -> bool {
        let Self([process, start, here @ .., program]) = self;
        let Self([this, now, there @ .., executed]) = Self::this();
        if here == there && process != 0 {
            if process == this {
                return (start, program) == (now, executed);
            }
            if started(process) != Some(start) {
                return false;
            }
        }
        !tach_files::try_lock(file)
    }
}

/// Returns when a process has started, or `None` if it has ended.
fn started(process: u64) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Begin after the last parenthesis: the name within the parentheses may contain anything.
    let (_, rest) = status.rsplit_once(')')?;
    let words: Vec<_> = rest.split_whitespace().collect();
    // The state is the first thread's. If that has ended, other threads may still run.
    let has_ended = matches!(*words.first()?, "Z" | "X") && *words.get(17)? == "1";
    words.get(19)?.parse().ok().filter(|_| !has_ended)
}

/// A file that this process uses until the value is dropped.
pub(super) struct Owned {
    file: File,
    process: Process,
}

impl Owned {
    /// Makes this process the owner of the file. Call under the lock of the folder.
    ///
    /// # Errors
    ///
    /// If the file can't be written.
    pub(super) fn new(file: File) -> io::Result<Self> {
        // A child of the dead process may hold the lock as long as the child lives. Recover the
        // file without the lock then. If the child ends meanwhile, another start may take the file
        // too, and its records come twice.
        let _is_locked = tach_files::try_lock(&file);
        let owned = Self { file, process: Process::current() };
        owned.write(Owner::this())?;
        Ok(owned)
    }

    fn write(&self, Owner(words): Owner) -> io::Result<()> {
        let words = words.map(u64::to_ne_bytes);
        self.file.write_all_at(words.as_flattened(), head::OWNER as u64)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Owned {
    /// Frees the file, so that another pipeline of this process may pass on what is left.
    fn drop(&mut self) {
        if self.process.is_current() {
            let _until_the_process_ends = self.write(Owner([0; head::OWNERS]));
            tach_files::unlock(&self.file);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Clears the owner in the bytes of a file.
    pub(crate) fn free(bytes: &mut [u8]) {
        bytes[head::OWNER..].iter_mut().take(8 * head::OWNERS).for_each(|byte| *byte = 0);
    }

    #[test]
    fn a_process_is_another_one_by_its_start_its_boot_its_namespace_and_its_program() {
        let path = std::env::temp_dir().join(format!("tach-owner-{}", process::id()));
        let (file, other) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        fs::remove_file(path).unwrap();
        let this = Owner::this();
        assert!(this.0.iter().all(|word| *word != 0), "{this:?}");
        assert!(this.uses(&file));
        let with = |at: usize| {
            let mut words = this.0;
            words[at] += 1;
            Owner(words)
        };
        for gone in [with(1), with(4)] {
            assert!(!gone.uses(&file), "its number is this process's, or it has executed this one");
        }
        for owner in [with(2), with(3), Owner([0; head::OWNERS])] {
            assert!(tach_files::try_lock(&other));
            assert!(owner.uses(&file), "the lock says so");
            tach_files::unlock(&other);
            assert!(!owner.uses(&file), "nobody has the lock");
            tach_files::unlock(&file);
        }
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let start = started(child.id().into()).unwrap();
        let of_start = |start| Owner([child.id().into(), start, this.0[2], this.0[3], 0]);
        let owner = of_start(start);
        assert!(!owner.uses(&file), "it has executed another program");
        // Take the lock as a child of an earlier process might: then only the start time decides.
        tach_files::unlock(&file);
        assert!(tach_files::try_lock(&other));
        assert!(owner.uses(&file) && !of_start(start + 1).uses(&file));
        child.kill().unwrap();
        // A killed child remains as a zombie until `wait`. A zombie must not count as a user of the
        // file.
        while owner.uses(&file) {}
        child.wait().unwrap();
        assert!(!owner.uses(&file));
    }
}
