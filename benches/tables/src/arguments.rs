//! The arguments that all benchmarks take.

use std::{env, process};

/// The arguments of a benchmark: `[--quick] [PART...]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Fewer rounds: the figures are rough, and no record.
    pub quick: bool,
    /// Parts of the names of the rows or groups to measure; all if there are none.
    parts: Vec<String>,
}

impl Arguments {
    /// Reads the arguments of this program. Ends it if one of them is unknown, or if it asks for
    /// help.
    ///
    /// `names` has the names that can be chosen: none if the benchmark can only be run whole.
    #[must_use]
    pub fn read(names: &[&str]) -> Self {
        Self::of(&env::args().skip(1).collect::<Vec<_>>(), names)
    }

    /// Like [`read`](Self::read), for arguments that follow others.
    #[must_use]
    #[expect(clippy::print_stdout, reason = "the help is what was asked for")]
    pub fn of(arguments: &[String], names: &[&str]) -> Self {
        if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
            println!("{}", usage(names));
            process::exit(0);
        }
        Self::parse(arguments, names).unwrap_or_else(|problem| {
            eprintln!("{problem}\n{}", usage(names));
            process::exit(2);
        })
    }

    /// Parses arguments.
    ///
    /// # Errors
    ///
    /// If an option is unknown, or a part is in none of the names.
    pub fn parse(arguments: &[String], names: &[&str]) -> Result<Self, String> {
        let mut parsed = Self::default();
        for argument in arguments {
            if argument == "--quick" {
                parsed.quick = true;
            } else if argument.starts_with("--") {
                return Err(format!("\"{argument}\" is no option"));
            } else if names.is_empty() {
                return Err(format!("\"{argument}\": this benchmark is always run whole"));
            } else if names.iter().all(|name| !name.contains(&**argument)) {
                return Err(format!("\"{argument}\" is in no name"));
            } else {
                parsed.parts.push(argument.clone());
            }
        }
        // A part that is a whole name means no other.
        let is_name = |part: &String| names.contains(&&**part);
        if parsed.parts.iter().any(is_name) {
            parsed.parts.retain(is_name);
            parsed.parts.iter_mut().for_each(|part| part.insert(0, '='));
        }
        Ok(parsed)
    }

    /// Returns whether a row or a group of this name is to be measured.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        let is_part = |part: &String| match part.strip_prefix('=') {
            Some(whole) => name == whole,
            None => name.contains(&**part),
        };
        self.parts.is_empty() || self.parts.iter().any(is_part)
    }

    /// Returns whether all is to be measured.
    #[must_use]
    pub fn wants_all(&self) -> bool {
        self.parts.is_empty()
    }
}

fn usage(names: &[&str]) -> String {
    if names.is_empty() {
        return "arguments: [--quick]\n  --quick  fewer rounds, and no record".to_owned();
    }
    format!(
        "arguments: [--quick] [PART...]\n  --quick  fewer rounds, and no record\n  PART     only the \
         names that contain it, of these:\n           {}",
        names.join("\n           ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["tach", "tach, tail", "fastrace"];

    fn parse(arguments: &[&str]) -> Result<Arguments, String> {
        let arguments: Vec<_> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Arguments::parse(&arguments, &NAMES)
    }

    fn wanted(arguments: &[&str]) -> Vec<&'static str> {
        let parsed = parse(arguments).unwrap();
        NAMES.into_iter().filter(|name| parsed.wants(name)).collect()
    }

    #[test]
    fn parts_choose_names() {
        assert_eq!(wanted(&[]), NAMES);
        assert_eq!(wanted(&["--quick"]), NAMES);
        assert_eq!(wanted(&["tail", "fast"]), ["tach, tail", "fastrace"]);
        assert_eq!(wanted(&["ta"]), ["tach", "tach, tail"]);
        // A whole name means no other.
        assert_eq!(wanted(&["tach"]), ["tach"]);
        assert_eq!(wanted(&["tach", "fastrace"]), ["tach", "fastrace"]);
        assert!(parse(&["--quick"]).unwrap().quick && parse(&["--quick"]).unwrap().wants_all());
        assert!(!parse(&["tail"]).unwrap().quick && !parse(&["tail"]).unwrap().wants_all());
    }

    #[test]
    fn what_is_unknown_is_named() {
        assert_eq!(parse(&["--fast"]).unwrap_err(), "\"--fast\" is no option");
        assert_eq!(parse(&["3"]).unwrap_err(), "\"3\" is in no name");
        let whole = Arguments::parse(&["tach".to_owned()], &[]).unwrap_err();
        assert_eq!(whole, "\"tach\": this benchmark is always run whole");
    }
}
