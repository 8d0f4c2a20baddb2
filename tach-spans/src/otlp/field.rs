//! The numbers of the messages' fields.

pub(super) const TRACE_ID: u32 = 1;
pub(super) const SPAN_ID: u32 = 2;
pub(super) const TRACE_STATE: u32 = 3;
pub(super) const PARENT_SPAN_ID: u32 = 4;
pub(super) const NAME: u32 = 5;
pub(super) const KIND: u32 = 6;
pub(super) const START: u32 = 7;
pub(super) const END: u32 = 8;
pub(super) const ATTRIBUTES: u32 = 9;
pub(super) const DROPPED_ATTRIBUTES: u32 = 10;
pub(super) const EVENTS: u32 = 11;
pub(super) const DROPPED_EVENTS: u32 = 12;
pub(super) const LINKS: u32 = 13;
pub(super) const DROPPED_LINKS: u32 = 14;
pub(super) const STATUS: u32 = 15;
pub(super) const FLAGS: u32 = 16;
pub(super) const EVENT_TIME: u32 = 1;
pub(super) const EVENT_NAME: u32 = 2;
pub(super) const EVENT_ATTRIBUTES: u32 = 3;
pub(super) const EVENT_DROPPED_ATTRIBUTES: u32 = 4;
pub(super) const LINK_ATTRIBUTES: u32 = 4;
pub(super) const LINK_DROPPED_ATTRIBUTES: u32 = 5;
pub(super) const LINK_FLAGS: u32 = 6;
pub(super) const STATUS_MESSAGE: u32 = 2;
pub(super) const STATUS_CODE: u32 = 3;
