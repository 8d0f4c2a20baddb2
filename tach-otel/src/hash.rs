//! A multiplication that mixes the bits of two numbers.

/// Numbers without a pattern, so that ids and times don't cancel them.
pub(crate) const SECRETS: [u64; 3] =
    [0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3];

/// Returns the exclusive or of the two halves of the product.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a wider number")]
#[inline]
pub(crate) const fn fold(left: u64, right: u64) -> u64 {
    // `From` is not const.
    let product = left as u128 * right as u128;
    (product >> 64) as u64 ^ product as u64
}
