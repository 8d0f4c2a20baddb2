//! Makes records whole: puts the texts of a callsite and the thread into records that have the
//! callsite's number.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tach_core::UnixTime;
use tracing_core::Metadata;

use super::{callsite, given_name, level, place_of};
use tach_record::frame::{
    self, CALLSITE, HEAD, KIND_AT, LEVEL_SHIFT, MaybeStatic, NUMBER, RECORD_SHIFT, RecordKind,
    SITE, Scratch, TEXT_SHIFT, Time, UNSAMPLED, WORD, Wanted, Writer,
};
use tach_record::queue::Queue;

/// The memory for records that is kept.
const KEPT_BYTES: usize = 64 * 1024;
/// How many ended threads stay known. If a span ends after its thread and this many others have
/// ended, the span's record may lack the thread.
const MOST_ENDED: usize = 1024;

/// Makes records whole.
pub struct Whole {
    records: Records,
    threads: Threads,
}

/// Keeps the parts of each callsite, and the memory for the record.
struct Records {
    wanted: Wanted,
    /// The parts of the callsites, by number.
    known: Vec<Option<Box<Parts>>>,
    record: Vec<u8>,
}

/// The parts of records with the threads on which spans start, by the threads' numbers: a span may
/// end on another thread.
#[derive(Default)]
struct Threads(HashMap<u32, Box<[u8]>>);

/// The bits of the level in the last word of a head.
const LEVEL: u64 = 0xFF << LEVEL_SHIFT;

/// The parts of the records of one callsite.
struct Parts {
    /// The codes of the target and the name in a head.
    target: u64,
    name: u64,
    /// The bits of the level.
    level: u64,
    /// The bytes of the target, if it has no number, and the same before those of the name.
    target_bytes: Box<[u8]>,
    texts: Box<[u8]>,
    place: Box<[u8]>,
    /// The name, unless it is the one that tracing's macros give to events.
    event_name: Box<[u8]>,
    /// Whether a text or the place may get a number later, since another thread was taking one.
    is_busy: bool,
}

impl Whole {
    pub fn new(wanted: Wanted) -> Self {
        let records = Records { wanted, known: Vec::new(), record: Vec::new() };
        Self { records, threads: Threads::default() }
    }

    /// Frees the memory of a long record.
    pub fn trim(&mut self) {
        if self.records.record.capacity() > KEPT_BYTES {
            self.records.record = Vec::new();
        }
    }

    /// Adds the threads of new queues. `all` are the queues of threads that have not ended.
    pub fn add_threads(&mut self, new: &[Arc<Queue>], all: &[Arc<Queue>]) {
        let Threads(known) = &mut self.threads;
        known.extend(new.iter().map(|queue| (queue.thread_number(), queue.thread().into())));
        if known.len() > all.len() + MOST_ENDED {
            let open: HashSet<_> = all.iter().map(|queue| queue.thread_number()).collect();
            known.retain(|number, _| open.contains(number));
        }
    }

    /// Returns the whole record, if `record` has the number of a callsite, or else `record`. It has
    /// the thread on which its span started, or else the thread of the queue that it comes from.
    #[inline]
    pub fn of<'a>(&'a mut self, record: &'a [u8], queue: &Queue) -> &'a [u8] {
        let thread = match frame::starter(record) {
            Some(number) if number != queue.thread_number() => self.threads.of(number),
            _ => queue.thread(),
        };
        self.records.of(record, thread)
    }

    /// Returns the whole record of an open span.
    pub fn of_open<'a>(&'a mut self, record: &'a [u8]) -> &'a [u8] {
        let thread = frame::starter(record).map_or(&[][..], |number| self.threads.of(number));
        self.records.of(record, thread)
    }
}

impl Threads {
    /// Returns the part with a thread. Empty if the thread is not known.
    fn of(&self, number: u32) -> &[u8] {
        self.0.get(&number).map_or(&[], |thread| thread)
    }
}

