//! The packets of a trace (<https://perfetto.dev/docs/reference/trace-packet-proto>).

use std::io;

use tach_log::Value;
use tach_log::adapter::{self, Site};

use tach_otlp::adapter::protobuf::{bytes, fixed_64, integer, message, number};

use crate::host::program;

/// The numbers of the messages' fields.
mod field {
    pub(super) const PACKET: u32 = 1;

    // `TracePacket`
    pub(super) const CLOCK_SNAPSHOT: u32 = 6;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;

    // `ClockSnapshot`
    pub(super) const CLOCK: u32 = 1;
    pub(super) const CLOCK_ID: u32 = 1;
    pub(super) const CLOCK_TIME: u32 = 2;

    // `TrackDescriptor`
    pub(super) const TRACK: u32 = 1;
    pub(super) const TRACK_NAME: u32 = 2;
    pub(super) const PROCESS: u32 = 3;
    pub(super) const THREAD: u32 = 4;
    pub(super) const PARENT: u32 = 5;
    pub(super) const PID: u32 = 1;
    pub(super) const PROCESS_NAME: u32 = 6;
    pub(super) const TID: u32 = 2;
    pub(super) const THREAD_NAME: u32 = 5;

    // `TrackEvent`
    pub(super) const ANNOTATION: u32 = 4;
    pub(super) const TYPE: u32 = 9;
    pub(super) const EVENT_TRACK: u32 = 11;
    pub(super) const CATEGORY: u32 = 22;
    pub(super) const NAME: u32 = 23;
    pub(super) const SOURCE_LOCATION: u32 = 33;
    pub(super) const FLOW: u32 = 47;
    pub(super) const TERMINATING_FLOW: u32 = 48;

    // `SourceLocation`
    pub(super) const FILE: u32 = 2;
    pub(super) const LINE: u32 = 4;

    // `DebugAnnotation`
    pub(super) const BOOL: u32 = 2;
    pub(super) const INT: u32 = 4;
    pub(super) const DOUBLE: u32 = 5;
    pub(super) const STRING: u32 = 6;
    pub(super) const JSON: u32 = 9;
    pub(super) const KEY: u32 = 10;
}

/// The track of the process.
pub(super) const PROCESS: u64 = 1;
/// The number of the writer of events.
const EVENTS: u64 = 1;
/// The number of the writer of descriptions. Events need another writer: Perfetto takes a writer
/// for the thread that the writer described last.
const DESCRIPTORS: u64 = 2;
/// The flag of a writer's first packet: no state of earlier packets applies.
const STATE_CLEARED: u64 = 1;

/// The numbers of Linux's clocks, which Perfetto uses for its own clocks.
const REALTIME: u64 = 1;
const BOOTTIME: u64 = 6;

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;

/// How many bytes are gathered for one write.
const WRITTEN: usize = 64 * 1024;

pub(super) struct Packets<'a> {
    to: &'a mut dyn io::Write,
    bytes: Vec<u8>,
}

impl<'a> Packets<'a> {
    pub(super) fn new(to: &'a mut dyn io::Write) -> Self {
        Self { to, bytes: Vec::new() }
    }

    /// Writes the clock and the process.
    pub(super) fn begin(&mut self, time: u64) -> io::Result<()> {
        self.packet(EVENTS, |to| {
            number(to, field::SEQUENCE_FLAGS, STATE_CLEARED);
            number(to, field::TIMESTAMP, time);
            message(to, field::CLOCK_SNAPSHOT, |to| {
                // With the real time as the second clock, Perfetto can show its own clock's times
                // as dates.
                for clock in [BOOTTIME, REALTIME] {
                    message(to, field::CLOCK, |to| {
                        number(to, field::CLOCK_ID, clock);
                        number(to, field::CLOCK_TIME, time);
                    });
                }
            });
        })?;
        self.descriptor(PROCESS, |to| {
            message(to, field::PROCESS, |to| {
                number(to, field::PID, std::process::id().into());
                bytes(to, field::PROCESS_NAME, program::name().as_bytes());
            });
        })
    }

    /// Writes the gathered bytes that were not written yet.
    pub(super) fn end(self) -> io::Result<()> {
        self.to.write_all(&self.bytes)?;
        self.to.flush()
    }

    /// Describes a thread's track.
    pub(super) fn thread(&mut self, track: u64, id: u64, name: &str) -> io::Result<()> {
        self.descriptor(track, |to| {
            message(to, field::THREAD, |to| {
                number(to, field::PID, std::process::id().into());
                number(to, field::TID, id);
                bytes(to, field::THREAD_NAME, name.as_bytes());
            });
        })
    }

