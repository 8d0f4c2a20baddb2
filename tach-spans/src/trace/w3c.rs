//! W3C's trace context (<https://www.w3.org/TR/trace-context/>).

use core::fmt;
use std::sync::Arc;

use tach_log::Value;

use tach_record::frame::MaybeStatic;
use tach_record::frame::{Linked, Origin, TRACE_IS_RANDOM, Writer};
use tach_record::ids::{RANDOM, SAMPLED, SpanContext};

/// The length of a `traceparent` of version 0: version, trace id, span id and flags.
const LENGTH: usize = "00-00000000000000000000000000000000-0000000000000000-00".len();
/// This version is not valid.
const NO_VERSION: u128 = 0xff;
/// The most members of a `tracestate`.
const MOST_MEMBERS: usize = 32;
/// The most bytes of a `tracestate` that is passed on: one longest member. Not more, since each
/// span's record contains the text. The recommendation asks for 512.
const MOST_BYTES: usize = 2 * LONGEST + 1;
/// The recommendation drops longer members first.
const LONG: usize = 128;
/// The most bytes of a key in a `tracestate`, and of a value.
const LONGEST: usize = 256;
/// The most bytes of a tenant and of a system, in a key that has both.
const LONGEST_TENANT: usize = 241;
const LONGEST_SYSTEM: usize = 14;

/// A span as other processes know it: the headers of
/// [W3C's trace context](https://www.w3.org/TR/trace-context/).
///
/// [`Display`](fmt::Display) prints the header `traceparent`, and [`tracestate`](Self::tracestate)
/// is the other one. `SpanExt` passes both on.
///
/// # Examples
///
/// ```
/// use tach_pipeline::TraceContext;
///
/// let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let context = TraceContext::from_headers(traceparent, "vendor=1").unwrap();
/// assert_eq!(context.span_id(), 0xb7ad_6b71_6920_3331);
/// assert!(context.is_sampled());
/// assert_eq!((context.to_string().as_str(), context.tracestate()), (traceparent, "vendor=1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    context: SpanContext,
    /// Whether the flag of random trace ids is set. Only the creator of the id knows.
    is_random: bool,
    state: Option<Arc<str>>,
}

impl TraceContext {
    /// Reads the headers `traceparent` and `tracestate`. The latter is empty if the request has
    /// none. If it has several, join them with commas.
    ///
    /// The flag of random trace ids is passed on with the trace. A threshold of OpenTelemetry's
    /// samplers (`ot=th:..`) is passed on unless this process decides anew, by
    /// [`Sampling::ignore_parents`](crate::Sampling::ignore_parents).
    ///
    /// Returns `None` if `traceparent` is not valid: then the request begins a trace. A
    /// `tracestate` that is not valid is dropped. Of one beyond 513 bytes, members are dropped as
    /// W3C's recommendation has it: those beyond 128 bytes first, and then the last ones.
    ///
    /// # Examples
    ///
    /// See [`TraceContext`].
    #[must_use]
    pub fn from_headers(traceparent: &str, tracestate: &str) -> Option<Self> {
        let (context, is_random) = parent(trim(traceparent).as_bytes())?;
        let state = state(tracestate).filter(|state| !state.is_empty()).map(Arc::from);
        Some(Self { context, is_random, state })
    }

    /// Creates the context of a span.
    pub fn of(context: SpanContext, is_random: bool, state: Option<Arc<str>>) -> Self {
        Self { context, is_random, state }
    }

    /// Creates the context of a span of this process, in the trace of `origin` if there is one.
    pub fn within(context: SpanContext, origin: Option<Self>) -> Self {
        match origin {
            Some(origin) => Self { context, ..origin },
            None => Self::of(context, false, None),
        }
    }

    /// Returns the context, if there is more to pass on than the trace and whether it is sampled.
    pub fn as_origin(&self) -> Option<Self> {
        (self.is_random || self.state.is_some()).then(|| self.clone())
    }

    /// Returns the context for a trace about which this process decides anew: without the threshold
    /// by which another process has decided (`ot=th:..`).
    #[must_use]
    pub fn decided_anew(&self) -> Self {
        let state = self.state.as_ref().map(|state| match without_threshold(state) {
            Some(without) => Some(without.into()).filter(|it: &Arc<str>| !it.is_empty()),
            None => Some(Arc::clone(state)),
        });
        Self { state: state.flatten(), ..self.clone() }
    }

