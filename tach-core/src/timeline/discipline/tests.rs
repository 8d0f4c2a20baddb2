//! The discipline, one sample at a time.

use super::*;

const MS: u64 = 1_000_000;

/// An estimate that many samples have confirmed, of a counter of 1 GHz.
const PRECISE: Estimate = Estimate {
    tick: NS_PER_S,
    ns: 500 * NS_PER_S,
    rate: Rate::ONE,
    offset_error_ns: 10,
    rate_error_ppb: 10,
};

/// Returns a sample `elapsed_ns` after [`PRECISE`], by which the OS clock is `ahead_ns` ahead.
fn sample(elapsed_ns: u64, ahead_ns: i64) -> Sample {
    let ns = (PRECISE.ns + elapsed_ns).checked_add_signed(ahead_ns).unwrap();
    let tick = PRECISE.tick + elapsed_ns;
    Sample { tick, ns, width_ticks: 40, excess_ticks: 0, resolution_ns: 1 }
}

/// Returns the next sample of a clock that advances by `slope` in each tick.
fn further(sample: &Sample, elapsed_ticks: u64, slope: Rate) -> Sample {
    let ns = sample.ns + slope.ns(elapsed_ticks);
    Sample { tick: sample.tick + elapsed_ticks, ns, ..*sample }
}

#[test]
fn each_error_has_its_finding() {
    use Finding::{Expected, Jitter, RateChanged, Shifted, Stepped};
    // The bracket's half-width, 20 ns, is added to each limit.
    let cases = [
        (10 * MS, 68, Expected),
        (10 * MS, 69, Shifted),
        // An error of more than 20 ppm of the time, up to 2 us, is the difference between two
        // cores' counters.
        (10 * MS, 200, Shifted),
        (10 * MS, 201, Jitter),
        (10 * MS, 2_000, Jitter),
        (10 * MS, 2_001, Shifted),
        (10 * MS, 1_000_020, Shifted),
        (10 * MS, 1_000_021, Stepped),
        // From 400 ms on, an error of up to 1000 ppm of the time is a change of rate. Before, it
        // can't be told from a small step.
        (400 * MS - 1, 100_000, Shifted),
        (400 * MS, 100_000, RateChanged),
        (400 * MS, 400_020, RateChanged),
        (400 * MS, 400_021, Shifted),
        (2_000 * MS, 2_000_020, RateChanged),
        (2_000 * MS, 2_000_021, Stepped),
    ];
    for (elapsed_ns, error_ns, finding) in cases {
        for ahead_ns in [error_ns, -error_ns] {
            let found = PRECISE.updated(&sample(elapsed_ns, ahead_ns)).1;
            assert_eq!(found, finding, "{ahead_ns} ns after {elapsed_ns} ns");
        }
    }
}

#[test]
fn a_look_accepts_what_the_counters_of_two_cores_may_differ_by() {
    for (error_ns, agrees) in [(220, true), (-220, true), (221, false), (-221, false)] {
        assert_eq!(PRECISE.agrees(&sample(10 * MS, error_ns)), agrees, "{error_ns}");
    }
}

#[test]
fn a_change_of_rate_is_followed_from_the_last_look_that_agreed() {
    let changed = sample(10 * NS_PER_S, 100_000);
    let agreed_tick = PRECISE.tick + 9 * NS_PER_S;
    let (next, finding) = PRECISE.with(&changed, agreed_tick);
    assert_eq!(finding, Finding::RateChanged);
    let change_ppb = next.rate.distance_ppb(Rate::ONE);
    assert!(change_ppb.abs_diff(100_000) < 1_000, "{change_ppb} ppb");
    assert!(next.ns.abs_diff(changed.ns) < 10);
    // The last look that agreed came nine seconds after the sample. There the estimate is uncertain
    // by 37 ppb of nine seconds, 333 ns, which is 333 ppb of the one second since that look.
    assert!((333..400).contains(&next.rate_error_ppb), "{next:?}");
}

