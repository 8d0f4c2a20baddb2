//! The inputs that the fuzzer found interesting (`fuzz/corpus`).

use std::fs;
use std::path::Path;

use tach_tower::Syntax;

const ALL: [Syntax; 3] = [Syntax::Grpc, Syntax::Millis, Syntax::Seconds];

#[test]
fn no_input_panics_and_none_grows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/header");
    let (mut inputs, mut valid) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let input = fs::read(entry.unwrap().path()).unwrap();
        let Some((_, value)) = input.split_first_chunk::<8>() else { continue };
        inputs += 1;
        for syntax in ALL {
            let Some(left) = syntax.parse(value) else { continue };
            valid += 1;
            let again = syntax.parse(syntax.write(left).as_bytes()).unwrap();
            assert!(again <= left, "{syntax:?}: {left:?} grew to {again:?}");
        }
    }
    assert!(inputs > 100 && valid > 50, "{inputs} inputs, {valid} of them valid");
}