    /// Returns the id of the trace.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::TraceContext;
    ///
    /// let traceparent = "00-0000000000000000000000000000000a-000000000000000b-00";
    /// let context = TraceContext::from_headers(traceparent, "").unwrap();
    /// assert_eq!((context.trace_id(), context.span_id()), (10, 11));
    /// ```
    #[must_use]
    pub fn trace_id(&self) -> u128 {
        self.context.trace
    }

    /// Returns the id of the span.
    ///
    /// # Examples
    ///
    /// See [`trace_id`](Self::trace_id).
    #[must_use]
    pub fn span_id(&self) -> u64 {
        self.context.span
    }

    /// Returns whether the process of the span may have recorded it.
    ///
    /// # Examples
    ///
    /// See [`TraceContext`].
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.context.is_sampled
    }

    /// Returns the header `tracestate`, without spaces around its members. Empty if the request
    /// needs none.
    ///
    /// # Examples
    ///
    /// See [`TraceContext`].
    #[must_use]
    pub fn tracestate(&self) -> &str {
        self.state.as_deref().unwrap_or_default()
    }

    pub fn context(&self) -> SpanContext {
        self.context
    }

    /// Returns the flags, as the header has them.
    pub(crate) fn flags(&self) -> u8 {
        let random = if self.is_random { RANDOM } else { 0 };
        random | if self.is_sampled() { SAMPLED } else { 0 }
    }

    /// Writes the span as a link or a parent.
    pub fn write(&self, to: &mut Writer<'_>, origin: Origin) {
        to.link(Linked { context: self.context, origin });
        self.write_origin(to);
    }

    /// Writes what a span in this trace passes on besides its ids.
    pub fn write_origin(&self, to: &mut Writer<'_>) {
        if let Some(state) = &self.state {
            to.trace_state(state);
        }
        if self.is_random {
            to.field(MaybeStatic::Static(TRACE_IS_RANDOM), Value::Bool(true));
        }
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SpanContext { trace, span, .. } = self.context;
        // Write the text by hand: each call of a client prints one, and formatting costs five times
        // as much.
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        write_hex(&trace.to_be_bytes(), &mut text[3..35]);
        write_hex(&span.to_be_bytes(), &mut text[36..52]);
        write_hex(&[self.flags()], &mut text[53..]);
        f.write_str(core::str::from_utf8(&text).unwrap_or_default())
    }
}

/// Writes two lowercase digits for each byte.
fn write_hex(bytes: &[u8], to: &mut [u8]) {
    for (byte, digits) in bytes.iter().zip(to.chunks_exact_mut(2)) {
        for (digit, nibble) in digits.iter_mut().zip([byte >> 4, byte & 0xf]) {
            *digit = b"0123456789abcdef"[usize::from(nibble)];
        }
    }
}

/// Removes the spaces that HTTP allows around a value.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// Reads a `traceparent`, and returns whether the id of its trace is random.
fn parent(text: &[u8]) -> Option<(SpanContext, bool)> {
    let (fields, more) = text.split_first_chunk::<LENGTH>()?;
    let [version, trace, span, flags] =
        [&fields[..2], &fields[3..35], &fields[36..52], &fields[53..]].map(hex);
    let is_length_valid = match version? {
        0 => more.is_empty(),
        NO_VERSION => false,
        // Later versions may add fields.
        _ => more.first().is_none_or(|&next| next == b'-'),
    };
    let are_separated = [2, 35, 52].iter().all(|&at| fields[at] == b'-');
    let (trace, span) = (trace?, u64::try_from(span?).ok()?);
    let is_valid = is_length_valid && are_separated && trace != 0 && span != 0;
    let has = |flag| flags.map(|flags| flags & u128::from(flag) != 0);
    let (is_sampled, is_random) = (has(SAMPLED)?, has(RANDOM)?);
    is_valid.then_some((SpanContext { trace, span, is_sampled }, is_random))
}

/// Reads a number in hexadecimal digits, which are lowercase in valid headers.
fn hex(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(value))
    })
}

/// Reads a `tracestate`, and returns it without spaces and without empty members.
fn state(text: &str) -> Option<String> {
    let mut members: Vec<(&str, &str)> = Vec::new();
    for member in text.split(',').map(trim).filter(|member| !member.is_empty()) {
        let (key, value) = member.split_once('=')?;
        let is_repeated = members.iter().any(|(other, _)| *other == key);
        if !is_key(key) || !is_value(value) || is_repeated || members.len() == MOST_MEMBERS {
            return None;
        }
        members.push((key, value));
    }
    let members: Vec<_> = members.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Some(shortened(members.join(",")))
}

