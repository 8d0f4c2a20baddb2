//! syslog, sent to sockets of this test.

#[cfg(target_os = "linux")]
use core::net::Ipv4Addr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process;

use log::{Level, Log as _, Record};
use tach_core::{ManualClock, UnixTime};
use tach_log::{Event, Format, Json, Part};
use tach_pipeline::{Facility, Pipeline, Sink, Syslog, kind};

use crate::support::{LONG, info};

/// The first example of RFC 5424, section 6.2.3.1, has this time.
static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(482_196_050_520_000_000));

fn pipeline(sink: Sink<kind::Stream>) -> Pipeline {
    let pipeline = Pipeline::builder().sink(sink).filter("trace").with_clock(&CLOCK);
    pipeline.build().unwrap().pipeline().clone()
}

fn log(pipeline: &Pipeline, level: Level, message: &str) {
    let fields = [("k", 1)];
    let mut record = Record::builder();
    record.level(level).target("app::db").key_values(&fields);
    pipeline.log(&record.args(format_args!("{message}")).build());
}

/// Returns the next datagrams as texts.
fn received<const N: usize>(receive: impl Fn(&mut [u8]) -> std::io::Result<usize>) -> [String; N] {
    let mut datagram = vec![0; 1 << 20];
    [(); N].map(|()| {
        let length = receive(&mut datagram).unwrap();
        String::from_utf8(datagram[..length].to_vec()).unwrap()
    })
}

#[cfg(unix)]
mod unix {
    use std::env;
    use std::fs;
    use std::os::unix::net::UnixDatagram;
    use std::path::{Path, PathBuf};
    use std::thread;

    use super::*;

    fn bind(name: &str) -> (PathBuf, UnixDatagram) {
        let path = env::temp_dir().join(format!("tach-syslog-{name}-{}", process::id()));
        let _none_left = fs::remove_file(&path);
        let daemon = UnixDatagram::bind(&path).unwrap();
        daemon.set_read_timeout(Some(LONG)).unwrap();
        (path, daemon)
    }

    /// Closes the daemon's socket. A child that another test starts has the socket too, until it
    /// executes its program.
    fn close(daemon: UnixDatagram, path: &Path) {
        drop(daemon);
        while UnixDatagram::unbound().unwrap().connect(path).is_ok() {
            thread::yield_now();
        }
    }

    /// Each event is a datagram, as RFC 3164 has it. The time and the host are the daemon's.
    #[test]
    fn the_local_daemon_receives_an_event_a_datagram() {
        let (path, daemon) = bind("local");
        let syslog = Syslog::unix(&path).app_name("a[b]: c");
        let pipeline = pipeline(Sink::syslog(syslog.facility(Facility::Daemon)));
        let levels = [Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];
        for level in levels {
            log(&pipeline, level, "two\nlines");
        }
        pipeline.flush(LONG).unwrap();
        let expected = ["27", "28", "30", "31", "31"].map(|priority| {
            format!(r"<{priority}>a_b___c[{}]: app::db: two\nlines k=1", process::id())
        });
        assert_eq!(received(|to| daemon.recv(to)), expected);
        fs::remove_file(path).unwrap();
    }