    /// Describes a track of the process without a thread. Perfetto shows all tracks with this name
    /// as one track.
    pub(super) fn tasks(&mut self, track: u64) -> io::Result<()> {
        self.descriptor(track, |to| {
            number(to, field::PARENT, PROCESS);
            bytes(to, field::TRACK_NAME, b"tasks");
        })
    }

    /// Begins a span.
    pub(super) fn slice_begin(
        &mut self,
        track: u64,
        time: u64,
        write: impl FnOnce(&mut TrackEvent<'_>),
    ) -> io::Result<()> {
        self.event(SLICE_BEGIN, track, time, write)
    }

    /// Ends the innermost span of a track.
    pub(super) fn slice_end(&mut self, track: u64, time: u64) -> io::Result<()> {
        self.event(SLICE_END, track, time, |_| {})
    }

    pub(super) fn instant(
        &mut self,
        track: u64,
        time: u64,
        write: impl FnOnce(&mut TrackEvent<'_>),
    ) -> io::Result<()> {
        self.event(INSTANT, track, time, write)
    }

    fn event(
        &mut self,
        kind: u64,
        track: u64,
        time: u64,
        write: impl FnOnce(&mut TrackEvent<'_>),
    ) -> io::Result<()> {
        self.packet(EVENTS, |to| {
            number(to, field::TIMESTAMP, time);
            message(to, field::TRACK_EVENT, |to| {
                number(to, field::TYPE, kind);
                number(to, field::EVENT_TRACK, track);
                write(&mut TrackEvent(to));
            });
        })
    }

    fn descriptor(&mut self, track: u64, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.packet(DESCRIPTORS, |to| {
            message(to, field::TRACK_DESCRIPTOR, |to| {
                number(to, field::TRACK, track);
                write(to);
            });
        })
    }

    fn packet(&mut self, writer: u64, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        message(&mut self.bytes, field::PACKET, |to| {
            number(to, field::SEQUENCE, writer);
            write(to);
        });
        if self.bytes.len() >= WRITTEN {
            self.to.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}

/// The fields of a `TrackEvent`.
pub(super) struct TrackEvent<'a>(&'a mut Vec<u8>);

impl TrackEvent<'_> {
    pub(super) fn name(&mut self, name: &str) {
        bytes(self.0, field::NAME, name.as_bytes());
    }

    pub(super) fn category(&mut self, category: &str) {
        bytes(self.0, field::CATEGORY, category.as_bytes());
    }

    pub(super) fn place(&mut self, site: &Site<'_>) {
        let Some(file) = site.file else { return };
        message(self.0, field::SOURCE_LOCATION, |to| {
            bytes(to, field::FILE, file.as_bytes());
            if let Some(line) = site.line {
                number(to, field::LINE, line.into());
            }
        });
    }

    /// Begins the arrow with the number `arrow`.
    pub(super) fn arrow_from(&mut self, arrow: u64) {
        fixed_64(self.0, field::FLOW, arrow);
    }

    /// Ends the arrow with the number `arrow`.
    pub(super) fn arrow_to(&mut self, arrow: u64) {
        fixed_64(self.0, field::TERMINATING_FLOW, arrow);
    }

    pub(super) fn annotation(&mut self, key: &str, value: Value<'_>) {
        message(self.0, field::ANNOTATION, |to| {
            bytes(to, field::KEY, key.as_bytes());
            annotation(to, value);
        });
    }
}

/// Appends the value of a `DebugAnnotation`. An integer that does not fit in an `i64` is written as
/// text, since Perfetto does not show it otherwise.
fn annotation(to: &mut Vec<u8>, value: Value<'_>) {
    match (value, integer(value)) {
        (_, Some(value)) => number(to, field::INT, value),
        (Value::Bool(value), _) => number(to, field::BOOL, value.into()),
        (Value::F64(value), _) => fixed_64(to, field::DOUBLE, value.to_bits()),
        (Value::Str(text), _) => bytes(to, field::STRING, text.as_bytes()),
        (Value::Json(json), _) => bytes(to, field::JSON, json.as_bytes()),
        (Value::Error(chain), _) => {
            bytes(to, field::STRING, adapter::joined(chain).as_bytes());
        }
        (value, _) => bytes(to, field::STRING, value.to_string().as_bytes()),
    }
}
