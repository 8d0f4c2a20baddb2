//! The inputs of the fuzzers (`fuzz/corpus`).

#[path = "../../fuzz/checks/answers.rs"]
mod answers;
#[path = "../../fuzz/checks/variables.rs"]
mod variables;

use std::fs;
use std::path::Path;

use test_support::test_of_this_program;

fn inputs(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(inputs.len() > 5, "{target}: {}", inputs.len());
    inputs.into_iter().map(|input| fs::read(input).unwrap()).collect()
}

#[test]
fn each_answer_of_http_ends_a_request() {
    for input in inputs("http") {
        answers::check_http(&input);
    }
}

#[cfg(feature = "grpc")]
#[test]
fn each_answer_of_grpc_ends_a_request() {
    for input in inputs("grpc") {
        answers::check_grpc(&input);
    }
}

/// Not a test: the program that the next test starts with variables.
#[test]
#[ignore = "the child of the next test"]
fn with_variables() {
    variables::check();
}

#[test]
fn no_variable_says_a_secret() {
    for input in inputs("variables") {
        let mut child = test_of_this_program("corpus::with_variables");
        let output = child.envs(variables::variables(&input)).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{errors}");
    }
}
