//! The first rate: from two samples and the frequency that the machine declares.

use super::simulation::NS_PER_S;
use crate::timeline::discipline::Estimate;
use crate::timeline::record::End;
use crate::timeline::*;

/// Returns the estimate for a counter of 24 MHz after two samples, the second after 30.02 us, if
/// the machine declares this frequency. The samples begin `phase_ns` after a tick.
fn first_estimate(phase_ns: u64, declared_hz: Option<u64>) -> Estimate {
    let sample = |ns| {
        let tick = 1_000_000 + (phase_ns + ns) * 24 / 1000;
        Sample { tick, ns, width_ticks: 1, excess_ticks: 0, resolution_ns: 1 }
    };
    let (first, second) = (Record::first(&sample(1000)), sample(31_020));
    let end = End {
        tick: first.piece.knee().tick,
        wanted_tick: second.tick,
        agreed_tick: 0,
        clock_jumped: false,
    };
    first.second(&end, &second, declared_hz).estimate
}

#[test]
fn a_declared_frequency_makes_the_first_rate_truer() {
    let worst_error_ppm = |declared_hz| {
        let rates_hz = (0..42).map(|phase_ns| first_estimate(phase_ns, declared_hz).rate.hz());
        rates_hz.map(|hz| hz.abs_diff(24_000_000) / 24).max().unwrap()
    };
    let (without, with) = (worst_error_ppm(None), worst_error_ppm(Some(24_000_000)));
    assert!(without > 500 && with < 50, "{with} ppm off, {without} without it");
    // A crystal may be 50 ppm off.
    assert!(worst_error_ppm(Some(24_001_200)) < 150);
}

#[test]
fn a_declared_frequency_that_the_samples_contradict_is_not_believed() {
    // Wrong declarations: an emulator's, another crystal's, or kHz taken for Hz.
    for wrong_hz in [1, 888_888, 19_200_000, 23_760_000, 24_576_000, 25_000_000, 24_000_000_000] {
        for phase_ns in 0..42 {
            let estimate = first_estimate(phase_ns, Some(wrong_hz));
            assert_eq!(estimate, first_estimate(phase_ns, None), "{wrong_hz} Hz, {phase_ns} ns");
        }
    }
}

#[test]
fn a_wrong_rate_is_found_though_each_sample_looks_like_a_shift() {
    // After two interrupted samples the rate is further off than its estimated error.
    let truth = Rate::from_slope(16, 1);
    let mut estimate = Estimate {
        tick: 0,
        ns: 0,
        rate: truth.changed_by(4_500_000 << 16, NS_PER_S),
        offset_error_ns: 200,
        rate_error_ppb: 1_000_000,
    };
    for tick in (1..=8).map(|i| i * 2_500_000) {
        let ns = truth.ns(tick);
        let sample = Sample { tick, ns, width_ticks: 4, excess_ticks: 0, resolution_ns: 1 };
        estimate = estimate.with(&sample, 0).0;
    }
    assert!(estimate.rate.hz().abs_diff(truth.hz()) < 100, "{estimate:?}");
}
