//! A syslog daemon as a sink.

use std::io;
use std::sync::Arc;

use tach_log::{Event, Format, Line};
use tach_sinks::Syslog;
use tach_sinks::adapter::syslog::{Daemon, LONGEST, Messages};

use super::AnyFormat;
use super::{Sink, kind, severity};

impl Sink {
    /// Sends messages to a syslog daemon. Their text is [`Line`] without time and level, or another
    /// [format](Sink::format).
    ///
    /// If the daemon can't be reached, the sink fails, and tries again. A message has at most 8,096
    /// bytes with its head, unless [`max_line_bytes`](Sink::max_line_bytes) says otherwise: rsyslog
    /// takes no more by default. It would read the rest as messages of their own, whose program,
    /// time and text a client could choose.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tach_log::Json;
    /// use tach_pipeline::{Pipeline, Sink, Syslog};
    ///
    /// let guard = Pipeline::builder()
    ///     .sink(Sink::syslog(Syslog::local()))
    ///     .sink(Sink::syslog(Syslog::udp("logs.example.com:514")).format(Json::new()))
    ///     .build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn syslog(options: Syslog) -> Sink<kind::Stream> {
        let Daemon { name, receiver, faults } = Daemon::of(&options);
        let mut sink = Sink::to(kind::Stream { name, writer: receiver });
        sink.faults.add_all(faults.0);
        sink.common.max_line_bytes = LONGEST;
        // Read the process's number for each pipeline: in a forked child, the messages must have
        // the child's.
        let message = move |format| -> Arc<AnyFormat> {
            Arc::new(Message { messages: Messages::of(&options), format })
        };
        sink.common.envelope = Some(Arc::new(message));
        sink.format(Line::new().without_time().without_level())
    }
}

/// Writes messages of syslog with the text in an inner format.
struct Message {
    messages: Messages,
    format: Arc<AnyFormat>,
}

impl Format for Message {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        let text = |to: &mut Vec<u8>| self.format.write(event, to);
        self.messages.write(to, severity::of(event), event.time(), text)
    }

    fn wants_site(&self) -> bool {
        self.format.wants_site()
    }

    fn wants_thread(&self) -> bool {
        self.format.wants_thread()
    }

    fn renames(&self) -> Vec<(&str, &str)> {
        self.format.renames()
    }

    fn faults(&self) -> Vec<String> {
        self.format.faults()
    }
}
