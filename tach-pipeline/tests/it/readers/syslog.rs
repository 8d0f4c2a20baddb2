//! rsyslogd and syslog-ng: by UDP, by TCP with both framings, and by a socket as `/dev/log`.

use core::time::Duration;
use std::fs;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tach_pipeline::{Pipeline, Sink, Syslog};

use super::{Running, Seen, log, reader, records, wait_until, wait_until_idle};
use crate::support::{Folder, LONG};

/// The names of the program, one for each way to send. `old` and `old-lf` send without the bound.
const ROADS: [&str; 4] = ["udp", "tcp", "lf", "unix"];
/// How many records are sent without the bound.
const OLD: usize = 4_000;

/// Where a daemon listens.
struct Ports {
    udp: u16,
    tcp: u16,
    lf: u16,
}

impl Ports {
    /// Returns ports that are free now.
    fn free() -> Self {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let [tcp, lf] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        Self {
            udp: udp.local_addr().unwrap().port(),
            tcp: tcp.local_addr().unwrap().port(),
            lf: lf.local_addr().unwrap().port(),
        }
    }
}

fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

/// Returns the sink for a way to send, with the way as the program's name.
fn sink(road: &str, ports: &Ports, folder: &Folder) -> Sink {
    let at = |port| format!("127.0.0.1:{port}");
    let host = host();
    let syslog = match road {
        "udp" => Syslog::udp(&at(ports.udp)).host_name(&host),
        "tcp" | "old" => Syslog::tcp(&at(ports.tcp)).host_name(&host),
        "lf" | "old-lf" => Syslog::tcp(&at(ports.lf)).host_name(&host).lf_framing(),
        _ => Syslog::unix(folder.path("log")),
    };
    let sink = Sink::syslog(syslog.app_name(road)).stall_timeout(Duration::MAX);
    let sink = if road.starts_with("old") { sink.max_line_bytes(usize::MAX) } else { sink };
    sink.name(road).into()
}

/// Logs the records by these roads at once.
fn send(roads: &[&str], count: usize, ports: &Ports, folder: &Folder) {
    let builder = roads
        .iter()
        .fold(Pipeline::builder(), |builder, road| builder.sink(sink(road, ports, folder)));
    let guard = builder.build().unwrap();
    log(guard.pipeline(), "a", 0..count);
    let flushed = guard.pipeline().flush(LONG * 10);
    let stats = guard.pipeline().stats();
    for sink in stats.sinks() {
        assert_eq!(sink.dropped(), 0, "{sink:?}");
    }
    // A daemon may close a connection whose messages it can't read.
    assert!(flushed.is_ok() || roads[0].starts_with("old"), "{flushed:?}");
}

/// Returns what the daemon has received by each road after the first bytes of its file, and what it
/// takes for other programs'.
fn received(path: &Path, start: usize) -> ([Seen; 4], Seen) {
    let host = host();
    let mut seen = ROADS.map(|_| Seen::default());
    let mut others = Seen::default();
    let text = fs::read(path).unwrap();
    for line in String::from_utf8_lossy(&text[start..]).lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let part = |key: &str| message[key].as_str().unwrap_or_default();
        let road = ROADS.iter().position(|road| *road == part("app"));
        let text = part("msg").trim_start().strip_prefix("app: ");
        let is_ours = part("host") == host && part("severity") == "6" && part("facility") == "user";
        match (road, text) {
            (Some(road), Some(text)) if is_ours => seen[road].take_line(text),
            _ => others.forge(line),
        }
    }
    (seen, others)
}

