//! The links of a span.

use tach_log::Value;
use tach_log::adapter::Fields;
use tach_otlp::adapter::protobuf::{bytes, fixed_32, message};
use tach_otlp::adapter::{AttributeLimits, Attributes};

use super::{Own, field, ids};
use tach_record::frame::{Linked, Lost, Origin, TRACE_IS_RANDOM, TRACE_STATE};
use tach_record::ids::{RANDOM, SAMPLED};

/// OTLP's flags for the parent or the linked span: `IS_LOCAL` means known to be local, and
/// `IS_REMOTE` known to be remote.
const IS_LOCAL: u32 = 0x100;
const IS_REMOTE: u32 = 0x300;

impl Own<'_> {
    /// Appends a link, unless the span is at the limit.
    pub(super) fn link(&mut self, to: &mut Vec<u8>, linked: Linked, fields: &impl Fields) {
        let before = to.len();
        let has_room = self.links < self.limits.links;
        if has_room {
            let limits = self.limits.of_link();
            message(to, field::LINKS, |to| write_link(to, linked, fields, limits));
        }
        if has_room && self.fits(to, before) {
            self.links += 1;
        } else {
            self.dropped.add(Lost { links: 1, ..Lost::default() });
        }
    }
}

/// Returns W3C's flags of the trace, and OTLP's of the parent or of the linked span.
pub(super) fn flags(is_sampled: bool, is_random: bool, is_remote: bool) -> u32 {
    let sampled = if is_sampled { SAMPLED } else { 0 };
    let random = if is_random { RANDOM } else { 0 };
    u32::from(sampled | random) | if is_remote { IS_REMOTE } else { IS_LOCAL }
}

/// Appends the fields of a `Link`.
fn write_link(to: &mut Vec<u8>, linked: Linked, fields: &impl Fields, limits: AttributeLimits) {
    ids(to, linked.context);
    let mut is_random = false;
    let mut attributes = Attributes::new(field::LINK_ATTRIBUTES, limits);
    let visited = fields.visit(&mut |key, value| {
        match (key, value) {
            (TRACE_STATE, Value::Str(state)) => bytes(to, field::TRACE_STATE, state.as_bytes()),
            (TRACE_IS_RANDOM, _) => is_random = true,
            (key, value) => attributes.add(to, key, value),
        }
        Ok(())
    });
    debug_assert!(visited.is_ok(), "nothing fails here");
    let is_remote = linked.origin == Origin::Remote;
    fixed_32(to, field::LINK_FLAGS, flags(linked.context.is_sampled, is_random, is_remote));
    attributes.end(to, field::LINK_DROPPED_ATTRIBUTES);
}
