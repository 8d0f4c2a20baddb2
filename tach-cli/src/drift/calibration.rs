//! The counter's frequency, by the comparisons of a plain clock with the OS clock.

use serde::Serialize;
use tach_core::{adapter, status};

use super::series::Series;
use crate::measure::as_f64;
use crate::output::{faint, heading};

/// The shortest part of the run whose frequency is drawn. In a shorter part, the errors of the two
/// readings outweigh the frequency's.
const SHORTEST: f64 = 0.05;

/// The frequencies by method.
#[derive(Debug, Serialize)]
pub(super) struct Calibration {
    /// Whether the ticks are those of the counter, or of the OS clock.
    source: &'static str,
    /// The frequency between the first and the last comparison of the run.
    reference_hz: f64,
    /// The reference is known to within this.
    bound_ppb: f64,
    methods: Vec<Method>,
    /// For each later comparison, its time in s, and the error in ppb of the frequency between the
    /// first comparison and this one.
    #[serde(skip)]
    pub(super) errors: Vec<(f64, f64)>,
}

#[derive(Debug, Serialize)]
struct Method {
    name: &'static str,
    hz: f64,
    /// The difference from the reference.
    error_ppb: f64,
}

impl Calibration {
    /// Evaluates the comparisons of a clock that counts ticks at the frequency `plain_hz`.
    pub(super) fn new(plain: &Series, plain_hz: f64) -> Self {
        let points = plain.points();
        let &(start, first_ns) = points.first().unwrap_or(&(0.0, 0.0));
        // In ppb, since one nanosecond a second is one part in a billion.
        let gained = |&(time, error_ns): &(f64, f64)| (error_ns - first_ns) / (time - start);
        let whole = points.last().copied().unwrap_or_default();
        let length = whole.0 - start;
        let gain = if length > 0.0 { gained(&whole) } else { 0.0 };
        let reference_hz = plain_hz * (1.0 + gain / 1e9);
        let method = |name, hz| Method { name, hz, error_ppb: (hz / reference_hz - 1.0) * 1e9 };
        let declared = adapter::cpu_counter().declared_hz.map(as_f64);
        let steered = status().frequency_hz.map(as_f64);
        let methods = [
            declared.map(|hz| method("declared by the CPU", hz)),
            Some(method("measured for 10 ms", plain_hz)),
            steered.map(|hz| method("tach's timeline", hz)),
        ];
        let later = points.iter().filter(|(time, _)| time - start > SHORTEST * length);
        Self {
            source: status().source.as_str(),
            reference_hz,
            // The comparison at each end of the run is off by up to half its bracket.
            bound_ppb: as_f64(plain.widest_ns()) / length,
            methods: methods.into_iter().flatten().collect(),
            errors: later.map(|point| (point.0, gained(point) - gain)).collect(),
        }
    }

    pub(super) fn text(&self) -> String {
        let of = if self.source == "os" { "the OS clock's ticks" } else { "the CPU's counter" };
        let title = heading(format!("frequency of {of}"));
        let names = "method                           MHz  error in ppb";
        let mut lines = vec![title.to_string(), names.to_owned()];
        lines.extend(self.methods.iter().map(|Method { name, hz, error_ppb }| {
            format!("{name:<20}{:>16.6}{error_ppb:>+14.1}", hz / 1e6)
        }));
        let Self { reference_hz, bound_ppb, .. } = self;
        let mhz = reference_hz / 1e6;
        let note = format!("over the whole run: {mhz:.6} MHz ± {bound_ppb:.2} ppb");
        lines.push(faint(note).to_string());
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::series::tests::series;

    #[test]
    fn each_method_has_its_error() {
        // The plain clock is 50 ppb too fast, and was 20 ns off after a tenth of the run.
        let points = [(1.0, 7.0, 20), (2.0, 77.0, 20), (6.0, 257.0, 20), (11.0, 507.0, 20)];
        let found = Calibration::new(&series("plain", &points), 2.5e9);
        assert!((found.reference_hz - 2_500_000_125.0).abs() < 1e-3, "{found:?}");
        assert!((found.bound_ppb - 6.0).abs() < 1e-9, "{found:?}");
        let plain = found.methods.iter().find(|one| one.name == "measured for 10 ms").unwrap();
        assert!((plain.error_ppb + 50.0).abs() < 1e-3, "{found:?}");
        let errors: Vec<_> = found.errors.iter().map(|(_, ppb)| ppb.round()).collect();
        assert_eq!(errors, [20.0, 0.0, 0.0]);
        let text = found.text();
        assert!(text.contains("2500.000125 MHz ± 6.00 ppb"), "{text}");
    }

    #[test]
    fn one_comparison_bounds_nothing() {
        let found = Calibration::new(&series("plain", &[(0.0, 5.0, 20)]), 1e9);
        assert!(found.bound_ppb.is_infinite() && found.errors.is_empty(), "{found:?}");
    }
}