/// Drops members of a valid `tracestate` that is too long: the long ones, and then the last ones.
pub(super) fn shortened(state: String) -> String {
    if state.len() <= MOST_BYTES {
        return state;
    }
    let mut members: Vec<_> = state.split(',').collect();
    let is_too_long = |members: &[&str]| {
        members.iter().map(|member| member.len() + 1).sum::<usize>() > MOST_BYTES + 1
    };
    while is_too_long(&members) {
        let long = members.iter().rposition(|member| member.len() > LONG);
        members.remove(long.unwrap_or(members.len() - 1));
    }
    members.join(",")
}

/// Returns a valid `tracestate` without the threshold of OpenTelemetry's samplers, if it has one. A
/// member that loses its threshold moves to the front.
fn without_threshold(state: &str) -> Option<String> {
    let (changed, others): (Vec<_>, Vec<_>) =
        state.split(',').partition(|member| member.starts_with("ot="));
    let parts = || changed.iter().flat_map(|member| member["ot=".len()..].split(';'));
    let is_threshold = |part: &&str| part.starts_with("th:");
    parts().find(is_threshold)?;
    let rest: Vec<_> = parts().filter(|part| !is_threshold(part)).collect();
    let rest = (!rest.is_empty()).then(|| format!("ot={}", rest.join(";")));
    Some(rest.iter().map(|rest| &**rest).chain(others).collect::<Vec<_>>().join(","))
}

fn is_key(key: &str) -> bool {
    let is_name = |name: &str, longest| {
        name.len() <= longest
            && name
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/'))
    };
    let begins_with_letter =
        |name: &str| name.starts_with(|first: char| first.is_ascii_lowercase());
    match key.split_once('@') {
        None => is_name(key, LONGEST) && begins_with_letter(key),
        Some((tenant, system)) => {
            is_name(tenant, LONGEST_TENANT)
                && tenant.starts_with(|first: char| first.is_ascii_alphanumeric())
                && is_name(system, LONGEST_SYSTEM)
                && begins_with_letter(system)
        }
    }
}

