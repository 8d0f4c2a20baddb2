//! chronyd's own statement, by `chronyc tracking`.

use serde::Serialize;

use super::{ns, output};

/// The state of chronyd (chronyc(1), "tracking").
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Chrony {
    pub(crate) is_synchronized: bool,
    /// The address or the name of the source.
    pub(crate) source: String,
    pub(crate) stratum: u32,
    /// The real-time clock minus chronyd's estimate of UTC, without its sign.
    pub(crate) offset_ns: f64,
    /// The greatest distance from UTC: the offset, the root's dispersion, and half its delay.
    pub(crate) max_error_ns: f64,
}

/// Asks chronyd, if it runs. It answers everybody on this machine.
pub(super) fn ask() -> Option<Chrony> {
    parse(&output("chronyc", &["-n", "-c", "tracking"])?)
}

/// Parses the fields: reference, source, stratum, time, offset, last offset, its mean, frequency,
/// residual frequency, skew, root delay, root dispersion, interval, leap status.
fn parse(text: &str) -> Option<Chrony> {
    let line = text.lines().next()?;
    let fields: Vec<_> = line.split(',').collect();
    let &[reference, source, stratum, _, offset, _, _, _, _, _, delay, dispersion, _, leap] =
        fields.as_slice()
    else {
        return None;
    };
    let offset_ns = ns(offset)?.abs();
    let source = if source.is_empty() { local(reference) } else { source.to_owned() };
    Some(Chrony {
        is_synchronized: leap.trim() != "Not synchronised",
        source,
        stratum: stratum.parse().ok()?,
        offset_ns,
        max_error_ns: offset_ns + ns(dispersion)? + ns(delay)? / 2.0,
    })
}

/// Returns the name of a source without an address: a reference clock's, whose four letters are in
/// hexadecimal.
fn local(reference: &str) -> String {
    let number = u32::from_str_radix(reference, 16).unwrap_or(0);
    let letters = String::from_utf8_lossy(&number.to_be_bytes()).trim_end_matches('\0').to_owned();
    let is_name = !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_name { letters } else { reference.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_an_offset_and_a_bound() {
        // By chrony 4.3.
        let text = "7F000001,127.0.0.1,9,1795715101.104452293,-0.000002581,0.000000207,\
                    0.000000534,1.308,0.006,5.763,0.000008878,0.000002220,0.3,Normal\n";
        let chrony = parse(text).unwrap();
        assert!(chrony.is_synchronized);
        assert_eq!((&*chrony.source, chrony.stratum), ("127.0.0.1", 9));
        assert!((chrony.offset_ns - 2_581.0).abs() < 1e-3, "{chrony:?}");
        assert!((chrony.max_error_ns - 9_240.0).abs() < 1e-3, "{chrony:?}");
    }

    #[test]
    fn a_daemon_without_a_source_is_not_synchronized() {
        let text = "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,\
                    1.000000000,1.000000000,0.0,Not synchronised\n";
        let chrony = parse(text).unwrap();
        assert_eq!((chrony.is_synchronized, &*chrony.source), (false, "00000000"));
    }

    #[test]
    fn a_reference_clock_has_a_name() {
        assert_eq!((&*local("50484330"), &*local("7F7F0101")), ("PHC0", "7F7F0101"));
    }

    #[test]
    fn other_texts_say_nothing() {
        for text in ["", "506 Cannot talk to daemon\n", "a,b,c\n"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
