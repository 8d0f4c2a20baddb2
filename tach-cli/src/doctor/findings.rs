//! Conclusions from the evidence, each with the change that would help.

mod machine;
mod measured;
mod source;
mod utc;

use serde::Serialize;

use super::evidence::Evidence;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Severity {
    /// Worth knowing.
    Note,
    /// The clock is true, and could be better.
    Advice,
    /// The clock costs much more than it should, or can't be trusted.
    Problem,
}

/// A conclusion, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// A stable code, for machines.
    pub(crate) code: &'static str,
    pub(crate) text: String,
    /// The change that would help, if there is one.
    pub(crate) remedy: Option<String>,
}

/// Returns the conclusions, the worst first. `needs_utc` is whether an unknown distance from UTC is a
/// problem.
pub(crate) fn findings(evidence: &Evidence, needs_utc: bool) -> Vec<Finding> {
    let mut all = Vec::new();
    for add in [source::add, measured::add, utc::add, machine::add] {
        add(evidence, &mut all);
    }
    if needs_utc {
        let of_utc = all.iter_mut().filter(|finding| finding.is_of_utc());
        of_utc.for_each(|finding| finding.severity = Severity::Problem);
    }
    all.sort_by_key(|finding| core::cmp::Reverse(finding.severity));
    all
}

fn finding(severity: Severity, code: &'static str, text: impl Into<String>) -> Finding {
    Finding { severity, code, text: text.into(), remedy: None }
}

