//! Repairs the file of a sink after the process has died within a write to it.

use std::io::ErrorKind::{NotFound, PermissionDenied};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use tach_files::Entry;

use super::image::Write;
use tach_sinks::adapter::LogFile;

/// The longest write that is searched for a half of a line.
const MOST: u64 = 64 * 1024 * 1024;
/// How much of a write is in memory at once.
const PIECE: u64 = 64 * 1024;

/// If a file ends within the last write, cuts the half of a line at its end or, if other processes
/// may write the file, ends the half as a line. The whole lines of the write stay, and are written
/// again by the recovery.
///
/// # Errors
///
/// If the file can't be read or cut.
pub(super) fn cut_half(write: &Write, file: &mut LogFile) -> io::Result<()> {
    let is_it = file.entry.id() == Some((write.to.device, write.to.file));
    let Some(place) = file.place.as_ref().filter(|_| is_it && write.bytes > 0) else {
        return Ok(());
    };
    let (folder, start) = (place.folder()?, write.to.length);
    let mut read = match folder.open_own(place.name(), &file.entry) {
        Ok(read) => read,
        // The process may append to the file but not read it, or the file was renamed. An error
        // would hold up all records.
        Err(why) if matches!(why.kind(), PermissionDenied | NotFound) => return Ok(()),
        Err(why) => return Err(why),
    };
    read.seek(SeekFrom::Start(start))?;
    let (mut read, mut piece) = (read.take(write.bytes.min(MOST)), Vec::new());
    // Count the bytes that were read, and the bytes up to the end of the last line.
    let (mut there, mut lines) = (0, 0);
    while read.by_ref().take(PIECE).read_to_end(&mut piece)? > 0 {
        let line = piece.iter().rposition(|byte| *byte == b'\n');
        lines = line.map_or(lines, |last| there + last as u64 + 1);
        there += piece.len() as u64;
        piece.clear();
    }
    let is_half = lines < there && there < write.bytes;
    if is_half && Entry::of(&file.file)?.length() == start + there {
        cut(file, start + lines)?;
    }
    Ok(())
}

/// Cuts a file at a length. If another process has it open, as a child does that was forked and
/// lives on, ends its last line instead: the next line must not follow a half of one.
///
/// # Errors
///
/// If that fails.
fn cut(file: &mut LogFile, length: u64) -> io::Result<()> {
    if tach_files::try_lock(&file.file) {
        file.file.set_len(length)?;
        file.length = length;
    } else {
        file.file.write_all(b"\n")?;
        file.length += 1;
    }
    // Return to the shared lock: as long as this one is exclusive, no other process can use the
    // file.
    let _else_next_time = tach_files::try_lock_shared(&file.file);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::{env, fs, process};

    use super::*;
    use tach_sinks::adapter::{Options, Target};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = env::temp_dir().join(format!("tach-written-{name}-{}", process::id()));
            let _left_behind = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn log(&self) -> PathBuf {
            self.0.join("app.log")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    const BEFORE: &str = "before\n";
    const WRITE: &str = "one\ntwo\nthree\n";

    fn write(file: &LogFile) -> Write {
        let to = Target { length: BEFORE.len() as u64, ..file.known_target() };
        Write { bytes: WRITE.len() as u64, to }
    }

    /// However much of the write was done, its whole lines stay, and nothing else of it.
    #[test]
    fn a_half_of_a_line_is_cut() {
        for held in 0..=WRITE.len() {
            let folder = Folder::new("held");
            fs::write(folder.log(), [BEFORE, &WRITE[..held]].concat()).unwrap();
            let mut file = LogFile::open(&folder.log(), Options::default()).unwrap();
            cut_half(&write(&file), &mut file).unwrap();
            let lines = WRITE[..held].rfind('\n').map_or(0, |last| last + 1);
            let expected = [BEFORE, &WRITE[..lines]].concat();
            assert_eq!(fs::read_to_string(folder.log()).unwrap(), expected, "{held}");
        }
    }

    /// The lines of other processes, before and behind the write, are never cut.
    #[test]
    fn what_others_wrote_is_not_cut() {
        let theirs = ["their\n", "theirs are as long\nas ours\n"];
        for theirs in theirs {
            let folder = Folder::new("theirs");
            let text = [BEFORE, theirs].concat();
            fs::write(folder.log(), &text).unwrap();
            let mut file = LogFile::open(&folder.log(), Options::default()).unwrap();
            cut_half(&write(&file), &mut file).unwrap();
            assert_eq!(fs::read_to_string(folder.log()).unwrap(), text);
            let text = [BEFORE, WRITE, theirs].concat();
            fs::write(folder.log(), &text).unwrap();
            cut_half(&write(&file), &mut file).unwrap();
            assert_eq!(fs::read_to_string(folder.log()).unwrap(), text);
        }
        let folder = Folder::new("others");
        let text = [BEFORE, &WRITE[..6]].concat();
        fs::write(folder.log(), &text).unwrap();
        let mut file = LogFile::open(&folder.log(), Options::default()).unwrap();
        let other = LogFile::open(&folder.log(), Options::default()).unwrap();
        cut_half(&write(&file), &mut file).unwrap();
        let ended = [&text, "\n"].concat();
        assert_eq!(fs::read_to_string(folder.log()).unwrap(), ended, "another may write behind it");
        drop(other);
        cut_half(&write(&file), &mut file).unwrap();
        assert_eq!(fs::read_to_string(folder.log()).unwrap(), ended, "a half is ended once");
    }

    /// A process may have written as much as its memory held. The next process may have less
    /// memory.
    #[test]
    fn a_long_write_is_read_in_pieces() {
        let long = [b"a line\n".repeat(5_000_000), b"half a line".to_vec()].concat();
        for is_whole in [true, false] {
            let folder = Folder::new("long");
            let mut text = [BEFORE.as_bytes(), &long].concat();
            text.truncate(text.len() - usize::from(!is_whole));
            fs::write(folder.log(), &text).unwrap();
            let mut file = LogFile::open(&folder.log(), Options::default()).unwrap();
            let it = Write { bytes: long.len() as u64, ..write(&file) };
            let taken = allocation_counter::measure(|| cut_half(&it, &mut file).unwrap());
            assert!(taken.bytes_max < 256 * 1024, "{taken:?}");
            let half = if is_whole { 0 } else { "half a lin".len() };
            let now = fs::metadata(folder.log()).unwrap().len();
            assert_eq!(now, (text.len() - half) as u64);
        }
    }

    #[test]
    fn another_file_is_not_cut() {
        let folder = Folder::new("another");
        let text = [BEFORE, &WRITE[..6]].concat();
        fs::write(folder.log(), &text).unwrap();
        let mut file = LogFile::open(&folder.log(), Options::default()).unwrap();
        let it = write(&file);
        for to in [Target { device: 99, ..it.to }, Target { file: 99, ..it.to }] {
            cut_half(&Write { to, ..it }, &mut file).unwrap();
            assert_eq!(fs::read_to_string(folder.log()).unwrap(), text);
        }
        cut_half(&it, &mut file).unwrap();
        assert_ne!(fs::read_to_string(folder.log()).unwrap(), text);
    }
}