impl Records {
    /// Returns the whole record, if `record` has the number of a callsite, or else `record`.
    /// `thread` is the [part](tach_record::frame::ThisThread) of the thread that wrote it.
    fn of<'a>(&'a mut self, record: &'a [u8], thread: &[u8]) -> &'a [u8] {
        let Some(head) = head(record).filter(|head| kind(head) & CALLSITE != 0) else {
            return record;
        };
        let Self { wanted, known, record: whole } = self;
        let [target, time, message] = head;
        let number = (target >> TEXT_SHIFT) as u32 & !NUMBER;
        let Some(parts) = parts(known, number) else { return record };
        let of_kind = message >> RECORD_SHIFT & 0xFF;
        let is_event = of_kind == RecordKind::Event as u64;
        // The start of an unsampled span is read only for its duration, so it needs nothing else.
        let wanted = if kind(&head) & UNSAMPLED == 0 { *wanted } else { Wanted::default() };
        let flags = if wanted.is_any() { SITE } else { 0 };
        let mut message = message & !u64::from(CALLSITE) | u64::from(flags);
        if of_kind == RecordKind::Span as u64 {
            message = message & !LEVEL | parts.level;
        }
        let (message, texts) = if is_event {
            (message, &parts.target_bytes)
        } else {
            (message | parts.name, &parts.texts)
        };
        whole.clear();
        for word in [parts.target, time, message] {
            whole.extend_from_slice(&word.to_le_bytes());
        }
        whole.extend_from_slice(texts);
        whole.extend_from_slice(&record[HEAD..]);
        if wanted.place {
            whole.extend_from_slice(&parts.place);
        }
        if wanted.thread {
            whole.extend_from_slice(thread);
        }
        if is_event && wanted.is_any() {
            whole.extend_from_slice(&parts.event_name);
        }
        let length = u32::try_from(whole.len()).unwrap_or(0);
        whole[..size_of::<u32>()].copy_from_slice(&length.to_le_bytes());
        whole
    }
}

/// Returns the parts of a callsite.
#[inline]
fn parts(known: &mut Vec<Option<Box<Parts>>>, number: u32) -> Option<&Parts> {
    let at = usize::try_from(number).ok()?;
    if known.get(at).and_then(Option::as_ref).is_none_or(|parts| parts.is_busy) {
        learn(known, at, callsite(number)?);
    }
    known.get(at)?.as_deref()
}

#[cold]
fn learn(known: &mut Vec<Option<Box<Parts>>>, at: usize, callsite: &'static Metadata<'static>) {
    if known.len() <= at {
        known.resize_with(at + 1, || None);
    }
    known[at] = Some(Box::new(Parts::new(callsite)));
}

impl Parts {
    /// Writes a record of the callsite as a call would write it, and takes it apart.
    fn new(callsite: &'static Metadata<'static>) -> Self {
        let (mut scratch, time) = (Scratch::new(), Time::Unix(UnixTime::EPOCH));
        let target = MaybeStatic::Static(callsite.target());
        let mut to = Writer::begin(&mut scratch, time, level(callsite), target);
        let target = to.end_so_far();
        to.static_message(callsite.name());
        let texts = to.end_so_far();
        to.site(
            Wanted { place: true, ..Wanted::default() },
            place_of(callsite, MaybeStatic::Static),
            None,
        );
        let place = to.end_so_far();
        if let Some(name) = given_name(callsite) {
            to.event_name(name);
        }
        to.end();
        let record = scratch.written();
        let codes = head(record).unwrap_or_default().map(|word| word >> TEXT_SHIFT << TEXT_SHIFT);
        Self {
            target: codes[0],
            name: codes[2],
            level: head(record).unwrap_or_default()[2] & LEVEL,
            target_bytes: record[HEAD..target].into(),
            texts: record[HEAD..texts].into(),
            place: record[texts..place].into(),
            event_name: record[place..].into(),
            is_busy: scratch.was_busy(),
        }
    }
}

/// Returns the words of a head.
#[inline]
fn head(record: &[u8]) -> Option<[u64; 3]> {
    let head: &[u8; HEAD] = record.first_chunk()?;
    Some(
        [0, WORD, KIND_AT]
            .map(|at| head[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))),
    )
}

#[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
#[inline]
const fn kind(head: &[u64; 3]) -> u32 {
    head[2] as u32
}

#[cfg(test)]
mod tests {
    use tach_log::Value;
    use tracing::dispatcher;
    use tracing_subscriber::registry;

