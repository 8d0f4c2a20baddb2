//! The exact bucket of a duration.
//!
//! At the scale s, the bucket i has the durations above 2^(i / 2^s) seconds, up to and including
//! 2^((i + 1) / 2^s) seconds. Most of these bounds are irrational, and a logarithm in floating
//! point puts durations beside a bound into the wrong bucket. But a duration is a whole number of
//! nanoseconds, so comparing it with a bound that is rounded down gives the exact result. Each
//! bound is one of the highest octave, halved some times: rounding down before that changes
//! nothing.

use core::num::NonZero;

/// The scale of a histogram whose durations are close together: a bucket is 0.5 % wide.
pub(super) const MAX_SCALE: u32 = 7;

/// Where the highest octave begins: 2^33 seconds.
const HIGHEST: i32 = 33;
/// More than 290 years. No bound beyond is known.
const LONGEST: u64 = u64::MAX >> 1;

/// The bounds of the highest octave: 2^(33 + i / 128) seconds, in nanoseconds, rounded down.
const BOUNDS: [u64; 1 << MAX_SCALE] = [
    0x7735_9400_0000_0000,
    0x77db_491a_39c1_4a99,
    0x7881_e48c_1a78_7b91,
    0x7929_6795_d268_6fc4,
    0x79d1_d379_4ee8_6199,
    0x7a7b_297a_3cce_9861,
    0x7b25_6ade_0ade_73a8,
    0x7bd0_98eb_ec39_d741,
    0x7c7c_b4ec_dad5_fca4,
    0x7d29_c02b_99f3_ae6c,
    0x7dd7_bbf4_b89a_f2aa,
    0x7e86_a996_941a_28d3,
    0x7f36_8a61_5a88_a012,
    0x7fe7_5fa7_0d4c_aadf,
    0x8099_2abb_83a5_34a2,
    0x814b_ecf4_6d36_de50,
    0x81ff_a7a9_549c_a6e3,
    0x82b4_5c33_a1fc_249b,
    0x836a_0bee_9d9d_5401,
    0x8420_b837_7286_01a6,
    0x84d8_626d_3118_d396,
    0x8591_0bf0_d1b7_f7a3,
    0x864a_b625_376b_7b77,
    0x8705_626f_328b_539f,
    0x87c1_1235_836d_16a3,
    0x887d_c6e0_dd15_7151,
    0x893b_81db_e7ed_5966,
    0x89fa_4493_447b_03d3,
    0x8aba_1075_8e1e_a3cf,
    0x8b7a_e6f3_5dd2_f7f9,
    0x8c3c_c97f_4cf1_aadd,
    0x8cff_b98d_f7fb_8c27,
    0x8dc3_b896_0164_a7d9,
    0x8e88_c810_1464_40ee,
    0x8f4e_e976_e7c8_b4cc,
    0x9016_1e47_40cf_4cee,
    0x90de_67ff_f600_044c,
    0x91a7_c821_f20d_45f4,
    0x9272_4030_36b7_aa56,
    0x933d_d1af_dfb5_b8e4,
    0x940a_7e28_259f_b382,
    0x94d8_4722_60df_7178,
    0x95a7_2e2a_0ca4_4f7c,
    0x9677_34cc_c9db_3a92,
    0x9748_5c9a_622a_db60,
    0x981a_a724_caf3_e7c7,
    0x98ee_1600_2855_a076,
    0x99c2_aac2_d036_8057,
    0x9a98_6705_4d51_2391,
    0x9b6f_4c62_6245_6c0e,
    0x9c47_5c77_0cad_e96d,
    0x9d20_98e2_8839_8a37,
    0x9dfb_0346_51c9_9c68,
    0x9ed6_9d46_2a94_2332,
    0x9fb3_6888_1b4a_8811,
    0xa091_66b4_7744_ad34,
    0xa170_9975_dfb0_6757,
    0xa251_0279_46c5_6529,
    0xa332_a36d_f2fd_8a6a,
    0xa415_7e05_8251_c4f0,
    0xa4f9_93f3_ed7b_61ca,
    0xa5de_e6ef_8b39_e8c1,
    0xa6c5_78b1_139d_848c,
    0xa7ad_4af3_a355_fdf8,
    0xa896_5f74_bf06_5071,
    0xa980_b7f4_569c_de45,
    0xaa6c_5634_c8b0_4b16,
    0xab59_3bfa_e5e1_02e9,
    0xac47_6b0d_f43f_745f,
    0xad36_e537_b2b7_048d,
    0xae27_ac44_5c7d_c318,
    0xaf19_c202_ac88_e526,
    0xb00d_2843_e106_0dc2,
    0xb101_e0db_bed9_6a6e,
    0xb1f7_eda0_9520_aa93,
    0xb2ef_506b_40ba_d885,
    0xb3e8_0b17_2fd5_1af7,
    0xb4e2_1f82_657c_65a1,
    0xb5dd_8f8d_7d34_1ffd,
    0xb6da_5d1b_ae91_c8fa,
    0xb7d8_8a12_d0dd_9ea0,
    0xb8d8_185b_5eb8_508c,
    0xb9d9_09e0_79c5_c456,
    0xbadb_608f_ee5c_f2e4,
    0xbbdf_1e5a_373c_e5c6,
    0xbce4_4532_8146_dbb2,
    0xbdea_d70e_af3d_9b5a,
    0xbef2_d5e7_5d89_fbb7,
    0xbffc_43b7_e604_a922,
    0xc107_227e_63c5_2e6c,
    0xc213_743b_b6f6_4957,
    0xc321_3af3_88af_91c0,
    0xc430_78ac_4ed4_7ae7,
    0xc541_2f6f_4ff8_b64a,
    0xc653_6148_a749_ff7d,
    0xc767_1047_487f_5899,
    0xc87c_3e7d_03cd_bec3,
    0xc992_edfe_89e2_5e6a,
    0xcaab_20e3_6fe2_4ee5,
    0xcbc4_d946_336f_dd19,
    0xcce0_1944_3eb5_6ce4,
    0xcdfc_e2fd_ec75_f913,
    0xcf1b_3896_8c23_39b8,
    0xd03b_1c34_65f9_78a8,
    0xd15c_9000_bf21_1c1f,
    0xd27f_9627_ddd5_ef69,
    0xd3a4_30d9_0d94_3190,
    0xd4ca_6246_a34b_721a,
    0xd5f2_2ca6_0197_43e0,
    0xd71b_922f_9cfd_ce24,
    0xd846_951f_0034_440a,
    0xd973_37b2_d069_4aa4,
    0xdaa1_7c2c_d195_55db,
    0xdbd1_64d1_ead1_046a,
    0xdd02_f3ea_2ab1_8362,
    0xde36_2bc0_cbab_0174,
    0xdf6b_0ea4_3879_3a89,
    0xe0a1_9ee6_108e_2417,
    0xe1d9_dedb_2c86_c2b2,
    0xe313_d0db_a2a6_3176,
    0xe44f_7742_cb56_e3dd,
    0xe58c_d46f_45b2_2aac,
    0xe6cb_eac2_fc0e_04aa,
    0xe80c_bca3_2891_43eb,
    0xe94f_4c78_59ce_1066,
    0xea93_9cae_7762_d0ca,
    0xebd9_afb4_c6a1_8262,
    0xed21_87fd_ef3d_8902,
];

