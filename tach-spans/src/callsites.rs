//! The callsites of `tracing`, by number: all that is known of an event or a span before it
//! happens. The back end [puts](whole) their texts into records that have a number.

pub mod whole;

use core::cell::RefCell;
use core::hash::{Hash, Hasher};
use core::ptr;
use std::sync::OnceLock;

use tracing_core::Metadata;
use tracing_core::field::Field;

use tach_record::frame::numbers::{Interner, Numbered, Numbers};
use tach_record::frame::{self, AT_BOUNDARY, Code, MaybeStatic, Place};
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

#[cfg(test)]
pub(crate) mod tests {
    use core::time::Duration;
    use std::thread;

    use tracing::dispatcher;
    use tracing_subscriber::registry;

    use super::*;

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
}
