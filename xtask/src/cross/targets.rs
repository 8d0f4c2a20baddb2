//! The platforms and the work for each.

/// A platform. `setup.sh` knows it by the same name.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// The names that rustc knows.
    pub(crate) triples: &'static [&'static str],
    pub(crate) work: Work,
}

/// The work for a platform.
#[derive(Debug)]
pub(crate) enum Work {
    /// Check the published packages for the host, with the oldest compiler that they support.
    Msrv,
    /// Run tach-core's tests.
    Tests(Means),
    /// Run those tests without the storms of signals and forks, on a machine that differs from the
    /// previous one only in its counter.
    Reads(Means),
    /// Run `tests/web.rs` in the browser that the variable with this name chooses, or in Node.
    Web(Option<&'static str>),
    /// Run `tests/web.rs` in a Node without `performance`.
    WebWithoutPerformance,
    /// Run a program without the standard library in Node.
    WebWithoutStd,
    /// Run tach-otel's tests for a JavaScript host in Node.
    WebOtel,
    /// Check tach-core with these arguments.
    Check(&'static [&'static str]),
    /// Link a program that brings its own clock.
    BareMetal,
}

/// The programs that link and run a platform's tests. `setup.sh` makes them.
#[derive(Debug)]
pub(crate) struct Means {
    /// `None` for rustc's own linker.
    pub(crate) linker: Option<&'static str>,
    /// `None` to start the tests directly.
    pub(crate) runner: Option<&'static str>,
    /// Flags for rustc.
    pub(crate) flags: &'static str,
    /// The order of the emulator's counter and the frequency that it declares:
    /// `TACH_EXPECTED_COUNTER` for the test in tach-core's `counter.rs`.
    pub(crate) counter: Option<&'static str>,
}

const NATIVE: Means = Means { linker: None, runner: None, flags: "", counter: None };

const fn emulated(linker: &'static str, runner: &'static str) -> Means {
    Means { linker: Some(linker), runner: Some(runner), ..NATIVE }
}

const fn emulated_aarch64(runner: &'static str, counter: &'static str) -> Means {
    Means { counter: Some(counter), ..emulated("cc-aarch64", runner) }
}

const WITH_TESTS: Work = Work::Check(&["--lib", "--tests"]);

pub(crate) const TARGETS: &[Target] = &[
    Target { name: "msrv", triples: &["x86_64-unknown-linux-gnu"], work: Work::Msrv },
    Target { name: "native", triples: &["x86_64-unknown-linux-gnu"], work: Work::Tests(NATIVE) },
    Target {
        name: "i686",
        triples: &["i686-unknown-linux-gnu"],
        work: Work::Tests(Means { linker: Some("cc-i686"), ..NATIVE }),
    },
    Target {
        name: "aarch64",
        triples: &["aarch64-unknown-linux-gnu"],
        work: Work::Tests(emulated_aarch64("run-aarch64", "Fenced, None")),
    },
    // Here CNTFRQ_EL0 is 62,500,000; under the newer emulator it is 0.
    Target {
        name: "aarch64-cntfrq",
        triples: &["aarch64-unknown-linux-gnu"],
        work: Work::Reads(emulated_aarch64("run-aarch64-cntfrq", "Fenced, Some(62500000)")),
    },
    // The emulated CPU has FEAT_ECV, so the counter orders itself.
    Target {
        name: "aarch64-ecv",
        triples: &["aarch64-unknown-linux-gnu"],
        work: Work::Reads(emulated_aarch64("run-aarch64-ecv", "SelfOrdered, None")),
    },
    Target {
        name: "riscv64",
        triples: &["riscv64gc-unknown-linux-gnu"],
        work: Work::Tests(emulated("cc-riscv64", "run-riscv64")),
    },
    Target {
        name: "s390x",
        triples: &["s390x-unknown-linux-gnu"],
        work: Work::Tests(emulated("cc-s390x", "run-s390x")),
    },
    Target {
        name: "loongarch64",
        triples: &["loongarch64-unknown-linux-musl"],
        work: Work::Tests(Means {
            // The linker brings musl and its start files, so rustc must not use its own.
            flags: "-Clink-self-contained=no -Ctarget-feature=+crt-static",
            ..emulated("cc-loongarch64", "run-loongarch64")
        }),
    },
    Target {
        name: "windows",
        triples: &["x86_64-pc-windows-gnu"],
        work: Work::Tests(emulated("cc-windows", "run-wine")),
    },
    Target {
        name: "wasi",
        triples: &["wasm32-wasip1"],
        work: Work::Tests(Means { runner: Some("run-wasi"), ..NATIVE }),
    },
    Target {
        name: "wasip2",
        triples: &["wasm32-wasip2"],
        work: Work::Tests(emulated("ld-wasip2", "run-wasip2")),
    },
    Target {
        name: "emscripten",
        triples: &["wasm32-unknown-emscripten"],
        work: Work::Tests(Means {
            // emscripten starts the linker by its own name, so rustc must not use its own.
            flags: "-Clink-self-contained=no",
            ..emulated("cc-emscripten", "run-emscripten")
        }),
    },
    Target { name: "wasm-node", triples: &["wasm32-unknown-unknown"], work: Work::Web(None) },
    Target {
        name: "wasm-bare",
        triples: &["wasm32-unknown-unknown"],
        work: Work::WebWithoutPerformance,
    },
    Target { name: "wasm-otel", triples: &["wasm32-unknown-unknown"], work: Work::WebOtel },
    Target {
        name: "wasm-page",
        triples: &["wasm32-unknown-unknown"],
        work: Work::Web(Some("WASM_BINDGEN_USE_BROWSER")),
    },
    Target {
        name: "wasm-worker",
        triples: &["wasm32-unknown-unknown"],
        work: Work::Web(Some("WASM_BINDGEN_USE_DEDICATED_WORKER")),
    },
    Target {
        name: "macos",
        triples: &["aarch64-apple-darwin", "x86_64-apple-darwin"],
        work: WITH_TESTS,
    },
    Target { name: "freebsd", triples: &["x86_64-unknown-freebsd"], work: WITH_TESTS },
    Target { name: "windows-aarch64", triples: &["aarch64-pc-windows-gnullvm"], work: WITH_TESTS },
    Target { name: "wasm32v1", triples: &["wasm32v1-none"], work: Work::WebWithoutStd },
    Target {
        name: "bare-metal",
        triples: &["aarch64-unknown-none", "riscv64gc-unknown-none-elf"],
        work: Work::BareMetal,
    },
];

#[cfg(test)]
mod tests {
    use super::TARGETS;

    #[test]
    fn setup_knows_every_target() {
        let setup = include_str!("../../cross/setup.sh");
        for target in TARGETS {
            let function = format!("target_{}()", target.name.replace('-', "_"));
            assert!(setup.contains(&function), "{function}");
        }
    }
}