/// Returns the index at [`MAX_SCALE`]. At lower scales a bucket consists of two neighbors, so its
/// index is half as high.
pub(super) fn index(ns: NonZero<u64>) -> i32 {
    let ns = ns.get().min(LONGEST);
    // The octave that begins between the powers of two around `ns`, or the one before.
    let halvings = ns.leading_zeros() - 1;
    let is_below = ns <= BOUNDS[0] >> halvings;
    let halvings = halvings + u32::from(is_below);
    let below = BOUNDS[1..].partition_point(|bound| bound >> halvings < ns);
    let [halvings, _, _, _] = halvings.to_le_bytes();
    // At most the number of the other bounds.
    let below = i32::try_from(below).unwrap_or(0);
    ((HIGHEST - i32::from(halvings)) << MAX_SCALE) + below
}

#[cfg(test)]
mod tests {
    use core::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;

    /// A natural number of any size, the lowest digit first.
    #[derive(Clone, PartialEq, Eq)]
    struct Natural(Vec<u32>);

    impl Natural {
        fn of(value: u64) -> Self {
            let digits = [value, value >> 32].map(|digit| u32::try_from(digit & 0xffff_ffff));
            Self(digits.map(Result::unwrap).into()).trimmed()
        }

        fn trimmed(mut self) -> Self {
            while self.0.last() == Some(&0) {
                self.0.pop();
            }
            self
        }

