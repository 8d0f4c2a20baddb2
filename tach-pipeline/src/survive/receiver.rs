//! A sink's file that takes over the last write of a process.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind::{NotFound, PermissionDenied};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::DirEntryExt as _;

use tach_files::Entry;

use super::settle::{Receiver, Written, part_of};
use crate::sink::file::{LogFile, Target};

impl LogFile {
    /// Opens the file `at` for reading, which may be an earlier file in the folder.
    fn earlier(&self, at: Target) -> io::Result<Option<(OsString, File)>> {
        let Some(place) = &self.place else { return Ok(None) };
        let path = place.path();
        let name = if self.is_target(at) {
            Some(place.name().to_owned())
        } else {
            let found = fs::read_dir(path.parent().unwrap_or(&path))?;
            let is_it = |it: &fs::DirEntry| {
                let id = || Entry::at(&it.path()).ok().flatten().and_then(|entry| entry.id());
                // Another device may have the same number.
                it.ino() == at.file && id() == Some((at.device, at.file))
            };
            found.filter_map(Result::ok).find(is_it).map(|it| it.file_name())
        };
        let Some(name) = name else { return Ok(None) };
        let file = match place.folder()?.open_own(&name, &self.entry) {
            Ok(file) => file,
            // The process may only append to it, or another user has taken it over. All other
            // records would wait for it, so its last write may come twice instead.
            Err(why) if matches!(why.kind(), PermissionDenied | NotFound) => return Ok(None),
            Err(why) => return Err(why),
        };
        let is_it = Entry::of(&file)?.id() == Some((at.device, at.file));
        Ok(is_it.then_some((name, file)))
    }

    fn is_target(&self, at: Target) -> bool {
        self.entry.id() == Some((at.device, at.file))
    }
}

impl Receiver for LogFile {
    fn target(&self) -> io::Result<Target> {
        let length = Entry::of(&self.file)?.length();
        Ok(Target { length, ..self.known_target() })
    }

    fn written(&self, at: Target) -> io::Result<Option<Written>> {
        let Some((_, mut file)) = self.earlier(at)? else { return Ok(None) };
        let length = file.metadata()?.len();
        let part = part_of(length, at.length);
        file.seek(SeekFrom::Start(part.start))?;
        let mut bytes = Vec::new();
        file.take(part.end - part.start).read_to_end(&mut bytes)?;
        let is_end = part.start + bytes.len() as u64 == length;
        let is_current = self.is_target(at);
        Ok(Some(Written { bytes, start: part.start, is_end, is_current }))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn cut(&self, at: Target, length: u64) -> io::Result<()> {
        let Some((place, (name, read))) = self.place.as_ref().zip(self.earlier(at)?) else {
            return Ok(());
        };
        let entry = Entry::of(&read)?;
        if entry.length() == length {
            // Another process that writes the file has a lock of it, and might add a line between
            // the look at the length and the cut.
            let cut = place.folder()?.cut(&name, &entry, at.length);
            return match cut {
                // Nobody may cut the file, or it has another name by now: the half line stays.
                Err(why) if matches!(why.kind(), PermissionDenied | NotFound) => Ok(()),
                cut => cut.map(drop),
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::{env, process};

    use super::*;
    use crate::sink::file::Options;

    #[test]
    fn a_half_of_a_line_is_cut_unless_another_process_may_write_behind_it() {
        let folder = env::temp_dir().join(format!("tach-pipeline-cut-{}", process::id()));
        fs::create_dir(&folder).unwrap();
        let (path, old) = (folder.join("app.log"), folder.join("app.log.old"));
        let log = LogFile::open(&path, Options::default()).unwrap();
        let mut other = LogFile::open(&old, Options::default()).unwrap();
        other.append(b"whole\nhal").unwrap();
        let at = Target { length: 6, ..other.target().unwrap() };
        let text = || fs::read_to_string(&old).unwrap();
        log.cut(at, 9).unwrap();
        assert_eq!(text(), "whole\nhal", "another process has the file open");
        drop(other);
        let mut other = fs::File::options().append(true).open(&old).unwrap();
        other.write_all(b" theirs\n").unwrap();
        log.cut(at, 9).unwrap();
        assert_eq!(text(), "whole\nhal theirs\n", "another process has written behind it");
        drop(other);
        fs::File::options().write(true).open(&old).unwrap().set_len(9).unwrap();
        log.cut(at, 9).unwrap();
        assert_eq!(text(), "whole\n");
        fs::remove_dir_all(folder).unwrap();
    }
}
