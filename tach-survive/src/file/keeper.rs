//! Decides when the records that a pipeline has passed on count as written, so that the queues may
//! free them, and passes on the records of processes that have ended.

use core::mem;
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tach_record::keep::{Fault, Keep, Keeper, OnFault, Piece, Receiver, Recording};

use super::current::Current;
use super::dead::{Dead, MOST_FILES, Skipped};
use super::recorder;
use super::recovery::DeadFiles;
use super::reports;
use super::store::Store;
use tach_sinks::adapter::Named;

/// How long records stay in the queues for a slow sink, if the queues are nearly full. Afterwards
/// the queues free them, and they are in memory alone: the calls must not wait longer.
const LONGEST_HELD: Duration = Duration::from_millis(250);
/// How long a flush waits until all records count as written, and how long a recovery waits for a
/// collector that fails.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// How long a recovery waits for a sink that has no room, for example because the machine is busy.
/// Then it continues without that sink.
const LONGEST_STALL: Duration = Duration::from_secs(10);
/// How long the back end sleeps during a recovery while the sinks have no room.
const BETWEEN_TURNS: Duration = Duration::from_millis(5);
/// How often a call that waits looks again.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);

/// Records that were passed on to the sinks, which may not all have written them. They stay in the
/// queues.
struct Held {
    since: Instant,
    /// Whether the sinks have received the records.
    came: bool,
    /// How many lost records the log mentions once these records are written, less the repeated
    /// ones that it does not mention.
    stated: u64,
}

pub(super) struct FileKeeper {
    current: Arc<Current>,
    dead: DeadFiles,
    report: Box<OnFault>,
    /// Whether all sinks are collectors.
    are_remote: bool,
    held: Option<Held>,
    /// How many events each sink had received before the records that are held, and how many events
    /// had been dropped and refused by then.
    came: Vec<u64>,
    unreported: u64,
    refused: u64,
    /// How many events sinks have lost, or have in memory alone, and the log does not mention.
    sinks_lost: u64,
    /// Whether the queues were nearly full at some time since records last counted as written. A
    /// caller that waits for room says so only once.
    lacks_room: bool,
    /// Since when a sink has no room for the records of processes that have ended.
    full_since: Option<Instant>,
    /// How many records of processes that have ended are lost: the number that the log does not
    /// mention yet, and the number that it mentions.
    lost: [u64; 2],
    /// When the file was last checked, and when one was last created.
    looked: [Instant; 2],
    /// The file that `is_whole` last checked. If another file has taken its place since then, the
    /// records that are read next may still be from this one.
    asked: Option<Arc<Store>>,
}

impl FileKeeper {
    pub(super) fn new(
        current: &Arc<Current>,
        (dead, lanes): (Vec<Dead>, Vec<Named>),
        lost: u64,
        report: Box<OnFault>,
    ) -> Self {
        Self {
            current: Arc::clone(current),
            are_remote: lanes.iter().all(|lane| lane.is_remote),
            dead: DeadFiles::new(dead, lanes),
            report,
            held: None,
            came: Vec::new(),
            unreported: 0,
            refused: 0,
            sinks_lost: 0,
            lacks_room: false,
            full_since: None,
            lost: [lost, 0],
            looked: [Instant::now(); 2],
            asked: None,
        }
    }

    fn stay(&self, skipped: Vec<Skipped>) {
        for (name, why) in skipped {
            (self.report)(&Fault::NotRecovered(&name, &why));
        }
    }

    /// Returns whether a recovery waits for a sink.
    fn waits_for_room(&mut self, to: &dyn Receiver) -> bool {
        if to.has_room() {
            self.full_since = None;
            return false;
        }
        self.full_since.get_or_insert_with(Instant::now).elapsed() < LONGEST_STALL
    }
}

impl Keeper for FileKeeper {
    fn has_many_files(&self) -> bool {
        self.dead.waiting.len() >= MOST_FILES
    }