    /// rsyslog takes the rest of a longer message for a message of its own.
    #[test]
    fn a_message_has_as_many_bytes_as_a_daemon_takes() {
        let (path, daemon) = bind("bound");
        let pipeline = pipeline(Sink::syslog(Syslog::unix(&path).app_name("app")));
        log(&pipeline, Level::Info, &"x".repeat(8_200));
        log(&pipeline, Level::Info, &"\u{1b}".repeat(300_000));
        log(&pipeline, Level::Info, "short");
        pipeline.flush(LONG).unwrap();
        let [plain, escapes, short] = received(|to| daemon.recv(to));
        for long in [plain, escapes] {
            assert!(long.len() <= 8_192 && long.contains(" truncated_bytes="), "{}", long.len());
        }
        assert!(short.ends_with("app::db: short k=1"), "{short}");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_long_event_is_cut_between_characters_and_the_next_one_is_whole() {
        let (path, daemon) = bind("long");
        let sink = Sink::syslog(Syslog::unix(&path).app_name("app"));
        let pipeline = pipeline(sink.max_line_bytes(1_000_000));
        let reader = std::thread::spawn(move || received(|to| daemon.recv(to)));
        log(&pipeline, Level::Info, &"ß".repeat(400_000));
        log(&pipeline, Level::Info, "short");
        pipeline.flush(LONG).unwrap();
        let [long, short] = reader.join().unwrap();
        let head = format!("<14>app[{}]: app::db: ", process::id());
        let text = long.strip_prefix(&head).unwrap();
        assert!(text.len() > 10_000 && text.len() < 800_000, "{}", text.len());
        assert!(text.chars().all(|character| character == 'ß'));
        assert_eq!(short, format!("{head}short k=1"));
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_daemon_that_was_started_anew_receives_the_next_event() {
        let (path, daemon) = bind("anew");
        let pipeline = pipeline(Sink::syslog(Syslog::unix(&path)));
        info(&pipeline, "one");
        pipeline.flush(LONG).unwrap();
        let [one] = received(|to| daemon.recv(to));
        close(daemon, &path);
        let (path, daemon) = bind("anew");
        info(&pipeline, "two");
        pipeline.flush(LONG).unwrap();
        let [two] = received(|to| daemon.recv(to));
        assert!(one.ends_with("app: one") && two.ends_with("app: two"), "{one} {two}");
        // No failure was noticed.
        assert_eq!(pipeline.stats().sinks()[0].failures(), 0);
        // Without a daemon the events wait.
        close(daemon, &path);
        fs::remove_file(&path).unwrap();
        info(&pipeline, "three");
        pipeline.flush(LONG).unwrap_err();
        let (path, daemon) = bind("anew");
        pipeline.flush(LONG).unwrap();
        let [three] = received(|to| daemon.recv(to));
        assert!(three.ends_with("app: three"), "{three}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn udp_carries_messages_of_rfc_5424() {
    let daemon = UdpSocket::bind("127.0.0.1:0").unwrap();
    daemon.set_read_timeout(Some(LONG)).unwrap();
    let address = daemon.local_addr().unwrap().to_string();
    let syslog = Syslog::udp(&address).app_name("my app").host_name("a.example.com");
    let pipeline = pipeline(Sink::syslog(syslog.facility(Facility::Local4)));
    log(&pipeline, Level::Info, "one");
    log(&pipeline, Level::Error, "two");
    pipeline.flush(LONG).unwrap();
    let head = format!("1 1985-04-12T23:20:50.520000Z a.example.com my_app {} - -", process::id());
    let expected =
        [format!("<166>{head} app::db: one k=1"), format!("<163>{head} app::db: two k=1")];
    assert_eq!(received(|to| daemon.recv(to)), expected);
}

#[cfg(feature = "slog")]
#[test]
fn a_critical_record_has_its_own_severity_and_the_host_is_known() {
    let daemon = UdpSocket::bind("127.0.0.1:0").unwrap();
    daemon.set_read_timeout(Some(LONG)).unwrap();
    let address = daemon.local_addr().unwrap().to_string();
    let pipeline = pipeline(Sink::syslog(Syslog::udp(&address)));
    slog::crit!(slog::Logger::root(pipeline.clone(), slog::o!()), "text");
    pipeline.flush(LONG).unwrap();
    let [message] = received(|to| daemon.recv(to));
    assert!(message.starts_with("<10>1 1985-04-12T23:20:50.520000Z "), "{message}");
    let host = message.split(' ').nth(2).unwrap();
    assert!(!host.is_empty() && (host != "-" || cfg!(not(unix))), "{message}");
}

/// Returns the messages of a connection, each after its length, up to the end or a number.
fn messages(stream: TcpStream, most: usize) -> Vec<String> {
    let mut stream = BufReader::new(stream);
    let mut messages = Vec::new();
    while messages.len() < most {
        let mut length = Vec::new();
        stream.read_until(b' ', &mut length).unwrap();
        let Some(length) = length.strip_suffix(b" ") else { break };
        let length: usize = core::str::from_utf8(length).unwrap().parse().unwrap();
        let mut message = vec![0; length];
        stream.read_exact(&mut message).unwrap();
        messages.push(String::from_utf8(message).unwrap());
    }
    messages
}

/// Returns the connection that was made before.
fn connected(daemon: &TcpListener) -> TcpStream {
    daemon.set_nonblocking(true).unwrap();
    let (stream, _) = daemon.accept().unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
}

#[test]
fn tcp_carries_each_message_after_its_length_also_over_a_new_connection() {
    let daemon = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = daemon.local_addr().unwrap().to_string();
    let sink = Sink::syslog(Syslog::tcp(&address).app_name("app").host_name("host"));
    let pipeline = pipeline(sink.format(Json::empty().with("msg", Part::Message)));
    let head = format!("1 1985-04-12T23:20:50.520000Z host app {} - -", process::id());
    let expected = |text: &str| format!(r#"<14>{head} {{"msg":"{text}","k":1}}"#);

    log(&pipeline, Level::Info, "one");
    log(&pipeline, Level::Info, "größe");
    pipeline.flush(LONG).unwrap();
    let stream = connected(&daemon);
    assert_eq!(messages(stream, 2), [expected("one"), expected("größe")]);

    // The connection is closed now, which the next write notices.
    log(&pipeline, Level::Info, "three");
    pipeline.flush(LONG).unwrap();
    let stream = connected(&daemon);
    drop(pipeline);
    assert_eq!(messages(stream, 1), [expected("three")]);
}

/// Writes the message as it is.
struct Raw;

impl Format for Raw {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> std::io::Result<()> {
        to.extend_from_slice(event.message().as_bytes());
        Ok(())
    }
}

#[test]
fn tcp_carries_messages_that_end_with_a_line_feed_and_contain_no_other() {
    let daemon = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = daemon.local_addr().unwrap().to_string();
    let syslog = Syslog::tcp(&address).rfc3164().app_name("app").lf_framing();
    let pipeline = pipeline(Sink::syslog(syslog).format(Raw));
    for message in ["one", "two\nlines", "\n\nmany\n\n", ""] {
        info(&pipeline, message);
    }
    pipeline.flush(LONG).unwrap();
    let stream = connected(&daemon);
    drop(pipeline);
    let lines: Vec<_> = BufReader::new(stream).lines().map(Result::unwrap).collect();
    let expected = ["one", r"two\nlines", r"\n\nmany\n", ""];
    assert_eq!(lines, expected.map(|text| format!("<14>app[{}]: {text}", process::id())));
}

#[test]
fn the_options_of_a_format_within_messages_are_asked_for() {
    let sink = Sink::syslog(Syslog::udp("127.0.0.1:9")).format(Json::new().without("time"));
    let error = Pipeline::builder().sink(sink).build().unwrap_err().to_string();
    assert!(error.contains(r#"Json::without("time"): no part had this key"#), "{error}");
}

/// A busy machine may refuse a datagram after the flush: then that message is lost, as UDP's are.
#[cfg(target_os = "linux")]
#[test]
fn a_message_that_a_host_refuses_is_sent_again() {
    assert!((0..10).any(|_| is_refused_at_once_and_sent_again()), "no refusal comes at once");
}

/// Nothing listens at the port for a while. Returns `false` if a refusal came too late.
#[cfg(target_os = "linux")]
fn is_refused_at_once_and_sent_again() -> bool {
    // At an address of this process alone: another test could get the port while it is free.
    let [.., high, middle, low] = process::id().to_be_bytes();
    let daemon = UdpSocket::bind((Ipv4Addr::new(127, high | 0x40, middle, low), 0)).unwrap();
    let address = daemon.local_addr().unwrap();
    let pipeline = pipeline(Sink::syslog(Syslog::udp(&address.to_string()).rfc3164()));
    info(&pipeline, "before");
    pipeline.flush(LONG).unwrap();
    let [before] = received(|bytes| daemon.recv(bytes));
    assert!(before.ends_with("before"), "{before}");
    drop(daemon);
    for number in 0..20 {
        info(&pipeline, &number.to_string());
        let Err(error) = pipeline.flush(LONG) else { return false };
        assert!(error.to_string().contains("refused"), "{error}");
    }
    let stats = pipeline.stats();
    let sink = &stats.sinks()[0];
    if sink.written() > 1 {
        return false;
    }
    assert!((sink.waiting(), sink.failures() >= 20) == (20, true), "{sink:?}");
    let daemon = UdpSocket::bind(address).unwrap();
    daemon.set_read_timeout(Some(LONG)).unwrap();
    pipeline.flush(LONG).unwrap();
    for (number, message) in (0..20).zip(received::<20>(|bytes| daemon.recv(bytes))) {
        assert!(message.ends_with(&format!(" {number}")), "{message}");
    }
    true
}
