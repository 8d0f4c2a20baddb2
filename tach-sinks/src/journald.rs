//! The socket of systemd's journal (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL>).
//!
//! A datagram holds one entry in the export format. An entry that is too long for a datagram is
//! passed as a sealed file in memory.

use core::mem::MaybeUninit;
use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tach_core::adapter::program_name;

use crate::export::field;
use crate::os;
use crate::receiver::Receiver;
use crate::severity::Severity;
use crate::writer::Writer;

const SOCKET: &str = "/run/systemd/journal/socket";

/// Systemd's journal on this machine.
///
/// `journalctl` prints the time at which an entry was sent. Each entry is sent alone.
///
/// # Examples
///
/// See [`open`](Self::open).
#[derive(Debug)]
pub struct Journald {
    path: PathBuf,
    /// Opened at the first write, and again after a failure.
    socket: Option<UnixDatagram>,
}

impl Journald {
    /// Creates the journal of this machine, at its usual socket.
    ///
    /// # Examples
    ///
    /// ```
    /// let journal = tach_sinks::Journald::new();
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::at(SOCKET)
    }

    /// Returns a writer whose records have a severity. The socket is looked for at the first
    /// record.
    ///
    /// A record is the `MESSAGE` of an entry with a `PRIORITY` and, as `SYSLOG_IDENTIFIER`, the
    /// name of the program.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::io::Write as _;
    ///
    /// use tach_sinks::{Journald, Severity};
    ///
    /// let mut writer = Journald::new().open(Severity::Info);
    /// writeln!(writer, "ready")?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn open(self, severity: Severity) -> Writer {
        let add = move |to: &mut Vec<u8>, _, record: &[u8]| {
            write!(to, "PRIORITY={}\nSYSLOG_IDENTIFIER", severity as u8)?;
            field(to, program_name().as_bytes());
            to.extend_from_slice(b"MESSAGE");
            field(to, record.strip_suffix(b"\n").unwrap_or(record));
            to.push(b'\n');
            Ok(())
        };
        Writer::new("systemd's journal".to_owned(), Box::new(self), add)
    }

    /// Returns the journal if systemd has connected the standard error stream to it, as for a
    /// service, and the journal is there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_sinks::{Journald, Severity};
    ///
    /// let journal = Journald::of_stderr().map(|journal| journal.open(Severity::Info));
    /// assert!(journal.is_none(), "a test has another stderr");
    /// ```
    #[must_use]
    pub fn of_stderr() -> Option<Self> {
        let journald = Self::new();
        (os::is_journal(&io::stderr()) && journald.connect().is_ok()).then_some(journald)
    }

    fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), socket: None }
    }

    /// # Errors
    ///
    /// If nobody receives at the path, with the path.
    fn connect(&self) -> io::Result<UnixDatagram> {
        let socket = UnixDatagram::unbound()?;
        let at_path = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        };
        socket.connect(&self.path).map_err(at_path)?;
        Ok(socket)
    }
}

impl Default for Journald {
    fn default() -> Self {
        Self::new()
    }
}

impl Receiver for Journald {
    fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => self.connect()?,
        };
        match socket.send(entry) {
            Err(error) if is_too_long(&error) => send_in_memory(&socket, entry)?,
            sent => drop(sent?),
        }
        self.socket = Some(socket);
        Ok(entry.len())
    }

    fn again(&self) -> Option<Box<dyn Receiver>> {
        Some(Box::new(Self::at(&self.path)))
    }

    /// Returns a length that every entry exceeds, so that each entry is sent alone: the journal
    /// gives all entries of a datagram the same time.
    fn most_bytes(&self) -> usize {
        1
    }
}

fn is_too_long(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MSGSIZE | Errno::NOBUFS))
}

/// Passes an entry as a file in memory. The file is sealed, so it can't change any more: otherwise
/// the journal would not trust it.
fn send_in_memory(socket: &UnixDatagram, entry: &[u8]) -> io::Result<()> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("tach-journal", flags)?);
    file.write_all(entry)?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&file, seals)?;
    let files = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(socket, &[] as &[IoSlice<'_>], &mut control, SendFlags::empty())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read as _, Seek as _};
    use std::{env, process};

    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

    use super::*;

    #[test]
    fn a_short_datagram_holds_the_entries_and_a_long_one_a_file() {
        let path = env::temp_dir().join(format!("tach-sinks-journald-{}", process::id()));
        let _none_left = fs::remove_file(&path);
        let journal = UnixDatagram::bind(&path).unwrap();
        let mut sink = Journald::at(&path);
        for length in [10, 4_000_000, 20] {
            let entries = vec![b'x'; length];
            assert_eq!(sink.write(&entries).unwrap(), length);
            let mut bytes = vec![0; 100];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut parts = [io::IoSliceMut::new(&mut bytes)];
            let got = recvmsg(&journal, &mut parts, &mut control, RecvFlags::empty()).unwrap();
            let files = control.drain().filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(files) => Some(files),
                _ => None,
            });
            match files.flatten().next() {
                None => assert_eq!(bytes[..got.bytes], entries),
                Some(file) => {
                    let mut file = File::from(file);
                    file.rewind().unwrap();
                    let mut text = Vec::new();
                    file.read_to_end(&mut text).unwrap();
                    assert!(text == entries && got.bytes == 0 && length > 100);
                    assert!(file.write(b"more").is_err());
                }
            }
        }
        // A restarted journal has a new socket at the same path, so the sink must connect again.
        drop(journal);
        fs::remove_file(&path).unwrap();
        sink.write(b"lost").unwrap_err();
        let journal = UnixDatagram::bind(&path).unwrap();
        assert_eq!(sink.write(b"there").unwrap(), 5);
        assert_eq!(journal.recv(&mut [0; 100]).unwrap(), 5);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_record_is_an_entry_with_its_priority() {
        let path = env::temp_dir().join(format!("tach-sinks-entry-{}", process::id()));
        let _none_left = fs::remove_file(&path);
        let journal = UnixDatagram::bind(&path).unwrap();
        let mut writer = Journald::at(&path).open(Severity::Warning);
        writeln!(writer, "two\nlines").unwrap();
        let mut entry = [0; 200];
        let length = journal.recv(&mut entry).unwrap();
        let head = format!("PRIORITY=4\nSYSLOG_IDENTIFIER={}\n", program_name());
        let text = "MESSAGE\n\x09\0\0\0\0\0\0\0two\nlines\n\n";
        assert_eq!(str::from_utf8(&entry[..length]), Ok(&*(head + text)));
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_error_names_the_socket_that_nobody_serves() {
        let error = Journald::at("/no/such/socket").write(b"MESSAGE=x\n\n").unwrap_err();
        assert!(error.to_string().starts_with("/no/such/socket: "), "{error}");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
