//! `tach doctor`, on this host and on hosts made of files.

use serde_json::Value;

use crate::support::{Folder, Run, run, tach};

/// The files of a host: paths below its root, and their content.
type Files = &'static [(&'static str, &'static str)];

const CURRENT: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";
const FLAGS: (&str, &str) = (
    "proc/cpuinfo",
    "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu tsc rdtscp constant_tsc nonstop_tsc\n",
);

fn doctor(name: &str, files: Files) -> Run {
    let folder = Folder::new(&format!("doctor-{name}"));
    for (path, text) in files {
        folder.write(path, text);
    }
    run(tach(&["doctor", "--json", "--for", "50ms", "--root"]).arg(folder.path()))
}

fn codes(json: &Value) -> Vec<&str> {
    json["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}

/// Returns the remedy of the finding with this code.
fn remedy<'a>(json: &'a Value, code: &str) -> &'a str {
    let findings = json["findings"].as_array().unwrap();
    let found = findings.iter().find(|one| one["code"] == code);
    found.and_then(|one| one["remedy"].as_str()).unwrap_or_else(|| panic!("{code} in {json}"))
}

/// Whether the hosts below can have a counter: tach reads one on this platform, and this CPU
/// declares it invariant.
fn has_tsc() -> bool {
    let counter = &run(&mut tach(&["doctor", "--json", "--for", "1ms"])).json()["counter"];
    counter["name"] == "tsc" && counter["is_invariant"] == true
}

#[test]
fn a_trusted_counter_is_good() {
    if !has_tsc() {
        return;
    }
    let found = doctor("tsc", &[(CURRENT, "tsc\n"), (AVAILABLE, "tsc hpet acpi_pm \n"), FLAGS]);
    let json = found.json();
    assert_eq!(
        (&json["source"], &json["reason"]),
        (&"counter".into(), &"kernel-uses-counter".into())
    );
    assert_ne!(json["verdict"], "bad", "{json}");
    assert_eq!(found.status, Some(0), "{json}");
    let flags = ["tsc", "rdtscp", "constant_tsc", "nonstop_tsc"];
    assert_eq!(json["host"]["tsc_flags"], Value::from(flags.to_vec()));
    assert_eq!(json["host"]["hypervisor"], Value::Null);
}

#[test]
fn an_unstable_tsc_is_bad() {
    if !has_tsc() {
        return;
    }
    let found = doctor("unstable", &[(CURRENT, "hpet\n"), (AVAILABLE, "hpet acpi_pm \n"), FLAGS]);
    let json = found.json();
    assert_eq!((&json["source"], &json["verdict"]), (&"os".into(), &"bad".into()));
    assert_eq!(codes(&json)[0], "counter-unstable");
    assert!(remedy(&json, "counter-unstable").contains("dmesg"));
    assert_eq!(found.status, Some(1));
}

#[test]
fn a_guest_of_xen_is_advised_to_switch() {
    if !has_tsc() {
        return;
    }
    let found = doctor(
        "xen",
        &[
            (CURRENT, "xen\n"),
            (AVAILABLE, "xen tsc hpet acpi_pm \n"),
            ("sys/hypervisor/type", "xen\n"),
        ],
    );
    let json = found.json();
    assert_eq!((&json["source"], &json["host"]["hypervisor"]), (&"os".into(), &"Xen".into()));
    assert_eq!(codes(&json)[0], "kernel-avoids-counter");
    assert!(remedy(&json, "kernel-avoids-counter").contains("echo tsc > /sys/devices"));
    assert!(codes(&json).contains(&"no-vmclock"));
    assert_eq!(found.status, Some(1));
}

#[test]
fn a_kernel_parameter_is_named() {
    if !has_tsc() {
        return;
    }
    let found = doctor(
        "parameter",
        &[
            (CURRENT, "hpet\n"),
            (AVAILABLE, "hpet tsc\n"),
            ("proc/cmdline", "quiet clocksource=hpet root=/dev/vda\n"),
        ],
    );
    let json = found.json();
    assert_eq!(json["host"]["kernel_parameters"], Value::from(vec!["clocksource=hpet"]));
    assert!(remedy(&json, "kernel-avoids-counter").starts_with("Remove clocksource=hpet"));
}

#[test]
fn without_sys_the_counter_is_trusted_provisionally() {
    if !has_tsc() {
        return;
    }
    let found = doctor("no-sys", &[]);
    let json = found.json();
    assert_eq!((&json["source"], &json["order"]), (&"counter".into(), &"enforced".into()));
    assert!(remedy(&json, "kernel-verdict-unknown").contains("/sys"));
    // The kernel that runs the test says whether it is synchronized.
    let is_at_utc = json["ntp"]["is_synchronized"] == true;
    let verdict = if is_at_utc { "good-with-advice" } else { "good-for-durations" };
    assert_eq!((found.status, &json["verdict"]), (Some(0), &verdict.into()));
}

#[test]
fn sandboxes_and_devices_are_found() {
    let found = doctor(
        "sandboxes",
        &[
            (CURRENT, "tsc\n"),
            ("proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"),
            ("proc/self/status", "Name:\ttach\nSeccomp:\t2\nSeccomp_filters:\t1\n"),
            ("proc/cpuinfo", "flags : tsc hypervisor\n"),
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", "m7i.large\n"),
            ("dev/vmclock0", "VCLK"),
            (".dockerenv", ""),
        ],
    );
    let json = found.json();
    let host = &json["host"];
    assert_eq!(host["sandboxes"], Value::from(vec!["gVisor", "container", "seccomp filter"]));
    assert_eq!(host["hypervisor"], "KVM");
    assert_eq!(host["machine"], "Amazon EC2 m7i.large");
    assert_eq!(host["vmclock"], "readable");
    assert!(codes(&json).contains(&"gvisor"), "{json}");
    assert!(!codes(&json).contains(&"no-vmclock"));
}