    use super::*;
    use crate::callsites::tests::unless_busy;
    use crate::callsites::{Callsite, Callsites, set_up};
    use tach_record::frame::{Code, Frame, SpanPart, SpanRecord, ThisThread, What};
    use tach_record::ids::{Around, SpanContext};
    use tach_record::level::Level;

    fn records() -> Records {
        Whole::new(WANTED).records
    }

    const CONTEXT: SpanContext = SpanContext { trace: 1 << 64 | 2, span: 3, is_sampled: true };
    const TIME: Time = Time::Unix(UnixTime::EPOCH);
    const SPAN: SpanRecord =
        SpanRecord { context: CONTEXT, parent: 4, since: TIME, age: 0, thread: 0 };
    const WANTED: Wanted = Wanted {
        place: true,
        thread: true,
        events: false,
        spans: true,
        durations: false,
        recorder: false,
        ids: false,
    };

    fn metadata() -> &'static Metadata<'static> {
        dispatcher::with_default(&registry().into(), || {
            tracing::info_span!(target: "app::db", "query", rows = 1).metadata().unwrap()
        })
    }

    fn code(metadata: &'static Metadata<'static>) -> Code {
        set_up();
        unless_busy(|| Callsites::new().code(Callsite(metadata)))
    }

    fn begin_span(to: &mut Scratch, code: Option<Code>) -> Writer<'_> {
        let texts = ["app::db", "query"].map(MaybeStatic::Static);
        match code {
            Some(code) => Writer::begin_span_at(to, code, &SPAN),
            None => Writer::begin_span(to, level(metadata()), texts, &SPAN),
        }
    }

    fn begin_event(to: &mut Scratch, code: Option<Code>) -> Writer<'_> {
        match code {
            Some(code) => Writer::begin_event_at(to, TIME, Level::WARN, code),
            None => Writer::begin(to, TIME, Level::WARN, MaybeStatic::Static("app::db")),
        }
    }

    /// Returns a record with the number of the callsite, made whole, and one that the call wrote as
    /// a whole.
    fn both(
        begin: fn(&mut Scratch, Option<Code>) -> Writer<'_>,
        fields: impl Fn(&mut Writer<'_>),
        around: Option<Around>,
        name: Option<&'static str>,
    ) -> [Vec<u8>; 2] {
        let (metadata, thread) = (metadata(), ThisThread::new());
        [Some(code(metadata)), None].map(|code| {
            // Try again if a table was busy: a text may then be a number in one record and a text
            // in the other.
            unless_busy(|| {
                let mut scratch = Scratch::new();
                let mut to = begin(&mut scratch, code);
                fields(&mut to);
                assert_eq!(to.is_whole(), code.is_none());
                if to.is_whole() {
                    to.site(WANTED, place_of(metadata, MaybeStatic::Static), around);
                    if let Some(name) = name {
                        to.event_name(name);
                    }
                } else {
                    to.span_around(&WANTED, around.as_ref());
                }
                to.end();
                let mut whole = records();
                let record = whole.of(scratch.written(), &thread.field).to_owned();
                let are_busy = whole.known.iter().flatten().any(|parts| parts.is_busy);
                (!scratch.was_busy() && !are_busy).then_some(record)
            })
        })
    }

    #[test]
    fn a_span_is_made_whole() {
        let metadata = metadata();
        let field = |to: &mut Writer<'_>| to.field(MaybeStatic::Static("rows"), Value::U64(7));
        let starts = both(begin_span, field, None, None);
        let [made, whole] = starts.each_ref().map(|start| SpanPart::read(start).unwrap());
        assert_eq!(format!("{made:?}"), format!("{whole:?}"));
        let What::Start(start) = &made.what else { panic!("{made:?}") };
        assert_eq!((start.target, start.name, start.parent), ("app::db", "query", 4));
        assert_eq!(made.fields.parts().count(), 1);
        let site = made.site();
        assert_eq!(site.line, metadata.line());
        assert_eq!(site.thread_name, std::thread::current().name());
    }

    #[test]
    fn an_event_is_made_whole() {
        let metadata = metadata();
        let foreign = Around { context: CONTEXT, is_own: false };
        for around in [None, Some(Around { context: CONTEXT, is_own: true }), Some(foreign)] {
            let fields = |to: &mut Writer<'_>| {
                to.message(format_args!("{} rows", 7));
                to.field(MaybeStatic::Borrowed("rows"), Value::U64(7));
            };
            // Pass the event's name, which tracing's macros make. Spans have no such name.
            let events = both(begin_event, fields, around, Some(metadata.name()));
            let [made, whole] = events.each_ref().map(|event| Frame::read(event).unwrap());
            assert_eq!((made.target, made.message, made.level), ("app::db", "7 rows", Level::WARN));
            assert!(made.repeats(&whole), "{made:?} {whole:?}");
            assert_eq!(format!("{:?}", made.site), format!("{:?}", whole.site));
            assert_eq!(made.site.event_name, Some("query"));
            assert_eq!(made.context(), whole.context());
            assert_eq!(made.context().is_some(), around.is_some_and(|it| it.is_own));
        }
    }

    /// A queue of several threads has no thread, so the record has one.
    #[test]
    fn a_record_may_have_its_thread() {
        let mut scratch = Scratch::new();
        Writer::begin_event_at(&mut scratch, TIME, Level::WARN, code(metadata())).end();
        scratch.add_thread();
        let mut whole = records();
        let made = Frame::read(whole.of(scratch.written(), &[])).unwrap();
        assert_eq!(made.site.thread_name, std::thread::current().name());
        assert_eq!((made.target, made.site.line), ("app::db", metadata().line()));
        // The control: without it, the thread is not known.
        Writer::begin_event_at(&mut scratch, TIME, Level::WARN, code(metadata())).end();
        let made = Frame::read(whole.of(scratch.written(), &[])).unwrap();
        assert_eq!(made.site.thread_name, None);
    }

    #[test]
    fn the_memory_of_a_long_record_is_freed() {
        for (length, is_kept) in [(10, true), (KEPT_BYTES, false)] {
            let (mut whole, mut scratch) = (Whole::new(WANTED), Scratch::new());
            let mut to = Writer::begin_event_at(&mut scratch, TIME, Level::WARN, code(metadata()));
            to.message(format_args!("{}", "x".repeat(length)));
            to.end();
            assert!(whole.records.of(scratch.written(), &[]).len() >= length);
            whole.trim();
            assert_eq!(whole.records.record.capacity() > 0, is_kept);
        }
    }

    /// Another thread may be taking an entry of a table at that moment.
    #[test]
    fn a_text_that_has_no_number_yet_is_tried_again() {
        let (code, mut known) = (code(metadata()), Vec::new());
        let at = code.number() as usize;
        known.resize_with(at + 1, || None);
        unless_busy(|| {
            let busy = Parts { target: 0, is_busy: true, ..Parts::new(metadata()) };
            known[at] = Some(Box::new(busy));
            (parts(&mut known, code.number()).unwrap().target != 0).then_some(())
        });
        known[at] = Some(Box::new(Parts { target: 0, is_busy: false, ..Parts::new(metadata()) }));
        assert_eq!(parts(&mut known, code.number()).unwrap().target, 0, "the others are kept");
    }

    /// It is read for its duration alone.
    #[test]
    fn the_start_of_a_span_that_is_not_sampled_gets_no_place_and_no_thread() {
        let mut scratch = Scratch::new();
        let mut to = begin_span(&mut scratch, Some(code(metadata())));
        to.end();
        scratch.end_span(TIME, false);
        let mut whole = records();
        let made = SpanPart::read(whole.of(scratch.written(), &ThisThread::new().field)).unwrap();
        assert_eq!((made.site().line, made.site().thread_id), (None, None));
        let What::Start(start) = &made.what else { panic!("{made:?}") };
        assert_eq!((start.target, start.name), ("app::db", "query"));
    }

    #[test]
    fn other_records_stay_as_they_are() {
        let mut scratch = Scratch::new();
        Writer::begin(&mut scratch, TIME, Level::WARN, MaybeStatic::Static("app")).end();
        let record = scratch.written();
        assert_eq!(records().of(record, &[1; 16]), record);
        let mut unknown = record.to_owned();
        unknown[KIND_AT + 3] = 1;
        unknown[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(records().of(&unknown, &[1; 16]), unknown);
        assert_eq!(records().of(&unknown[..HEAD - 1], &[]), &unknown[..HEAD - 1]);
    }
}