fn is_value(value: &str) -> bool {
    // Spaces at the end were trimmed.
    (1..=LONGEST).contains(&value.len())
        && value.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'=')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_long_tracestate_loses_whole_members() {
        let read = |members: &[String]| {
            let context = TraceContext::from_headers(VALID, &members.join(", ")).unwrap();
            let keys = context.tracestate().split(',').map(|it| it.split('=').next().unwrap());
            (context.tracestate().len(), keys.collect::<String>())
        };
        let member = |key: &str, length: usize| format!("{key}={}", "x".repeat(length - 2));
        let short = |key| member(key, 127);
        let fits = [short("a"), short("b"), short("c"), member("d", 128)];
        assert_eq!(read(&fits), (512, "abcd".to_owned()));
        let last = [short("a"), short("b"), short("c"), short("d"), member("e", 3)];
        assert_eq!(read(&last), (511, "abcd".to_owned()));
        let long = [member("a", 129), short("b"), member("c", 200), short("d"), short("e")];
        assert_eq!(read(&long), (129 + 3 * 128, "abde".to_owned()), "the last of the long ones");
    }

    #[test]
    fn a_traceparent_is_read_to_the_letter() {
        let read = |text: &str| {
            let context = TraceContext::from_headers(text, "")?;
            Some((context.trace_id(), context.span_id(), context.is_sampled()))
        };
        let (trace, span) = (0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, 0xb7ad_6b71_6920_3331);
        for (text, is_sampled) in [
            (VALID.to_owned(), true),
            (format!(" \t{VALID} "), true),
            (VALID.replace("-01", "-00"), false),
            // Other flags do not hide the sampled flag.
            (VALID.replace("-01", "-ff"), true),
            (VALID.replace("-01", "-fe"), false),
            // A later version has at least these fields.
            (VALID.replacen("00", "cc", 1), true),
            (format!("{}-more", VALID.replacen("00", "cc", 1)), true),
            (format!("{}-", VALID.replacen("00", "01", 1)), true),
        ] {
            assert_eq!(read(&text), Some((trace, span, is_sampled)), "{text}");
        }
        for text in [
            String::new(),
            VALID[..LENGTH - 1].to_owned(),
            format!("{VALID}-"),
            format!("{VALID}0"),
            format!("{}0", VALID.replacen("00", "01", 1)),
            VALID.replacen("00", "ff", 1),
            VALID.replacen("00", "0g", 1),
            VALID.replace('a', "A"),
            VALID.replace('-', "_"),
            VALID.replacen("c-b", "cxb", 1),
            VALID.replace("1-01", "1x01"),
            VALID.replace("-01", "-0x"),
            VALID.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            VALID.replace("b7ad6b7169203331", &"0".repeat(16)),
            VALID.replacen("00", "+0", 1),
            VALID.replace("0af7", "é7"),
        ] {
            assert_eq!(read(&text), None, "{text}");
        }
    }

    #[test]
    fn the_flags_of_level_2_are_kept() {
        for (read, written) in
            [("00", "00"), ("01", "01"), ("02", "02"), ("03", "03"), ("ff", "03")]
        {
            let header = VALID.replace("-01", &format!("-{read}"));
            let context = TraceContext::from_headers(&header, "").unwrap();
            assert!(context.to_string().ends_with(&format!("-{written}")), "{read}: {context}");
            assert_eq!(context.is_sampled(), matches!(read, "01" | "03" | "ff"));
        }
    }

    #[test]
    fn who_decides_anew_drops_the_threshold_alone() {
        for (state, expected) in [
            ("", ""),
            ("a=1,b=th:8", "a=1,b=th:8"),
            ("a=1,ot=rv:6e6d1a75832a2f", "a=1,ot=rv:6e6d1a75832a2f"),
            ("ot=th:8", ""),
            ("a=1,ot=th:8,b=2", "a=1,b=2"),
            ("a=1,ot=rv:6e6d1a75832a2f;th:c,b=2", "ot=rv:6e6d1a75832a2f,a=1,b=2"),
            ("ot=th:0;x:1;rv:1", "ot=x:1;rv:1"),
            ("other=1,tot=th:8", "other=1,tot=th:8"),
        ] {
            let context = TraceContext::from_headers(VALID, state).unwrap();
            let (anew, before) = (context.decided_anew(), context.to_string());
            assert_eq!((anew.tracestate(), anew.to_string()), (expected, before), "{state}");
        }
    }

    #[test]
    fn a_tracestate_is_read_to_the_letter() {
        let state =
            |text: &str| TraceContext::from_headers(VALID, text).unwrap().tracestate().to_owned();
        let members = |count: usize| {
            let all: Vec<_> = (0..count).map(|number| format!("k{number}=v")).collect();
            all.join(",")
        };
        let long = |key: usize, value: usize| format!("{}={}", "k".repeat(key), "v".repeat(value));
        for text in [
            "a=1,b=2".to_owned(),
            "0tenant@system=1".to_owned(),
            "a_-*/0=! ~".to_owned(),
            "a=  1".to_owned(),
            members(32),
            long(256, 256),
            format!("{}@{}=1", "t".repeat(241), "s".repeat(14)),
        ] {
            assert_eq!(state(&text), text);
        }
        assert_eq!(state(" a=1 ,\t,, b=2\t,"), "a=1,b=2");
        for text in [
            "a".to_owned(),
            "a=".to_owned(),
            "=1".to_owned(),
            "a=1=2".to_owned(),
            "a=1,a=2".to_owned(),
            "A=1".to_owned(),
            "0=1".to_owned(),
            "a =1".to_owned(),
            "a=\u{7f}".to_owned(),
            "a=é".to_owned(),
            "a=1\t2".to_owned(),
            "@a=1".to_owned(),
            "a@=1".to_owned(),
            "a@0=1".to_owned(),
            "a@b@c=1".to_owned(),
            "a=1;b=2 , c".to_owned(),
            members(33),
            long(257, 1),
            long(1, 257),
            format!("{}@s=1", "t".repeat(242)),
            format!("t@{}=1", "s".repeat(15)),
        ] {
            assert_eq!(state(&text), "", "{text}");
        }
    }

    proptest! {
        /// Whatever is read is written in a way that is read as the same.
        #[test]
        fn nothing_panics_and_all_that_is_read_can_be_written(
            parent in "[0-9a-fA-F-]{50,60}|.*|[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?",
            state in ".*|([ \t]?[a-z0-9@_*/-]{0,4}=[ -~]{0,4}[ \t]?,){0,40}",
        ) {
            for parent in [&*parent, VALID] {
                let Some(read) = TraceContext::from_headers(parent, &state) else { continue };
                let again = TraceContext::from_headers(&read.to_string(), read.tracestate());
                prop_assert_eq!(again, Some(read));
            }
        }

        #[test]
        fn ids_come_back(
            trace in 1_u128.., span in 1_u64.., is_sampled: bool, is_random: bool,
        ) {
            let written = TraceContext::of(SpanContext { trace, span, is_sampled }, is_random, None);
            prop_assert_eq!(TraceContext::from_headers(&written.to_string(), ""), Some(written));
        }
    }
}