impl Finding {
    fn with(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// Returns whether this finding says that the clock's distance from UTC is unknown.
    pub(crate) fn is_of_utc(&self) -> bool {
        ["not-synchronized", "ntp-unknown"].contains(&self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::Severity::{Advice, Note, Problem};
    use super::*;
    use crate::doctor::costs::Cost;
    use crate::doctor::evidence::{Counter, Ntp};
    use crate::doctor::files::Device;
    use crate::doctor::host::Host;
    use crate::doctor::os_clock::OsClock;
    use crate::doctor::skew::Offset;
    use crate::drift::Summary;

    /// A host without findings, except that the build is a debug build.
    fn calm() -> Evidence {
        let host = Host {
            clocksource: Some("tsc".to_owned()),
            available_clocksources: Some("tsc hpet".to_owned()),
            ..Host::default()
        };
        Evidence {
            tach: "0",
            time: String::new(),
            os_clock: Some(OsClock::default()),
            platform: "linux x86_64".to_owned(),
            source: "counter",
            reason: "kernel-uses-counter",
            reason_text: "because".to_owned(),
            order: "ordered-read",
            ignored_variables: Vec::new(),
            counter: Counter { name: Some("tsc"), is_invariant: true, declared_hz: None },
            measured_hz: None,
            host,
            ntp: Some(Ntp { is_synchronized: true, estimated_error_ns: 1, max_error_ns: 2 }),
            skew: Some(vec![Offset { core: 1, ns: 30.0, bound_ns: 60.0 }]),
            costs: vec![Cost { name: "std Instant", ns: 25.0 }],
            errors: vec![error(5.0, 10.0)],
        }
    }

    fn error(median_ns: f64, resolution_ns: f64) -> Summary {
        Summary {
            name: "tach",
            seconds: 3.0,
            comparisons: 9,
            median_ns,
            max_ns: 2e3,
            last_ns: 0.0,
            drift_ppb: 0.0,
            resolution_ns,
        }
    }

    /// Returns the severities and codes of a host that differs from the calm one by `change`.
    fn found(change: impl FnOnce(&mut Evidence)) -> Vec<(Severity, &'static str)> {
        let mut evidence = calm();
        change(&mut evidence);
        let all = findings(&evidence, false);
        assert!(all.is_sorted_by_key(|finding| core::cmp::Reverse(finding.severity)));
        let all = all.iter().filter(|finding| finding.code != "debug-build");
        all.map(|finding| (finding.severity, finding.code)).collect()
    }

    fn by_os(evidence: &mut Evidence, reason: &'static str) {
        (evidence.source, evidence.reason) = ("os", reason);
    }

    #[test]
    fn a_calm_host_has_no_findings() {
        assert_eq!(found(|_| ()), []);
    }

    #[test]
    fn each_reason_has_its_finding() {
        let cases = [
            ("kernel-clock-built-on-counter", None),
            ("kernel-verdict-unknown", Some((Advice, "kernel-verdict-unknown"))),
            ("counter-not-invariant", Some((Problem, "counter-not-invariant"))),
            ("counter-disabled", Some((Problem, "counter-disabled"))),
            ("no-counter", Some((Note, "no-counter"))),
            ("call", Some((Note, "forced"))),
            ("counter-stopped", Some((Problem, "counter-failed"))),
            ("os-clock-slowed", Some((Problem, "os-clock-slowed"))),
            ("counter-near-end", Some((Note, "counter-near-end"))),
            ("os-clock-regressed", Some((Problem, "os-clock-bad"))),
        ];
        for (reason, expected) in cases {
            assert_eq!(found(|host| by_os(host, reason)), Vec::from_iter(expected), "{reason}");
        }
    }

    #[test]
    fn a_kernel_that_avoids_the_counter_has_one_of_several_reasons() {
        let avoided = |change: fn(&mut Evidence)| {
            found(|evidence| {
                by_os(evidence, "kernel-avoids-counter");
                evidence.host.clocksource = Some("hpet".to_owned());
                change(evidence);
            })
        };
        assert_eq!(avoided(|_| ()), [(Problem, "kernel-avoids-counter")]);
        let unstable = avoided(|evidence| {
            evidence.host.available_clocksources = Some("hpet acpi_pm".to_owned());
        });
        assert_eq!(unstable, [(Problem, "counter-unstable")]);
        let elsewhere = avoided(|evidence| evidence.host.clocksource = None);
        assert_eq!(elsewhere, [(Problem, "system-avoids-counter")]);
        // On an emulated CPU slow clocks need no remedy.
        let emulated = avoided(|evidence| {
            evidence.counter.name = Some("arch_sys_counter");
            evidence.host.clocksource = Some("tsc".to_owned());
            evidence.costs[0].ns = 900.0;
        });
        assert_eq!(emulated, [(Note, "emulated")]);
    }

    #[test]
    fn a_forced_counter_is_a_problem_if_the_kernel_avoids_it() {
        let forced = |clocksource: &str| {
            found(|evidence| {
                evidence.reason = "environment";
                evidence.host.clocksource = Some(clocksource.to_owned());
            })
        };
        assert_eq!(forced("tsc"), [(Note, "forced")]);
        assert_eq!(forced("kvm-clock"), [(Note, "forced")]);
        assert_eq!(forced("hpet"), [(Problem, "forced-counter")]);
    }

    #[test]
    fn skew_is_a_problem_if_its_bound_excludes_none() {
        let skewed = |ns, bound_ns| {
            found(|evidence| evidence.skew = Some(vec![Offset { core: 3, ns, bound_ns }]))
        };
        assert_eq!(skewed(-5_000.0, 80.0), [(Problem, "skew")]);
        assert_eq!(skewed(900.0, 850.0), []);
        assert_eq!(found(|evidence| evidence.skew = None), []);
    }

    #[test]
    fn measured_costs_and_errors_are_advice() {
        assert_eq!(found(|evidence| evidence.costs[0].ns = 151.0), [(Advice, "os-clock-slow")]);
        let erring = found(|evidence| evidence.errors.push(error(1001.0, 1.0)));
        assert_eq!(erring, [(Advice, "timeline-error")]);
    }

    #[test]
    fn the_machine_around_has_findings() {
        let in_machine = |change: fn(&mut Host)| found(|evidence| change(&mut evidence.host));
        let virtual_machine = |host: &mut Host| host.hypervisor = Some("KVM".to_owned());
        assert_eq!(in_machine(virtual_machine), [(Note, "no-vmclock")]);
        let without_driver = in_machine(|host| {
            host.hypervisor = Some("KVM".to_owned());
            host.vmclock = Device::NoDriver;
        });
        assert_eq!(without_driver, [(Note, "vmclock-without-driver")]);
        let unreadable = in_machine(|host| {
            host.hypervisor = Some("KVM".to_owned());
            host.vmclock = Device::Unreadable;
        });
        assert_eq!(unreadable, [(Advice, "vmclock-unreadable")]);
        assert_eq!(in_machine(|host| host.sandboxes.push("WSL")), [(Advice, "wsl")]);
        let unsynchronized =
            found(|evidence| evidence.ntp.as_mut().unwrap().is_synchronized = false);
        assert_eq!(unsynchronized, [(Advice, "not-synchronized")]);
        let mut evidence = calm();
        evidence.ntp.as_mut().unwrap().is_synchronized = false;
        assert_eq!(findings(&evidence, true)[0].severity, Problem);
        assert_eq!(found(|evidence| evidence.ntp = None), [(Note, "ntp-unknown")]);
    }

    #[test]
    fn what_is_known_to_no_microsecond_is_neither_good_nor_bad() {
        // With this bound, a skew is neither shown nor excluded.
        let busy = found(|evidence| {
            let core = Offset { core: 1, ns: 19_790_000.0, bound_ns: 27_780_000.0 };
            evidence.skew = Some(vec![core]);
        });
        assert_eq!(busy, [(Note, "not-measured")]);
        let silent = found(|evidence| evidence.skew = Some(vec![Offset::unknown(1)]));
        assert_eq!(silent, busy);
        // A skew of milliseconds is reported even if its bound is some microseconds.
        let skewed = found(|evidence| {
            let core = Offset { core: 1, ns: 19_790_000.0, bound_ns: 5_000.0 };
            evidence.skew = Some(vec![core]);
        });
        assert_eq!(skewed, [(Problem, "skew"), (Note, "not-measured")]);
        let interrupted = |evidence: &mut Evidence| evidence.errors.push(error(9e6, 1_001.0));
        assert_eq!(found(interrupted), [(Note, "not-measured")]);
        let mut evidence = calm();
        interrupted(&mut evidence);
        let all = findings(&evidence, false);
        let text = &all.iter().find(|one| one.code == "not-measured").unwrap().text;
        assert!(text.contains(": the error of tach. The reason: the machine is busy."));
        evidence.costs[0].ns = 1_500.0;
        assert_eq!(evidence.why_not_measured(), "a read of the OS clock takes 1.50 µs");
    }

    #[test]
    fn a_replaced_clock_is_a_problem() {
        let lying = found(|evidence| {
            evidence.os_clock = Some(OsClock { monotonic_off_ns: 0, realtime_off_ns: -10_001 });
        });
        assert_eq!(lying, [(Problem, "os-clock-replaced")]);
        assert_eq!(found(|evidence| evidence.os_clock = None), []);
    }
}
