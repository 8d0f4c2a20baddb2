//! The socket of systemd's journal (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL>).
//!
//! A datagram holds entries as [`JournalExport`](super::JournalExport) writes them. Entries that are
//! too long for a datagram are passed as a sealed file in memory.

use core::mem::MaybeUninit;
use std::fs::File;
use std::io::{self, IoSlice, Write};

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::{JournalExport, Sink, kind};

const SOCKET: &str = "/run/systemd/journal/socket";

struct Journald {
    path: PathBuf,
    /// Opened at the first write, and again after a failure.
    socket: Option<UnixDatagram>,
}

impl Sink {
    /// Writes to systemd's journal on this machine, in the format [`JournalExport`].
    ///
    /// The journal prints the time at which it receives an entry, some milliseconds after the
    /// record. If the journal can't be reached, the sink fails, and tries again.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let pipeline = Pipeline::builder().sink(Sink::journald()).build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn journald() -> Sink<kind::OneFormat> {
        let target = Sink::writer("journald", Journald::at(SOCKET)).to;
        let sink = Sink::to(kind::OneFormat(Box::new(target)));
        Sink { format: Box::new(JournalExport::new()), ..sink }
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

impl Write for Journald {
    fn write(&mut self, entries: &[u8]) -> io::Result<usize> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => self.connect()?,
        };
        match socket.send(entries) {
            Err(error) if is_too_long(&error) => send_in_memory(&socket, entries)?,
            sent => drop(sent?),
        }
        self.socket = Some(socket);
        Ok(entries.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_too_long(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MSGSIZE | Errno::NOBUFS))
}

/// Passes entries as a file in memory. The file is sealed, so it can't change any more: otherwise
/// the journal would not trust it.
fn send_in_memory(socket: &UnixDatagram, entries: &[u8]) -> io::Result<()> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("tach-journal", flags)?);
    file.write_all(entries)?;
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
    use std::process::Command;
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

    /// To run this test, start `systemd-journald tach` by hand as root, then run the test with
    /// `--ignored`.
    #[test]
    #[ignore = "needs `systemd-journald tach`"]
    fn the_journal_takes_many_entries_and_a_long_one() {
        let mut sink = Journald::at("/run/systemd/journal.tach/socket");
        let test = format!("TEST={}", process::id());
        let mut entries = format!("__REALTIME_TIMESTAMP=1\nMESSAGE=short\n{test}\n\n").repeat(500);
        sink.write_all(entries.as_bytes()).unwrap();
        entries += "MESSAGE=";
        entries += &"x".repeat(700_000);
        entries += &["\n", &test, "\n\n"].concat();
        sink.write_all(entries.as_bytes()).unwrap();
        let arguments = ["--namespace=tach", "-o", "cat", "--all", &test];
        loop {
            let output = Command::new("journalctl").args(arguments).output().unwrap();
            let lengths: Vec<_> =
                output.stdout.split(|&byte| byte == b'\n').map(<[u8]>::len).collect();
            if lengths.contains(&700_000) {
                // The entries of both writes, and the empty line after the last line end.
                assert_eq!(lengths.len(), 500 + 501 + 1);
                break;
            }
        }
    }
}
