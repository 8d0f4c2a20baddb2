//! The callsites of `tracing`, by number: all that is known of an event or a span before it
//! happens. The back end puts their texts and the thread into records that have a number.

use core::cell::RefCell;
use core::hash::{Hash, Hasher};
use core::ptr;
use std::sync::OnceLock;

use tach_core::UnixTime;
use tracing_core::Metadata;
use tracing_core::field::Field;

use tach_record::frame::numbers::{Interner, Numbered, Numbers};
use tach_record::frame::{
    self, AT_BOUNDARY, CALLSITE, Code, HEAD, KIND_AT, LEVEL_SHIFT, MaybeStatic, NUMBER, Place,
    RECORD_SHIFT, RecordKind, SITE, Scratch, TEXT_SHIFT, Time, UNSAMPLED, WORD, Wanted, Writer,
};
use tach_record::level::Level;

/// How many callsites of the process can have numbers. The table takes 64 KiB. The records of
/// further callsites contain their texts, or the texts' numbers.
pub(crate) const MOST: usize = 4096;

static CALLSITES: OnceLock<Numbers<Callsite>> = OnceLock::new();

/// A callsite, by the address of its metadata.
#[derive(Debug, Clone, Copy)]
pub struct Callsite(pub &'static Metadata<'static>);

/// The field by which a span is at the boundary of a service.
const KIND: &str = "otel.kind";

/// Returns the callsite with a number.
pub(crate) fn callsite(number: u32) -> Option<&'static Metadata<'static>> {
    numbers()?.get(number).map(|Callsite(metadata)| metadata)
}

/// The codes that a thread knows.
pub(crate) struct Callsites(Interner<Callsite>);

impl Callsites {
    const fn new() -> Self {
        Self(Interner::new())
    }

    /// Returns the code of a callsite if the thread knows it.
    #[inline]
    fn at_once(&self, callsite: Callsite) -> Option<Code> {
        self.0.at_once(callsite)
    }

    /// Returns the code of a callsite, or `None` if the callsite has no number.
    #[cold]
    fn code(&mut self, callsite: Callsite) -> Option<Code> {
        self.0.code(numbers()?, callsite)
    }
}

thread_local! {
    static KNOWN: RefCell<Callsites> = const { RefCell::new(Callsites::new()) };
}

/// Returns the code of a callsite, or `None` if a record must contain its texts.
#[inline]
pub fn code(callsite: Callsite) -> Option<Code> {
    known_code(callsite).or_else(|| learned_code(callsite))
}

/// Returns the code of a callsite, if the thread knows it.
#[expect(clippy::inline_always, reason = "a call would save the registers once more")]
#[inline(always)]
pub(crate) fn known_code(callsite: Callsite) -> Option<Code> {
    let code = KNOWN.try_with(|known| known.try_borrow().ok()?.at_once(callsite));
    code.ok().flatten()
}

#[cold]
fn learned_code(callsite: Callsite) -> Option<Code> {
    KNOWN.try_with(|known| known.try_borrow_mut().ok()?.code(callsite)).ok().flatten()
}

/// Creates the tables of numbers, before any record is written.
pub fn set_up() {
    if frame::set_up() {
        CALLSITES.get_or_init(|| Numbers::new(MOST));
    }
}

/// Returns the callsites that have numbers.
pub fn known_callsites() -> impl Iterator<Item = &'static Metadata<'static>> {
    (0_u32..).take(MOST).filter_map(|number| numbers()?.get(number)).map(|Callsite(it)| it)
}

pub fn numbers() -> Option<&'static Numbers<Callsite>> {
    CALLSITES.get()
}

/// Returns whether spans of a callsite declare the field by which they are at the boundary of a
/// service. `code` is the callsite's, if it has one.
#[inline]
pub fn is_at_boundary(metadata: &Metadata<'_>, code: Option<Code>) -> bool {
    code.map_or_else(|| declares_kind(metadata), Code::is_at_boundary)
}

/// Returns whether spans declare that field, for a callsite whose code is not known.
#[inline]
pub fn declares_kind(metadata: &Metadata<'_>) -> bool {
    metadata.fields().iter().any(|field| field.name() == KIND)
}