#[test]
fn this_host_is_judged_by_its_own_clock() {
    let found = run(&mut tach(&["doctor", "--json", "--for", "50ms"]));
    let json = found.json();
    let status = tach_core::status();
    // The tests may be run with TACH_SOURCE, but the child never is: then the two may differ.
    if std::env::var_os("TACH_SOURCE").is_none() {
        assert_eq!(json["source"], status.source.as_str());
        assert_eq!(json["reason"], status.reason.as_str());
    }
    assert_eq!(found.status, Some(i32::from(json["verdict"] == "bad")));
    assert_eq!(json["costs"].as_array().unwrap().len(), 5);
    for error in json["errors"].as_array().unwrap() {
        assert!(error["comparisons"].as_u64().unwrap() > 0, "{error}");
    }
}

#[test]
fn a_forced_source_is_no_problem_and_an_unknown_one_is_ignored() {
    let forced = run(tach(&["doctor", "--json", "--for", "1ms"]).env("TACH_SOURCE", "os"));
    let json = forced.json();
    assert_eq!((&json["source"], &json["reason"]), (&"os".into(), &"environment".into()));
    assert!(remedy(&json, "forced").contains("Unset TACH_SOURCE"));
    let unknown = run(tach(&["doctor", "--json", "--for", "1ms"]).env("TACH_SOURCE", "rtc"));
    assert!(remedy(&unknown.json(), "variable-ignored").contains("\"os\" or \"counter\""));
}

#[test]
fn the_report_for_people_ends_with_the_verdict() {
    let found = run(&mut tach(&["doctor", "--for", "1ms"]));
    let last = found.stdout.lines().last().unwrap();
    assert!(found.stdout.contains("\nVerdict: this host's clock is "), "{last}");
    for heading in ["Clock\n", "\nHost\n", "\nMeasured\n"] {
        assert!(found.stdout.contains(heading), "{heading}");
    }
    let findings = found.stdout.split_once("Findings\n").unwrap().1;
    assert!(findings.lines().all(|line| line.chars().count() <= 100), "{findings}");
    assert_eq!(found.stderr, "");
}

#[test]
fn a_time_that_is_none_is_named() {
    let found = run(&mut tach(&["doctor", "--for", "3 parsecs"]));
    assert_eq!(found.status, Some(2));
    assert!(found.stderr.contains("3 parsecs") && found.stderr.contains("--for"));
}

/// With `--check`, a good host prints nothing.
#[test]
fn a_check_prints_problems_alone() {
    let good = run(&mut tach(&["doctor", "--check", "--for", "1ms"]));
    if good.status == Some(0) {
        assert_eq!((&*good.stdout, &*good.stderr), ("", ""));
    }
    if !has_tsc() {
        return;
    }
    let folder = Folder::new("doctor-check");
    folder.write(CURRENT, "hpet\n");
    folder.write(AVAILABLE, "hpet acpi_pm\n");
    let check = ["doctor", "--check", "--for", "1ms", "--root"];
    let bad = run(tach(&check).arg(folder.path()));
    assert_eq!(bad.status, Some(1));
    assert!(bad.stdout.starts_with("  problem: The kernel keeps its time with hpet"));
    assert!(!bad.stdout.contains("advice") && !bad.stdout.contains("note"), "{}", bad.stdout);
    let json = run(tach(&check).arg(folder.path()).arg("--json")).json();
    assert_eq!(json["verdict"], "bad");
    assert!(json["host"].is_object(), "the whole report: {json}");
}

/// The names of ACPI devices have colons, which Windows's files can't have.
#[cfg(unix)]
#[test]
fn a_device_without_a_driver_is_found() {
    let found = doctor(
        "driver",
        &[
            (CURRENT, "tsc\n"),
            ("proc/cpuinfo", "flags : tsc hypervisor\n"),
            ("sys/bus/acpi/devices/AMZNC10C:00/hid", "AMZNC10C\n"),
            ("sys/hypervisor/type", "kvm\n"),
        ],
    );
    let json = found.json();
    assert_eq!(json["host"]["vmclock"], "no-driver");
    assert!(codes(&json).contains(&"vmclock-without-driver"), "{json}");
}

/// A library that replaces the C library's clock, as libfaketime does.
#[cfg(target_os = "linux")]
#[test]
fn a_clock_that_lies_is_a_problem() {
    let folders = std::fs::read_dir("/usr/lib").unwrap().flatten();
    let installed = folders.map(|folder| folder.path().join("faketime/libfaketime.so.1"));
    let named = std::env::var_os("FAKETIME_LIB").map(std::path::PathBuf::from);
    let Some(library) = named.into_iter().chain(installed).find(|library| library.exists()) else {
        assert_ne!(std::env::var("TACH_TESTS").as_deref(), Ok("all"), "libfaketime is missing");
        eprintln!("NOT RUN: a_clock_that_lies_is_a_problem needs libfaketime");
        return;
    };
    let mut command = tach(&["doctor", "--json", "--for", "1ms"]);
    let found = run(command.env("LD_PRELOAD", &library).env("FAKETIME", "-3d"));
    let json = found.json();
    assert_eq!((found.status, codes(&json)[0]), (Some(1), "os-clock-replaced"), "{json}");
    let off_ns = json["os_clock"]["realtime_off_ns"].as_f64().unwrap();
    assert!((off_ns / 86.4e12 + 3.0).abs() < 1e-3, "{off_ns}");
}
