//! A syslog daemon.

use std::io::Write as _;
use std::os::unix::net::UnixDatagram;
use std::{fs, process};

use tach_sinks::{Severity, Syslog};

use crate::Folder;

fn received(daemon: &UnixDatagram) -> String {
    let mut message = vec![0; 20_000];
    let length = daemon.recv(&mut message).unwrap();
    String::from_utf8(message[..length].to_vec()).unwrap()
}

#[test]
fn each_record_is_a_message_and_waits_for_a_daemon_that_starts_late() {
    let folder = Folder::new("syslog");
    let path = folder.0.join("log");
    let syslog = Syslog::unix(&path).app_name("app");
    let mut writer = syslog.open(Severity::Warning).unwrap();
    writeln!(writer, "one").unwrap();
    assert!(writer.flush().is_err());
    let daemon = UnixDatagram::bind(&path).unwrap();
    while writer.flush().is_err() {}
    write!(writer, "{} lines\nof ", 2).unwrap();
    writeln!(writer, "one record").unwrap();
    let head = format!("<12>app[{}]: ", process::id());
    assert_eq!(received(&daemon), format!("{head}one"));
    assert_eq!(received(&daemon), format!("{head}2 lines\nof one record"));
    writeln!(writer, "{:é>9000}", "").unwrap();
    let long = received(&daemon);
    assert!(long.len() <= 8096 && long.len() > 8093 && long.ends_with('é'), "{}", long.len());
    fs::remove_file(&path).unwrap();
}

#[test]
fn an_address_without_a_port_is_a_fault() {
    let error = Syslog::udp("localhost").open(Severity::Info).unwrap_err().to_string();
    assert!(error.contains("Syslog::udp(\"localhost\")") && error.contains("host:port"), "{error}");
}