/// Returns the key of a field, without the `r#` of names such as `r#type`.
#[inline]
pub fn key(field: &Field) -> &'static str {
    let name = field.name();
    name.strip_prefix("r#").unwrap_or(name)
}

/// Returns the level of an event or a span.
#[inline]
pub fn level(metadata: &Metadata<'_>) -> Level {
    match *metadata.level() {
        tracing_core::Level::ERROR => Level::of(log::Level::Error),
        tracing_core::Level::WARN => Level::of(log::Level::Warn),
        tracing_core::Level::INFO => Level::of(log::Level::Info),
        tracing_core::Level::DEBUG => Level::of(log::Level::Debug),
        tracing_core::Level::TRACE => Level::of(log::Level::Trace),
    }
}

/// Returns the event's name, unless it is the default of tracing's macros, `event FILE:LINE`.
#[inline]
pub fn given_name(metadata: &'static Metadata<'static>) -> Option<&'static str> {
    const BEGIN: &str = "event ";
    let name = metadata.name();
    let file = metadata.file().map_or(0, str::len);
    // Compare only the length of the file's name: comparing the name would take longer.
    let is_default =
        name.starts_with(BEGIN) && name.as_bytes().get(BEGIN.len() + file) == Some(&b':');
    (!is_default).then_some(name)
}

/// Returns the place of a callsite. `text` tells how long its texts live.
pub fn place_of<'a>(
    metadata: &Metadata<'a>,
    text: impl Fn(&'a str) -> MaybeStatic<'a>,
) -> Place<'a> {
    Place {
        file: text(metadata.file().unwrap_or_default()),
        line: metadata.line().unwrap_or(0),
        module: text(metadata.module_path().unwrap_or_default()),
    }
}

impl PartialEq for Callsite {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for Callsite {}

impl Hash for Callsite {
    fn hash<H: Hasher>(&self, state: &mut H) {
        ptr::hash(self.0, state);
    }
}

impl Numbered for Callsite {
    /// Worker threads run the callsites of a whole program, and a span without a number costs more.
    /// The thread's table takes at most 32 KiB.
    const MOST_BITS: u32 = 11;

    #[inline]
    fn address(self) -> usize {
        ptr::from_ref(self.0).addr()
    }

    #[inline]
    fn is(self, other: Self) -> bool {
        self == other
    }

    fn mark(self) -> u32 {
        if declares_kind(self.0) { AT_BOUNDARY } else { 0 }
    }
}

/// The memory for records that is kept.
const KEPT_BYTES: usize = 64 * 1024;

/// Adds to a record with a callsite's number the texts that the call left out. Keeps the parts of
/// each callsite, and the memory for the record.
pub struct Whole {
    wanted: Wanted,
    /// The parts of the callsites, by number.
    known: Vec<Option<Box<Parts>>>,
    record: Vec<u8>,
}

/// The bits of the level in the last word of a head.
const LEVEL: u64 = 0xFF << LEVEL_SHIFT;

/// The parts of the records of one callsite.
struct Parts {
    /// The codes of the target and the name in a head.
    target: u64,
    name: u64,
    /// The bits of the level.
    level: u64,
    /// The bytes of the target, if it has no number. `texts` contains these, and then those of the
    /// name.
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
        Self { wanted, known: Vec::new(), record: Vec::new() }
    }

    /// Frees the memory of a long record.
    pub fn trim(&mut self) {
        if self.record.capacity() > KEPT_BYTES {
            self.record = Vec::new();
        }
    }

    /// Returns the whole record, if `record` has the number of a callsite, or else `record`.
    /// `thread` is the [part](tach_record::frame::ThisThread) of the thread that wrote it.
    #[inline]
    pub fn of<'a>(&'a mut self, record: &'a [u8], thread: &[u8]) -> &'a [u8] {
        match head(record) {
            Some(head) if kind(&head) & CALLSITE != 0 => self.made(record, head, thread),
            _ => record,
        }
    }