        fn times(&self, other: &Self) -> Self {
            let mut product = vec![0_u32; self.0.len() + other.0.len()];
            for (i, one) in self.0.iter().enumerate() {
                let mut carry = 0;
                for (j, other) in other.0.iter().chain([&0]).enumerate() {
                    let digit = u64::from(*one) * u64::from(*other)
                        + u64::from(product.get(i + j).copied().unwrap_or(0))
                        + carry;
                    carry = digit >> 32;
                    if let Some(to) = product.get_mut(i + j) {
                        *to = u32::try_from(digit & 0xffff_ffff).unwrap();
                    }
                }
            }
            Self(product).trimmed()
        }

        /// Returns the number to the power of 2^`squarings`.
        fn power(&self, squarings: u32) -> Self {
            (0..squarings).fold(self.clone(), |power, _| power.times(&power))
        }

        fn two_to_the(exponent: u32) -> Self {
            let (digit, bit) = (exponent / u32::BITS, exponent % u32::BITS);
            let mut digits = vec![0; usize::try_from(digit).unwrap()];
            digits.push(1 << bit);
            Self(digits)
        }

        fn compare(&self, other: &Self) -> Ordering {
            let digits = |number: &Self| number.0.iter().rev().copied().collect::<Vec<_>>();
            self.0.len().cmp(&other.0.len()).then_with(|| digits(self).cmp(&digits(other)))
        }
    }

    /// Returns whether `ns` is above the lower bound of the bucket `index` at `scale`:
    /// (ns / 10^9)^(2^scale) > 2^index, in whole numbers.
    fn is_above(ns: u64, index: i32, scale: u32) -> bool {
        let (mut left, mut right) =
            (Natural::of(ns).power(scale), Natural::of(1_000_000_000).power(scale));
        let two = Natural::two_to_the(index.unsigned_abs());
        if index >= 0 {
            right = right.times(&two);
        } else {
            left = left.times(&two);
        }
        left.compare(&right) == Ordering::Greater
    }

    fn check(ns: u64) {
        let index = index(NonZero::new(ns).unwrap());
        for scale in [MAX_SCALE, 5, 3, 1, 0] {
            let index = index >> (MAX_SCALE - scale);
            assert!(is_above(ns, index, scale), "{ns} is below the bucket {index} at {scale}");
            assert!(!is_above(ns, index + 1, scale), "{ns} is above {index} at {scale}");
        }
    }

    #[test]
    fn durations_beside_each_bound_are_in_their_buckets() {
        for (at, bound) in BOUNDS.into_iter().enumerate() {
            // The bounds of the highest octave, of some below, and where many buckets are empty.
            for halvings in [0, 1, 30, 33, 45, 60] {
                if at % 16 != 0 && halvings != 0 && halvings != 33 {
                    continue;
                }
                let bound = bound >> halvings;
                for ns in [bound - 1, bound, bound + 1] {
                    if (1..=LONGEST).contains(&ns) {
                        check(ns);
                    }
                }
            }
        }
    }

    #[test]
    fn powers_of_two_seconds_are_the_highest_of_their_buckets() {
        let at = |ns| index(NonZero::new(ns).unwrap());
        assert_eq!(at(1_000_000_000), -1);
        assert_eq!(at(1_000_000_001), 0);
        assert_eq!(at(2_000_000_000), 127);
        assert_eq!(at(500_000_000), -129);
        // 1 ns is 2^-29.897 s.
        assert_eq!(at(1) >> MAX_SCALE, -30);
        assert_eq!(at(u64::MAX), at(LONGEST));
        check(LONGEST);
        (1..200).for_each(check);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_duration_is_in_its_bucket(ns in 1..=LONGEST, shift in 0..63_u32) {
            check((ns >> shift).max(1));
        }
    }

    /// The usual way, by a logarithm, agrees but for durations beside a bound.
    #[test]
    fn a_logarithm_agrees() {
        let mut random = 1_u64;
        for round in 0..100_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let ns = (random >> (round % 50)).clamp(1, LONGEST);
            #[expect(clippy::cast_precision_loss, reason = "only the nearest is compared")]
            let exact = (ns as f64 / 1e9).log2() * 128.0;
            let index = f64::from(index(NonZero::new(ns).unwrap()));
            assert!(exact > index - 1e-9 && exact <= index + 1.0 + 1e-9, "{ns}");
        }
    }
}
