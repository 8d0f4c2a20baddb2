//! logfmt: `key=value` throughout.

use std::io;

use super::Names;
use super::keyed::Keyed;
use super::layout::{DEFAULT_KEYS, LogfmtSyntax, is_default_key};
use super::{Ids, SPAN_ID, TRACE_ID, is_id_key};
use super::{key_value, quoted, time};
use crate::event::Event;

/// A line of logfmt for each event:
///
/// ```text
/// ts=2026-11-21T09:30:00.123456Z level=INFO target=app::db msg="connected" attempt=2
/// ```
///
/// Absent parts, repeated keys and keys of the head are treated as in [`Json`](crate::Json), other
/// keys and all values as in [`Line`](crate::Line): of `a b`, `a_b` and `a=b`, the second keeps its
/// key, and the others are `a_b_` and `a_b_2`. logfmt has no types: the text `"1"` and the
/// number are both `1`.
///
/// The methods of [`Keyed`] change the layout: `Logfmt::new().with("time", Part::Time)`.
///
/// # Guarantees
///
/// The [guarantees of `Line`](crate::Line#guarantees). A reader that knows JSON's escapes between
/// quotes reads the message and every value as they were.
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_log::{Logfmt, display};
///
/// let record = Record::builder().target("app").args(format_args!("ready")).build();
/// let line = display(Logfmt::new(), &record).to_string();
/// assert!(line.ends_with(r#"Z level=INFO target=app msg="ready""#));
/// ```
pub type Logfmt = Keyed<LogfmtSyntax>;

/// Writes an event in the default layout. This is no method of [`Keyed`]: the compiler puts the
/// methods of both formats into one codegen unit, and inlines less there.
pub(super) fn write(event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
    to.extend_from_slice(b"ts=");
    time(to, event.time());
    to.extend_from_slice(b" level=");
    to.extend_from_slice(event.level_name().as_bytes());
    if !event.target().is_empty() {
        to.extend_from_slice(b" target=");
        key_value::write_text(to, event.target());
    }
    if !event.message().is_empty() {
        to.extend_from_slice(b" msg=");
        quoted(to, event.message());
    }
    if event.has_spans() {
        to.extend_from_slice(b" span=");
        key_value::write_span_names(to, event)?;
    }
    let ids = Ids::of(event);
    if let Some(ids) = ids {
        ids.each(|key, id| key_value::write_id(to, key, id));
    }
    let mut names = Names::default();
    event.fields(|key, value| {
        if ids.is_some_and(|ids| ids.has(key, value)) {
            return Ok(());
        }
        to.push(b' ');
        let is_taken = is_default_key(key) || ids.is_some() && is_id_key(key);
        if key_value::is_plain(key) && !is_taken {
            to.extend_from_slice(key.as_bytes());
        } else {
            let [ts, level, target, message, span] = DEFAULT_KEYS;
            let head = [ts, level, target, message, span, TRACE_ID, SPAN_ID];
            // If the event has no ids, a field may use their keys.
            let head = if ids.is_some() { &head } else { &DEFAULT_KEYS[..] };
            key_value::write_name(to, key, head, &mut names, event);
        }
        to.push(b'=');
        key_value::write_value(to, value);
        Ok(())
    })?;
    to.push(b'\n');
    Ok(())
}
