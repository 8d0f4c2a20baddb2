//! The assembly of the hot paths: no call, no lock and no division up to the first return.
#![expect(clippy::print_stdout, reason = "the sizes are the task's output")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{cargo, run, target};

/// The instructions that a hot path must and must not hold.
struct Rule {
    function: &'static str,
    must: &'static [&'static str],
    must_not: &'static [&'static str],
    /// The most multiplications that are allowed.
    multiplications: usize,
}

const RULES: &[Rule] = &[
    Rule {
        function: "instant_now",
        must: &["rdtsc"],
        must_not: &["call", "lock", "div", "push"],
        multiplications: 0,
    },
    Rule {
        function: "monotonic_now",
        must: &["rdtscp"],
        must_not: &["call", "lock", "div", "push"],
        multiplications: 0,
    },
    Rule {
        function: "unix_now",
        must: &["rdtsc"],
        must_not: &["call", "lock", "div"],
        multiplications: 1,
    },
    Rule {
        function: "boot_now",
        must: &["rdtsc"],
        must_not: &["call", "lock", "div"],
        multiplications: 1,
    },
    Rule {
        function: "instant_elapsed",
        must: &["rdtsc"],
        must_not: &["call", "lock", "div"],
        multiplications: 1,
    },
    Rule {
        function: "monotonic_elapsed",
        must: &["rdtscp"],
        must_not: &["call", "lock", "div"],
        multiplications: 1,
    },
];

/// Compiles the hot paths and checks their assembly.
pub(crate) fn check() -> Result<(), String> {
    if !cfg!(target_arch = "x86_64") || !cfg!(target_os = "linux") {
        println!("code generation: not checked, since there are no rules for this target");
        return Ok(());
    }
    let target = target().join("codegen");
    let mut build = cargo(&["rustc", "--release", "--manifest-path", "xtask/codegen/Cargo.toml"]);
    build.arg("--target-dir").arg(&target).args(["--", "--emit", "asm"]);
    run(&mut build)?;
    let assembly = newest_assembly(&target.join("release").join("deps"))?;
    for rule in RULES {
        rule.check(&assembly)?;
    }
    // The positive control: a function with a lock and a call, which the check must find.
    let control = hot_path(&assembly, "control").ok_or("the control is not in the assembly")?;
    if !control.iter().any(|line| has_instruction(line, "lock"))
        || !control.iter().any(|line| has_instruction(line, "call") || is_tail_call(line))
    {
        return Err("the control's lock or call is not found, so the rules prove nothing".into());
    }
    Ok(())
}

impl Rule {
    fn check(&self, assembly: &str) -> Result<(), String> {
        let path = hot_path(assembly, self.function)
            .ok_or_else(|| format!("{} is not in the assembly", self.function))?;
        let fail = |what: String| Err(format!("{}: {what} in\n{}", self.function, path.join("\n")));
        let count = |name| path.iter().filter(|line| has_instruction(line, name)).count();
        if let Some(missing) = self.must.iter().find(|name| count(name) == 0) {
            return fail(format!("no {missing}"));
        }
        if let Some(found) = self.must_not.iter().find(|name| count(name) != 0) {
            return fail(format!("a {found}"));
        }
        let multiplications = count("mul") + count("imul");
        if multiplications > self.multiplications {
            return fail(format!("{multiplications} multiplications"));
        }
        println!("{:18} {} instructions", self.function, path.len());
        Ok(())
    }
}

/// Returns the instructions from a function's label to its first return. That is the path without a
/// taken branch, because the compiler puts cold code after it.
fn hot_path<'a>(assembly: &'a str, function: &str) -> Option<Vec<&'a str>> {
    let label = format!("{function}:");
    let body = assembly.lines().skip_while(|line| *line != label).skip(1);
    let mut path = Vec::new();
    for line in body.map(str::trim) {
        let mnemonic = line.split_whitespace().next().unwrap_or_default();
        if mnemonic.is_empty() || mnemonic.starts_with(['.', '#']) || mnemonic.ends_with(':') {
            continue;
        }
        path.push(line);
        if mnemonic.starts_with("ret") || is_tail_call(line) {
            return Some(path);
        }
    }
    None
}

/// Returns whether a line's mnemonic, or its prefix, is `name` with any size suffix.
fn has_instruction(line: &str, name: &str) -> bool {
    let mnemonic = line.split_whitespace().next().unwrap_or_default();
    mnemonic == name || mnemonic.strip_suffix(['b', 'w', 'l', 'q']) == Some(name)
}

fn is_tail_call(line: &str) -> bool {
    has_instruction(line, "jmp") && !line.contains(".L")
}

fn newest_assembly(folder: &Path) -> Result<String, String> {
    let read = |error| format!("can't read {}: {error}", folder.display());
    let files = fs::read_dir(folder).map_err(read)?;
    let newest = files
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("codegen-") && name.ends_with(".s")
        })
        .max_by_key(|path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok())
        .ok_or_else(|| format!("{} holds no assembly", folder.display()))?;
    fs::read_to_string(newest).map_err(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "\
fast:
\t.cfi_startproc
\tmovl\t(%rax), %eax
\tjbe\t.LBB0_2
\trdtsc
\tretq
.LBB0_2:
\tjmpq\t*slow
slow:
\tcallq\t*elsewhere
\tlock\t\tincq\t(%rdi)
\tretq
";

    #[test]
    fn the_path_ends_at_the_first_return() {
        assert_eq!(hot_path(ASSEMBLY, "fast").unwrap().len(), 4);
        assert_eq!(hot_path(ASSEMBLY, "slow").unwrap().len(), 3);
        assert!(hot_path(ASSEMBLY, "none").is_none());
    }

    #[test]
    fn a_forbidden_instruction_is_found() {
        let rule = |function| Rule {
            function,
            must: &[],
            must_not: &["call", "lock"],
            multiplications: 0,
        };
        assert!(rule("fast").check(ASSEMBLY).is_ok());
        assert!(rule("slow").check(ASSEMBLY).unwrap_err().contains("a call"));
        let must = Rule { must: &["rdtscp"], ..rule("fast") };
        assert!(must.check(ASSEMBLY).unwrap_err().contains("no rdtscp"));
    }
}
