//! The socket of systemd's journal (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL>).
//!
//! A datagram holds one entry as [`JournalExport`](super::JournalExport) writes it. An entry that is
//! too long for a datagram is passed as a sealed file in memory.

use core::mem::MaybeUninit;
use std::fs::File;
use std::io::{self, IoSlice, Write as _};

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::any_format::AnyFormat;
use super::envelope::Envelope;
use super::target::Writer;
use super::{JournalExport, Sink, kind};
use crate::host::platform;

const SOCKET: &str = "/run/systemd/journal/socket";

struct Journald {
    path: PathBuf,
    /// Opened at the first write, and again after a failure.
    socket: Option<UnixDatagram>,
}

impl Sink {
    /// Writes to systemd's journal on this machine, in the format [`JournalExport`].
    ///
    /// `journalctl` prints the time at which an entry was sent, some milliseconds after the record:
    /// the journal accepts no other. Each entry is sent alone, so that entries have times of their
    /// own. `journalctl --output=verbose`, or `--output=json`, shows the record's time as
    /// `SYSLOG_TIMESTAMP`.
    ///
    /// If the journal can't be reached, the sink fails, and tries again.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder().sink(Sink::journald()).build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn journald() -> Sink<kind::OneFormat> {
        stream(Journald::at(SOCKET)).map(|target| kind::OneFormat(Box::new(target)))
    }
}

/// Returns a sink of the journal if stderr is connected to it, and the journal is there.
pub(super) fn of_stderr() -> Option<Sink<kind::Stream>> {
    let journald = Journald::at(SOCKET);
    (platform::is_journal(&io::stderr()) && journald.connect().is_ok())
        .then(|| Sink { envelope: Some(Arc::new(Native)), ..stream(journald) })
}

fn stream(journald: Journald) -> Sink<kind::Stream> {
    let writer = Box::new(journald);
    let sink = Sink::to(kind::Stream { name: "journald".to_owned(), writer });
    Sink { format: Arc::new(JournalExport::new()), ..sink }
}

/// Replaces any format by the journal's, for a sink whose format is stderr's.
struct Native;

impl Envelope for Native {
    fn around(&self, _: Arc<dyn AnyFormat>) -> Arc<dyn AnyFormat> {
        Arc::new(JournalExport::new())
    }
}

impl Journald {
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

impl Writer for Journald {
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

    fn again(&self) -> Option<Box<dyn Writer>> {
        Some(Box::new(Self::at(&self.path)))
    }

    /// Returns less than any entry has, so that each is sent alone: the journal gives all entries
    /// of a datagram one time.
    fn most_bytes(&self) -> usize {
        1
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
        let path = env::temp_dir().join(format!("tach-pipeline-journald-{}", process::id()));
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
        // Restart the journal.
        drop(journal);
        fs::remove_file(&path).unwrap();
        sink.write(b"lost").unwrap_err();
        let journal = UnixDatagram::bind(&path).unwrap();
        assert_eq!(sink.write(b"there").unwrap(), 5);
        assert_eq!(journal.recv(&mut [0; 100]).unwrap(), 5);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_error_names_the_socket_that_nobody_serves() {
        let error = Journald::at("/no/such/socket").write(b"MESSAGE=x\n\n").unwrap_err();
        assert!(error.to_string().starts_with("/no/such/socket: "), "{error}");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