    fn recordings(&mut self, write: &mut dyn FnMut(&Recording<'_>) -> bool) {
        let skipped = self.dead.recordings(write);
        self.stay(skipped);
    }

    fn recorder(&self, bytes: usize, max_age: Duration) -> Box<Keep> {
        recorder::keep(&self.current, bytes, max_age)
    }

    fn recover(&mut self, to: &mut dyn Receiver, may_wait: bool) {
        let [lost, stated] = mem::take(&mut self.lost);
        if lost > 0 {
            to.pass_on(Piece::Report(reports::surplus(lost, to.now())));
        }
        self.lost = [0, lost + stated];
        while !self.dead.are_over() {
            if self.waits_for_room(to) {
                if !may_wait {
                    return;
                }
                thread::sleep(BETWEEN_LOOKS);
                continue;
            }
            match self.dead.next(to.now()) {
                Ok(Some(piece)) => to.pass_on(piece),
                Ok(None) => return,
                Err(skipped) => self.stay(vec![skipped]),
            }
            if to.is_full() {
                self.prepare(to);
                to.write();
                self.commit(to);
                if to.is_pressed() {
                    return;
                }
            }
        }
    }

    fn is_whole(&mut self) -> bool {
        let store = self.current.store.load_full();
        let is_whole = ![&self.asked, &store].into_iter().flatten().any(|store| store.is_cut());
        self.asked = store;
        if !is_whole {
            // Backdate the last look, so that another file replaces the cut one at once.
            self.looked[0] = self.looked[0].checked_sub(LONGEST_WAIT).unwrap_or(self.looked[0]);
        }
        is_whole
    }

    fn note_pressure(&mut self) {
        self.lacks_room = true;
    }

    fn prepare(&mut self, to: &mut dyn Receiver) {
        let renewed = self.current.renew(&mut self.looked);
        if let Err(error) = &renewed {
            (self.report)(&Fault::NotKept(error));
        }
        if renewed.unwrap_or(true) {
            self.held = None;
        }
        if self.held.is_some() {
            return;
        }
        to.mark();
        self.dead.mark();
        self.current.with(|store| store.line());
        let stated = to.stated().wrapping_add(self.lost[1]);
        self.held = Some(Held { since: Instant::now(), came: false, stated });
    }

    fn commit(&mut self, to: &mut dyn Receiver) {
        let Some(Held { since, came: have_come, stated }) = &mut self.held else { return };
        if !mem::replace(have_come, true) {
            to.came(&mut self.came);
            (self.unreported, self.refused) = (to.unreported(), to.refused());
        }
        let waiting = to.waiting(&self.came);
        let events = waiting.local + waiting.remote;
        let is_late = waiting.is_failing || since.elapsed() >= LONGEST_HELD;
        // Give up after `LONGEST_WAIT`: otherwise the files of all processes that end would pile up
        // while a collector is away.
        let keeps_files = waiting.local == 0 && !self.are_remote && !self.dead.are_noted();
        let gives_up = self.lacks_room || keeps_files && since.elapsed() >= LONGEST_WAIT;
        if events == 0 || is_late && gives_up {
            let unreported = to.unreported();
            // Records that were refused after the batch was read are still in the rings, so a
            // restart would recover them. Don't count them as lost.
            let stay_lost = unreported.saturating_sub(to.refused() - self.refused);
            self.sinks_lost = unreported.min(stay_lost.max(self.unreported)) + events;
            let lost = self.sinks_lost.wrapping_sub(*stated);
            self.current.with(|store| store.commit(lost));
            to.free();
            (self.held, self.lacks_room) = (None, false);
            let skipped = self.dead.note();
            self.stay(skipped);
        }
    }

    fn settle(&mut self, to: &mut dyn Receiver) {
        let start = Instant::now();
        while self.held.as_ref().is_some_and(|held| held.came) {
            if to.waiting(&self.came).is_failing || start.elapsed() >= LONGEST_WAIT {
                return;
            }
            thread::sleep(BETWEEN_LOOKS);
            self.commit(to);
        }
    }

    fn due(&self, to: &dyn Receiver) -> Option<Duration> {
        if !self.dead.are_over() {
            return Some(BETWEEN_TURNS);
        }
        let waits = match self.held {
            // A failing sink is tried again after a pause, so don't look again soon.
            Some(_) => !to.waiting(&self.came).is_failing,
            None => !self.dead.are_noted(),
        };
        waits.then_some(LONGEST_WAIT)
    }

    fn end(&mut self, is_written: bool, to: &mut dyn Receiver) {
        self.commit(to);
        if is_written {
            self.current.with(|store| store.remove());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use tach_files::PrivateFolder;

    use super::*;

    /// The rings of the cut file are read after another file has taken its place.
    #[test]
    fn a_cut_file_is_seen_although_another_one_follows() {
        let path = env::temp_dir().join(format!("tach-keeper-{}", process::id()));
        let folder = Arc::new(PrivateFolder::make(&path).unwrap());
        for is_cut in [false, true] {
            let current = Arc::new(Current::new(&folder, &[]));
            current.open().unwrap();
            let mut keeper = FileKeeper::new(&current, Default::default(), 0, Box::new(|_| ()));
            assert!(keeper.is_whole());
            let name = &folder.names().unwrap()[0];
            if is_cut {
                fs::File::options().write(true).open(path.join(name)).unwrap().set_len(9).unwrap();
            } else {
                folder.remove(name).unwrap();
            }
            keeper.looked[0] = keeper.looked[0].checked_sub(LONGEST_WAIT).unwrap();
            assert!(current.renew(&mut keeper.looked).is_err());
            assert_eq!(keeper.is_whole(), !is_cut);
            assert!(keeper.is_whole());
            current.with(|store| store.remove());
        }
        fs::remove_dir_all(path).unwrap();
    }
}
