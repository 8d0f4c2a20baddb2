//! Records of `log`.

#[inline(never)]
pub(crate) fn ready(_: usize) {
    log::info!("ready");
}

#[inline(never)]
pub(crate) fn argument(number: usize) {
    log::info!("ready {number}");
}

#[inline(never)]
pub(crate) fn two_keys(number: usize) {
    log::info!(user = number, n = 7_u32; "ready");
}