#[test]
fn a_shift_moves_the_time_and_leaves_the_rate_in_doubt() {
    for (elapsed_ns, error_ns, doubt_ppb) in
        [(10 * MS, 10_000, 1_000_000), (MS, 900_000, UNCERTAIN_PPB - 1)]
    {
        let shifted = sample(elapsed_ns, error_ns);
        let (next, finding) = PRECISE.updated(&shifted);
        assert_eq!(
            (finding, next.rate, next.rate_error_ppb),
            (Finding::Shifted, Rate::ONE, doubt_ppb)
        );
        assert!(next.ns.abs_diff(shifted.ns) <= 1);
        assert!(!next.wants_rate(), "a shift is not a step");
    }
}

#[test]
fn a_jitter_moves_nothing_but_makes_the_time_uncertain() {
    let (next, finding) = PRECISE.updated(&sample(10 * MS, 1_000));
    assert_eq!((finding, next.offset_error_ns), (Finding::Jitter, 500));
    assert!(next.ns.abs_diff(PRECISE.ns + 10 * MS) <= 1);
    assert!(next.rate.distance_ppb(Rate::ONE) < 10);
}

#[test]
fn a_sample_behind_the_estimate_shows_nothing_and_one_beside_it_something() {
    let vague = Estimate { offset_error_ns: 1_000, ..PRECISE };
    let beside = sample(0, 500);
    let behind = Sample { tick: beside.tick - 1, ..beside };
    assert_eq!(vague.with(&behind, 0), (vague, Finding::Expected));
    assert!(vague.with(&beside, 0).0.ns.abs_diff(beside.ns) <= 1);
}

#[test]
fn a_second_step_may_show_another_rate_and_a_third_does() {
    let slope = |ns, ticks| Rate::from_slope(ns, ticks);
    let first = sample(10 * NS_PER_S, 10_000_000_000);
    let (stepped, finding) = PRECISE.updated(&first);
    assert_eq!((finding, stepped.ns, stepped.rate), (Finding::Stepped, first.ns, Rate::ONE));
    assert!(stepped.wants_rate());
    for likely in [slope(4, 1), slope(3, 1), slope(1, 4)] {
        let (next, finding) = stepped.updated(&further(&first, 10 * NS_PER_S, likely));
        assert_eq!((finding, next.rate), (Finding::Stepped, likely));
        assert!(next.wants_rate());
    }
    for unlikely in [slope(8, 1), slope(1, 8)] {
        let second = further(&first, 10 * NS_PER_S, unlikely);
        let (next, finding) = stepped.updated(&second);
        assert_eq!((finding, next.rate), (Finding::Stepped, Rate::ONE), "{unlikely:?}");
        assert!(next.wants_rate());
        let (last, finding) = next.updated(&further(&second, 10 * NS_PER_S, unlikely));
        assert_eq!((finding, last.rate), (Finding::Stepped, unlikely));
        assert!(last.wants_rate());
    }
}

#[test]
fn a_known_rate_turns_the_error_of_a_tick_into_ns() {
    let first = Estimate::first(&Sample { width_ticks: 800, ..sample(0, 0) });
    assert!(first.wants_rate() && !PRECISE.wants_rate());
    assert_eq!(first.offset_error_ns, 200);
    let half = Rate::from_slope(1, 2);
    let seeded = first.seeded(half, 7);
    assert_eq!((seeded.rate, seeded.rate_error_ppb, seeded.offset_error_ns), (half, 7, 100));
    let again = PRECISE.seeded(half, 7);
    assert_eq!((again.rate, again.rate_error_ppb, again.offset_error_ns), (half, 7, 10));
}