    fn made<'a>(&'a mut self, record: &'a [u8], head: [u64; 3], thread: &[u8]) -> &'a [u8] {
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

/// Returns the parts of a callsite. Makes them anew if a text may have a number by now.
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
pub(crate) mod tests {
    use core::time::Duration;
    use std::thread;

    use tach_log::Value;
    use tracing::dispatcher;
    use tracing_subscriber::registry;

    use super::*;
    use tach_record::frame::{Frame, SpanPart, SpanRecord, ThisThread, What};
    use tach_record::ids::{Around, SpanContext};

    /// Calls `f` until it returns a value: another test may be taking a number just then.
    pub(crate) fn unless_busy<T>(mut f: impl FnMut() -> Option<T>) -> T {
        let mut calls = (0..10_000).map(|call| {
            thread::sleep(Duration::from_millis(call.min(1)));
            f()
        });
        calls.find_map(|value| value).expect("numbers are taken at every moment")
    }

    #[test]
    fn a_code_knows_whether_its_spans_are_at_a_boundary() {
        set_up();
        let [inner, boundary] = dispatcher::with_default(&registry().into(), || {
            [tracing::info_span!("inner", kind = 1), tracing::info_span!("outer", otel.kind = 1)]
                .map(|span| span.metadata().unwrap())
        });
        let mut callsites = Callsites::new();
        for (metadata, expected) in [(inner, false), (boundary, true)] {
            let callsite = Callsite(metadata);
            let learned = unless_busy(|| callsites.code(callsite));
            for code in [learned, callsites.at_once(callsite).unwrap()] {
                assert_eq!(code.is_at_boundary(), expected);
                assert_eq!(is_at_boundary(metadata, None), expected);
                // The mark changes neither the number nor a record with the number.
                assert!(super::callsite(code.number()).is_some_and(|it| Callsite(it) == callsite));
                assert_eq!(Code::of_slot(Code::for_slot(Some(code))), Some(code));
            }
        }
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
                let mut whole = Whole::new(WANTED);
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

    /// A queue that several threads share names no thread, so each record in it contains its own.
    #[test]
    fn a_record_may_have_its_thread() {
        let mut scratch = Scratch::new();
        Writer::begin_event_at(&mut scratch, TIME, Level::WARN, code(metadata())).end();
        scratch.add_thread();
        let mut whole = Whole::new(WANTED);
        let made = Frame::read(whole.of(scratch.written(), &[])).unwrap();
        assert_eq!(made.site.thread_name, std::thread::current().name());
        assert_eq!((made.target, made.site.line), ("app::db", metadata().line()));
        // The control: without `add_thread`, the thread is not known.
        Writer::begin_event_at(&mut scratch, TIME, Level::WARN, code(metadata())).end();
        let made = Frame::read(whole.of(scratch.written(), &[])).unwrap();
        assert_eq!(made.site.thread_name, None);
    }

    #[test]
    fn the_memory_of_a_long_record_is_freed() {
        let mut whole = Whole::new(WANTED);
        for (length, is_kept) in [(10, true), (KEPT_BYTES, false)] {
            let mut scratch = Scratch::new();
            let mut to = Writer::begin_event_at(&mut scratch, TIME, Level::WARN, code(metadata()));
            to.message(format_args!("{}", "x".repeat(length)));
            to.end();
            assert!(whole.of(scratch.written(), &[]).len() >= length);
            whole.trim();
            assert_eq!(whole.record.capacity() > 0, is_kept);
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

    /// Such a start is read for the span's duration alone.
    #[test]
    fn the_start_of_a_span_that_is_not_sampled_gets_no_place_and_no_thread() {
        let mut scratch = Scratch::new();
        let mut to = begin_span(&mut scratch, Some(code(metadata())));
        to.end();
        scratch.end_span(TIME, false);
        let mut whole = Whole::new(WANTED);
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
        assert_eq!(Whole::new(WANTED).of(record, &[1; 16]), record);
        let mut unknown = record.to_owned();
        unknown[KIND_AT + 3] = 1;
        unknown[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Whole::new(WANTED).of(&unknown, &[1; 16]), unknown);
        assert_eq!(Whole::new(WANTED).of(&unknown[..HEAD - 1], &[]), &unknown[..HEAD - 1]);
    }
}