fn check(start: impl Fn(&Folder, &Ports) -> Option<Command>, name: &str) {
    let (folder, ports) = (Folder::new(name), Ports::free());
    let Some(mut daemon) = start(&folder, &ports) else { return };
    let daemon = daemon.stdin(Stdio::null()).spawn().unwrap();
    let _daemon = Running(daemon);
    for port in [ports.tcp, ports.lf] {
        wait_until("the daemon listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    }
    wait_until("the daemon has its socket", || folder.path("log").exists());
    // The control: without the bound, messages are lost or forged.
    let out = folder.path("out");
    send(&["old", "old-lf"], OLD, &ports, &folder);
    wait_until_idle(&out);
    let bytes = fs::read(&out).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let sound =
        |road: &str| text.lines().filter(|line| line.contains(&format!("{road:?}"))).count();
    let (forged, old) = (received(&out, 0).1.forged.len(), ["old", "old-lf"].map(sound));
    let forged = forged - old.iter().sum::<usize>();
    eprintln!("{name}, without the bound: of {OLD} {old:?} received, {forged} forged");
    assert!(forged > 0 || old != [OLD; 2]);
    let (count, start) = (records(), bytes.len());
    send(&ROADS, count, &ports, &folder);
    wait_until_idle(&out);
    let (seen, others) = received(&out, start);
    others.assert_none_forged();
    for (road, seen) in ROADS.iter().zip(&seen) {
        let (lost, double) = seen.lost_and_double("a", count);
        eprintln!("{name}, {road}: {count} sent, {lost} lost, {double} double, {} cut", seen.cut);
        seen.assert_none_forged();
        assert!(double == 0 && lost < count, "{road}");
        // UDP loses what the daemon's buffer has no room for.
        assert!(*road == "udp" || lost == 0 && seen.cut > 0, "{road}");
    }
}

#[test]
fn rsyslogd_reads_each_message_once_and_none_that_is_forged() {
    let start = |folder: &Folder, ports: &Ports| {
        let mut rsyslogd = reader("rsyslogd")?;
        let (path, out) = (folder.path("rsyslog.conf"), folder.path("out"));
        let property = |outname: &str, name: &str| {
            format!(r#"property(outname="{outname}" name="{name}" format="jsonf")"#)
        };
        let parts = [
            property("host", "hostname"),
            property("app", "programname"),
            property("severity", "syslogseverity"),
            property("facility", "syslogfacility-text"),
            property("msg", "msg"),
        ];
        let parts = parts.join(r#" constant(value=",") "#);
        let Ports { udp, tcp, lf } = ports;
        let configuration = format!(
            r#"
global(workDirectory="{folder}" net.enableDNS="off" localHostname="{host}")
module(load="imudp")
module(load="imtcp")
module(load="imuxsock" SysSock.Use="off")
main_queue(queue.type="linkedList" queue.size="100000" queue.timeoutEnqueue="600000")
template(name="json" type="list") {{ constant(value="{{") {parts} constant(value="}}\n") }}
input(type="imudp" address="127.0.0.1" port="{udp}")
input(type="imtcp" address="127.0.0.1" port="{tcp}")
input(type="imtcp" address="127.0.0.1" port="{lf}")
input(type="imuxsock" socket="{folder}/log" rateLimit.interval="0")
if $syslogtag contains "rsyslogd" then stop
action(type="omfile" file="{out}" template="json")
"#,
            folder = folder.path("").display(),
            host = host(),
            out = out.display(),
        );
        fs::write(&path, configuration).unwrap();
        rsyslogd.args(["-n", "-C", "-f"]).arg(path).arg("-i").arg(folder.path("pid"));
        Some(rsyslogd)
    };
    check(start, "rsyslogd");
}

#[test]
fn syslog_ng_reads_each_message_once_and_none_that_is_forged() {
    let start = |folder: &Folder, ports: &Ports| {
        let mut daemon = reader("syslog-ng")?;
        let path = folder.path("syslog-ng.conf");
        let Ports { udp, tcp, lf } = ports;
        let configuration = format!(
            r#"
@version: 3.38
options {{ keep-hostname(yes); use-dns(no); chain-hostnames(no); stats-freq(0); }};
source s {{
  syslog(ip("127.0.0.1") port({udp}) transport("udp"));
  syslog(ip("127.0.0.1") port({tcp}) transport("tcp"));
  network(ip("127.0.0.1") port({lf}) transport("tcp") flags(syslog-protocol));
  unix-dgram("{folder}/log");
}};
destination d {{
  file("{folder}/out" template("$(format-json host=$HOST app=$PROGRAM severity=$LEVEL_NUM facility=$FACILITY msg=$MSG)\n"));
}};
log {{ source(s); destination(d); flags(flow-control); }};
"#,
            folder = folder.path("").display(),
        );
        fs::write(&path, configuration).unwrap();
        daemon.args(["-F", "--no-caps", "-f"]).arg(path);
        for (option, file) in [("-R", "persist"), ("-p", "pid"), ("-c", "ctl")] {
            daemon.arg(option).arg(folder.path(file));
        }
        Some(daemon)
    };
    check(start, "syslog-ng");
}