#[test]
fn a_rate_wanders_but_not_for_ever() {
    let exact = Estimate { offset_error_ns: 0, ..PRECISE };
    for (elapsed_s, error_ppb) in [(0, 10), (1, 13), (100, 310), (1_000, 1_010), (100_000, 1_010)] {
        assert_eq!(exact.error_after(elapsed_s * NS_PER_S), elapsed_s * error_ppb, "{elapsed_s} s");
    }
}

#[test]
fn the_noise_of_a_sample_is_the_sum_of_its_causes() {
    let cases = [
        // One tick and a rounded ns.
        ((0, 0, 1), 2),
        // A quarter of the half-width.
        ((80, 0, 1), 2 + 10),
        // Half of the width that an interruption added, and a quarter of the half-width of the
        // rest.
        ((80, 80, 1), 2 + 40),
        ((80, 40, 1), 2 + 5 + 20),
        // Half a step of the OS clock.
        ((0, 0, 1_000), 2 + 500),
    ];
    for ((width_ticks, excess_ticks, resolution_ns), noise) in cases {
        let sample = Sample { width_ticks, excess_ticks, resolution_ns, ..sample(0, 0) };
        assert_eq!(noise_ns(&sample, Rate::ONE), noise, "{sample:?}");
    }
    let sample = Sample { width_ticks: 80, ..sample(0, 0) };
    assert_eq!(noise_ns(&sample, Rate::from_slope(3, 1)), 30 + 3 + 1);
}

#[test]
fn a_young_rate_has_seen_too_few_brackets_to_trust_one() {
    let wide = Sample { width_ticks: 800, ..sample(10 * MS, 0) };
    for (rate_error_ppb, error_ns) in [(YOUNG_PPB, 102), (YOUNG_PPB + 1, 302)] {
        let vague = Estimate { offset_error_ns: 1_000_000, rate_error_ppb, ..PRECISE };
        let next = vague.updated(&wide).0;
        assert!(next.offset_error_ns.abs_diff(error_ns) <= 1, "{next:?}");
    }
}

#[test]
fn a_measurement_corrects_in_proportion_to_its_certainty() {
    let cases = [
        ((1_000, 3, 4), 360),
        ((1_000, 4, 3), 640),
        ((-1_000, 3, 4), -360),
        ((1_000, 0, 5), 0),
        ((1_000, 5, 0), 1_000),
        ((1_000, 0, 0), 0),
        ((1 << 40, 1 << 20, 1 << 20), 1 << 39),
        // Errors larger than any real clock's count as equal.
        ((1 << 40, u64::MAX, u64::MAX - 1), 1 << 39),
    ];
    for ((error, prior, noise), corrected) in cases {
        let gain = gain_q16(error, prior, noise);
        assert!((gain - (corrected << 16)).abs() <= 1, "{error} {prior} {noise}: {gain}");
    }
    let halves = [(0x8000, 1), (0x7fff, 0), (-0x8000, 0), (-0x8001, -1), (5 << 16, 5)];
    for (value_q16, whole) in halves {
        assert_eq!(rounded(value_q16), whole, "{value_q16}");
    }
}

#[test]
fn errors_add_and_combine_as_errors_do() {
    let exact = |a: f64, b: f64| (a.hypot(b), a * b / a.hypot(b));
    for (a, b) in [(300_u32, 400_u32), (400, 300), (1_000, 1_000), (1, 1_000_000), (70_000, 123)] {
        let (sum, mean) = exact(a.into(), b.into());
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let (ours, combined) =
            (hypot(a.into(), b.into()) as f64, combined_error(a.into(), b.into()) as f64);
        assert!(ours > sum - 1.0 && ours < sum * 1.07 + 1.0, "{ours} for {sum}");
        assert!(combined < mean + 1.0 && combined > mean / 1.07 - 1.0, "{combined} for {mean}");
    }
    assert_eq!((hypot(0, 0), combined_error(0, 0)), (0, 1));
    assert_eq!((hypot(u64::MAX, u64::MAX), ppb(1, 0)), (u64::MAX, NS_PER_S));
}
