//! Gives a log the name of an old file.

use std::ffi::{OsStr, OsString};
use std::io;

use tach_core::UnixTime;
use tach_files::{Entry, Folder};

use super::Rotation;
use super::names::{Names, compressed};

impl Rotation {
    /// Calls `f` while no other process gives or uses names that change: see [`Names::Numbers`].
    pub(crate) fn alone<R>(
        &self,
        folder: &Folder,
        f: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        if self.names == Names::Numbers { folder.alone(f) } else { f() }
    }

    /// Renames the log in its folder, whose first record happened at `first`. Returns the new name.
    ///
    /// # Errors
    ///
    /// If the log, or with numbers an old file, can't be renamed.
    pub(crate) fn rename(
        &self,
        folder: &Folder,
        name: &OsStr,
        log: &Entry,
        first: UnixTime,
    ) -> io::Result<OsString> {
        if self.names == Names::Numbers {
            let old = self.shift(folder, name, log)?;
            return folder.rename_new(name, &old).map(|()| old);
        }
        let stamp = self.names.stamp(first, self.zone.offset_at(first), self.is_hourly());
        let mut count = self.next_count(folder, name, log, &stamp)?;
        loop {
            let old = self.names.make(name, &stamp, count);
            if folder.entry(&compressed(&old))?.is_none() {
                match folder.rename_new(name, &old) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    renamed => return renamed.map(|()| old),
                }
            }
            // Another process took the name meanwhile, or it is another user's file.
            count += 1;
        }
    }

    /// Returns the count after those of the old files with this stamp. A lower count may be free
    /// since its file was deleted, but would make this file the oldest, to be deleted next.
    fn next_count(
        &self,
        folder: &Folder,
        name: &OsStr,
        log: &Entry,
        stamp: &str,
    ) -> io::Result<u32> {
        let read = |it: &OsStr| self.names.read(it, name).map(|old| old.rank);
        let Some((time, _)) = read(&self.names.make(name, stamp, 0)) else { return Ok(0) };
        let mut next = 0;
        for other in folder.names()? {
            if let Some((_, count)) = read(&other).filter(|(other, _)| *other == time) {
                if folder.entry(&other)?.is_some_and(|entry| folder.is_own(&entry, log)) {
                    next = next.max(count + 1);
                }
            }
        }
        Ok(next)
    }

    /// Gives each old file the next number, up to the first number that is free. Returns the name
    /// with the least number, which is free now. Numbers of files that are not the log's own are
    /// left out, since this process may not rename them.
    fn shift(&self, folder: &Folder, name: &OsStr, log: &Entry) -> io::Result<OsString> {
        let mut slots = Vec::new();
        for number in 1.. {
            let slot = self.names.make(name, "", number);
            let found = [folder.entry(&slot)?, folder.entry(&compressed(&slot))?];
            let found = found.into_iter().flatten();
            let (own, other): (Vec<_>, Vec<_>) = found.partition(|entry| folder.is_own(entry, log));
            if other.is_empty() {
                slots.push(slot);
                if own.is_empty() {
                    break;
                }
            }
        }
        // Begin with the oldest, so that each new name is free. If the process ends in between, one
        // number stays free, and the next rotation moves files only up to there.
        for pair in slots.windows(2).rev() {
            let [from, to] = pair else { continue };
            for (from, to) in [(from.clone(), to.clone()), (compressed(from), compressed(to))] {
                match folder.rename_new(&from, &to) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    renamed => renamed?,
                }
            }
        }
        Ok(slots.swap_remove(0))
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::path::Path;
    use std::{env, fs, process};

    use super::*;

    /// Rotates a log of this text, and returns the name.
    fn rotate(folder: &Path, rotation: Rotation, first: UnixTime, text: &str) -> String {
        fs::write(folder.join("app.log"), text).unwrap();
        let open = Folder::open(&tach_files::resolve(folder).unwrap()).unwrap();
        let log = open.entry("app.log".as_ref()).unwrap().unwrap();
        let renamed = rotation.rename(&open, "app.log".as_ref(), &log, first).unwrap();
        assert_eq!(fs::read_to_string(folder.join(&renamed)).unwrap(), text);
        renamed.into_string().unwrap()
    }

    fn in_folder(name: &str, f: impl FnOnce(&Path)) {
        let folder = env::temp_dir().join(format!("tach-sinks-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        f(&folder);
        fs::remove_dir_all(folder).unwrap();
    }

    /// The name of a file that was deleted would make the next one the oldest.
    #[test]
    fn files_of_one_time_or_day_are_counted_on() {
        let first = UnixTime::EPOCH + Duration::from_secs(60);
        for names in [Names::Times, Names::Dates, Names::DatesBeforeExtension] {
            in_folder("moves", |folder| {
                let rotation = Rotation::new().daily().names(names);
                let rotate = |text| rotate(folder, rotation, first, text);
                let stamp = names.stamp(first, None, false);
                let name = |count| names.make("app.log".as_ref(), &stamp, count);
                assert_eq!([rotate("one"), rotate("two")].map(OsString::from), [name(0), name(1)]);
                fs::rename(folder.join(name(1)), folder.join(compressed(&name(1)))).unwrap();
                fs::remove_file(folder.join(name(0))).unwrap();
                assert_eq!(OsString::from(rotate("three")), name(2));
                // A folder is no file of the log, so its number is skipped.
                fs::create_dir(folder.join(name(3))).unwrap();
                assert_eq!(OsString::from(rotate("four")), name(4));
            });
        }
    }

    #[test]
    fn numbers_are_shifted_to_the_first_free_one() {
        in_folder("shifts", |folder| {
            let rotation = Rotation::new().daily().names(Names::Numbers);
            let rotate = |text| rotate(folder, rotation, UnixTime::EPOCH, text);
            let file = |name: &str| folder.join(name);
            for text in ["one", "two", "three"] {
                assert_eq!(rotate(text), "app.log.1");
            }
            fs::rename(file("app.log.2"), file("app.log.2.gz")).unwrap();
            // A folder is no file of the log, so its number is skipped.
            fs::create_dir(file("app.log.4")).unwrap();
            // A rotation that was killed left a gap before this number.
            fs::write(file("app.log.7"), "zero").unwrap();
            assert_eq!(rotate("four"), "app.log.1");
            let read = |name: &str| fs::read_to_string(file(name)).unwrap();
            let texts = ["app.log.1", "app.log.2", "app.log.3.gz", "app.log.5", "app.log.7"];
            assert_eq!(texts.map(read), ["four", "three", "two", "one", "zero"]);
            assert!(file("app.log.4").is_dir() && !file("app.log.6").exists());
        });
    }
}
