//! The inputs that the fuzzer found interesting (`fuzz/corpus`).

use std::fs;
use std::path::Path;

use tach_core::UnixTime;
use tach_tower::Syntax;

const ALL: [Syntax; 6] = [
    Syntax::Grpc,
    Syntax::Millis,
    Syntax::Seconds,
    Syntax::Rfc3339,
    Syntax::UnixSeconds,
    Syntax::UnixMillis,
];

#[test]
fn no_input_panics_and_none_grows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/header");
    let (mut inputs, mut valid) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let input = fs::read(entry.unwrap().path()).unwrap();
        let Some((now, value)) = input.split_first_chunk::<8>() else { continue };
        let now = UnixTime::from_nanos(u64::from_le_bytes(*now));
        inputs += 1;
        for syntax in ALL {
            let Some(left) = syntax.parse(value, now) else { continue };
            valid += 1;
            let again = syntax.parse(syntax.write(left, now).as_bytes(), now).unwrap();
            assert!(again <= left, "{syntax:?}: {left:?} grew to {again:?}");
        }
    }
    assert!(inputs > 100 && valid > 50, "{inputs} inputs, {valid} of them valid");
}
