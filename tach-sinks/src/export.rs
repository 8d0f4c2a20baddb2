//! Values in the export format of systemd's journal (<https://systemd.io/JOURNAL_EXPORT_FORMATS>).

/// Appends a value after its name, with a line end. If the value has control characters, a line end
/// and the value's length in 64 bits precede it.
pub fn field(to: &mut Vec<u8>, value: &[u8]) {
    if value.iter().any(|&byte| byte.is_ascii_control() && byte != b'\t') {
        to.push(b'\n');
        to.extend_from_slice(&(value.len() as u64).to_le_bytes());
    } else {
        to.push(b'=');
    }
    to.extend_from_slice(value);
    to.push(b'\n');
}
