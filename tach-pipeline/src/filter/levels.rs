//! The levels of one list of directives, and the function of a program that decides too.

use core::fmt;
use core::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe};
use std::panic;
use std::sync::Arc;

use env_filter::{Builder, Filter};
use log::{LevelFilter, Metadata};

use super::words;
use crate::channel::current_thread::silently;
use crate::error::Error;
use crate::incident::Incident;
use crate::level::Level;
use crate::sync::Switch;

/// The target of the pipeline's own [records](crate::report), which no filter by target refuses.
pub(crate) const OWN_TARGET: &str = "tach_pipeline";
/// Characters of filters that `env_filter` would take for parts of a target.
const NO_TARGETS: [char; 4] = ['[', ']', '{', '}'];

/// The levels of one list of directives.
#[derive(Debug, Clone)]
pub(crate) struct Levels {
    directives: String,
    filter: Filter,
    /// The most verbose level, for any target.
    pub(super) most: LevelFilter,
    /// Whether more than the most verbose level decides.
    pub(super) is_by_target: bool,
    pub(super) only: Option<Only>,
    /// The directives that can be used, and hardly do what they were written for.
    doubts: Vec<Doubt>,
}

/// A directive that applies, and hardly does what it was written for.
#[derive(Debug, Clone)]
pub(crate) struct Doubt {
    directive: String,
    reason: String,
}

impl Doubt {
    pub(crate) fn incident(&self) -> Incident<'_> {
        Incident::Filter { directive: &self.directive, reason: &self.reason }
    }
}

/// A function of the program's that decides about records too. After a panic the function is not
/// called again, and all records pass.
#[derive(Clone)]
pub(crate) struct Only(Arc<Function>);

struct Function {
    is_written: Box<IsWritten>,
    has_panicked: Switch,
    /// Whether the panic is still to be reported.
    is_untold: Switch,
}

type IsWritten = dyn Fn(&Metadata<'_>) -> bool + Send + Sync;

impl Only {
    pub(crate) fn new(is_written: impl Fn(&Metadata<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(Function {
            is_written: Box::new(is_written),
            has_panicked: Switch::default(),
            is_untold: Switch::default(),
        }))
    }

    /// Calls the function. Drops the records that the function, or a panic hook, logs meanwhile:
    /// otherwise each of them would cause another call, without end.
    fn accepts(&self, metadata: &Metadata<'_>) -> bool {
        let Function { is_written, has_panicked, is_untold } = &*self.0;
        if has_panicked.is_on() {
            return true;
        }
        let call = || panic::catch_unwind(AssertUnwindSafe(|| is_written(metadata)));
        silently(call).unwrap_or_else(|_| {
            has_panicked.on();
            is_untold.on();
            true
        })
    }
}

/// A panic of the function leaves no state of the pipeline half changed.
impl UnwindSafe for Only {}
impl RefUnwindSafe for Only {}

impl fmt::Debug for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Only")
    }
}

impl Levels {
    /// Parses directives.
    ///
    /// # Errors
    ///
    /// If `directives` can't be parsed.
    pub(crate) fn parse(directives: &str) -> Result<Self, Error> {
        // In env_logger, a slash begins a pattern for messages. A pipeline filters before the
        // message exists.
        if directives.contains('/') {
            return Err(Error::filter(
                directives,
                "a slash begins a pattern for messages, and a pipeline has none",
            ));
        }
        if directives.contains(NO_TARGETS) {
            return Err(Error::filter(
                directives,
                "brackets begin a filter by spans or fields, and a pipeline has none",
            ));
        }
        // Refuse a star: `*` would be a target that no record has.
        if directives.contains('*') {
            return Err(Error::filter(
                directives,
                "a level alone is for all targets, without a star",
            ));
        }
        if directives.split(',').all(|directive| directive.trim().is_empty()) {
            return Err(Error::filter(directives, "it is empty"));
        }
        for word in directives.split(',').map(str::trim) {
            if let Some(level) = words::meant_as(word) {
                let level = level.as_str().to_ascii_lowercase();
                let fault = if word.starts_with('=') {
                    format!("{word:?} has no target; write {level:?} for the level")
                } else {
                    format!(
                        "{word:?} alone is a target; write {level:?} for the level, or \
                         \"{word}=trace\" for the target"
                    )
                };
                return Err(Error::filter(directives, &fault));
            }
        }
        let named = named(directives);
        let doubts = named.split(',').filter_map(|it| doubt(it, compiled())).collect();
        let filter = Builder::new()
            .try_parse(&named)
            .map_err(|error| Error::filter(directives, &error.to_string()))?
            .build();
        let is_by_target = named.trim().parse::<LevelFilter>().is_err();
        let (directives, most) = (directives.to_owned(), filter.filter());
        Ok(Self { directives, filter, most, is_by_target, only: None, doubts })
    }

    /// Returns the directives of an environment's variable that can be used, if there are any, and
    /// the faults of the others.
    pub(crate) fn usable(variable: &str, directives: &str) -> (Option<String>, Vec<Error>) {
        let (mut usable, mut faults) = (Vec::new(), Vec::new());
        let directives = split(directives).into_iter().map(str::trim);
        for directive in directives.filter(|directive| !directive.is_empty()) {
            match Self::parse(directive) {
                Ok(_) => usable.push(directive),
                Err(fault) => faults.push(fault.of(&format!("the variable {variable}"))),
            }
        }
        ((!usable.is_empty()).then(|| usable.join(",")), faults)
    }

    /// Returns `level` for all targets.
    pub(crate) fn all(level: LevelFilter) -> Self {
        let filter = Builder::new().filter_level(level).build();
        Self {
            directives: level.as_str().to_ascii_lowercase(),
            filter,
            most: level,
            is_by_target: false,
            only: None,
            doubts: Vec::new(),
        }
    }

    /// Returns the same levels, with a function that decides too.
    pub(crate) fn only(self, only: Option<Only>) -> Self {
        Self { is_by_target: self.is_by_target || only.is_some(), only, ..self }
    }

    /// Returns whether the function has panicked, if that was not returned before.
    pub(crate) fn take_panic(&self) -> bool {
        self.only.as_ref().is_some_and(|only| only.0.is_untold.off())
    }

    pub(crate) const fn most(&self) -> LevelFilter {
        self.most
    }

    pub(crate) fn directives(&self) -> &str {
        &self.directives
    }

    /// Returns the directives that hardly do what they were written for.
    pub(crate) fn doubts(&self) -> impl Iterator<Item = Incident<'_>> {
        self.doubts.iter().map(Doubt::incident)
    }

    /// Returns whether a sink with these levels writes such a record. The pipeline's own records
    /// pass at their level, since their counts are found nowhere else.
    #[inline]
    pub(crate) fn enabled(&self, level: Level, target: &str) -> bool {
        level.passes(self.most)
            && (!self.is_by_target || target == OWN_TARGET || self.enabled_by_target(level, target))
    }

    #[inline(never)]
    pub(super) fn enabled_by_target(&self, level: Level, target: &str) -> bool {
        let metadata = Metadata::builder().level(level.of_log()).target(target).build();
        self.filter.enabled(&metadata)
            && self.only.as_ref().is_none_or(|only| only.accepts(&metadata))
    }
}

/// Returns why a directive hardly does what it was written for. Its level must be a [name](named).
/// `compiled` are the front ends, each with the most verbose level that it is compiled with.
fn doubt(
    directive: &str,
    compiled: impl IntoIterator<Item = (&'static str, LevelFilter)>,
) -> Option<Doubt> {
    let (target, level) = directive.split_once('=').unwrap_or((directive, directive));
    let level = level.trim().parse().unwrap_or(LevelFilter::Off);
    let reason = if target.contains('-') {
        let module = target.trim().replace('-', "_");
        format!("the name of a module has no hyphen: the crate's records have the target {module}")
    } else if let Some((front, most)) = compiled.into_iter().find(|(_, most)| *most < level) {
        format!("{front} is compiled with records up to {most}, so it has none of {level}")
    } else {
        return None;
    };
    Some(Doubt { directive: directive.trim().to_owned(), reason })
}

/// Returns the front ends, and the most verbose level that each is compiled with.
fn compiled() -> impl IntoIterator<Item = (&'static str, LevelFilter)> {
    [
        ("log", log::STATIC_MAX_LEVEL),
        #[cfg(feature = "tracing")]
        ("tracing", tracing_log::AsLog::as_log(&tracing::level_filters::STATIC_MAX_LEVEL)),
    ]
}

/// Returns the directives with the names of levels in place of tracing's numbers for them: 0 for
/// `off` to 5 for `trace`. `env_filter` would take such a number for a target.
fn named(directives: &str) -> String {
    let named = directives.split(',').map(|directive| {
        let (target, level) = match directive.rsplit_once('=') {
            Some((target, level)) => (format!("{target}="), level),
            None => (String::new(), directive),
        };
        let number = level.trim().parse().ok();
        match number.and_then(|number| LevelFilter::iter().nth(number)) {
            Some(level) => format!("{target}{level}"),
            None => directive.to_owned(),
        }
    });
    named.collect::<Vec<_>>().join(",")
}

/// Splits directives at the commas, except within brackets, where a comma separates the fields of a
/// span. The last item is a pattern for messages, with the slash that begins it, if there is one.
fn split(directives: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, character) in directives.char_indices() {
        match character {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(&directives[start..at]);
                start = at + 1;
            }
            '/' if depth == 0 => {
                items.push(&directives[start..at]);
                start = at;
                break;
            }
            _ => {}
        }
    }
    items.push(&directives[start..]);
    items
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};

    use log::Level as L;

    use super::*;

    fn levels(directives: &str) -> Levels {
        Levels::parse(directives).unwrap()
    }

    #[test]
    fn a_sink_has_levels_of_its_own() {
        let levels = levels(" warn , app::db=debug");
        let enabled = |level: L, target| levels.enabled(level.into(), target);
        assert!(enabled(L::Debug, "app::db"));
        assert!(!enabled(L::Info, "app"));
        assert!(!enabled(L::Trace, "app::db"));
        assert!(Levels::parse("app=warn").unwrap().enabled(L::Warn.into(), OWN_TARGET));
        assert!(!Levels::parse("app=warn").unwrap().enabled(L::Warn.into(), "other"));
        assert!(Levels::all(LevelFilter::Info).enabled(L::Info.into(), "any"));
        assert!(!Levels::all(LevelFilter::Info).enabled(L::Debug.into(), "any"));
    }

    #[test]
    fn a_function_that_panics_is_not_called_again() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let only = Only::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose");
        });
        let levels = Levels::all(LevelFilter::Info).only(Some(only));
        assert!(levels.enabled(L::Info.into(), "any") && levels.enabled(L::Info.into(), "any"));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert!(levels.take_panic() && !levels.take_panic());
    }

    #[test]
    fn a_level_may_be_tracing_s_number() {
        for (number, level) in (0..6).zip(LevelFilter::iter()) {
            assert_eq!(levels(&number.to_string()).most(), level);
            let of_target = levels(&format!("off, app={number}"));
            assert_eq!(of_target.most(), level);
            assert!(level == LevelFilter::Off || of_target.enabled(L::Error.into(), "app"));
        }
        // A target may begin with a digit.
        assert!(levels("3d=debug").enabled(L::Debug.into(), "3d::x"));
    }

    #[test]
    fn an_invalid_filter_names_its_fault() {
        let cases = [
            ("app=loud", "'loud'"),
            ("info/secret", "slash"),
            ("info,app[request]=debug", "brackets"),
            ("app{id=7}=debug", "brackets"),
            ("*=info", "star"),
            ("app=6", "'6'"),
            ("a=b=c", "'a=b=c'"),
            ("warning", "\"warn\""),
            ("app=info, inof", "\"info\""),
            ("=debug", "has no target"),
            ("ALL", "\"trace\""),
            ("none", "\"none=trace\""),
            (" , ", "empty"),
        ];
        for (directives, fault) in cases {
            let error = Levels::parse(directives).unwrap_err();
            assert!(error.is_option(), "{directives}");
            let error = error.to_string();
            assert!(error.contains(&format!("{directives:?}")), "{error}");
            assert!(error.contains(fault), "{error}");
        }
    }

    #[test]
    fn a_directive_that_selects_nothing_is_doubted() {
        let doubts = |directives| -> Vec<_> {
            levels(directives).doubts().map(|doubt| doubt.to_string()).collect()
        };
        assert!(doubts("info,my_app=debug,app::db=trace").is_empty());
        let [hyphen] = &*doubts("info, my-app=debug") else { panic!() };
        assert!(hyphen.contains("my-app=debug") && hyphen.contains("my_app"), "{hyphen}");
        assert_eq!(doubts("my-app").len(), 1);
        let compiled = [("log", LevelFilter::Trace), ("tracing", LevelFilter::Info)];
        for (directive, is_doubted) in [("app=debug", true), ("TRACE", true), ("app", false)] {
            let doubt = doubt(directive, compiled);
            let named =
                |it: &Doubt| it.reason.contains("tracing is compiled with records up to INFO");
            assert_eq!(doubt.is_some_and(|it| named(&it)), is_doubted, "{directive}");
        }
        // The directive applies: a target of that name can be given to each record.
        assert!(levels("my-app=debug").enabled(L::Debug.into(), "my-app"));
    }

    #[test]
    fn a_variable_s_directives_are_used_except_those_that_can_t_be() {
        let cases: [(&str, Option<&str>, &[&str]); 13] = [
            ("warn, app::db=debug", Some("warn,app::db=debug"), &[]),
            ("info,app=loud", Some("info"), &["\"app=loud\""]),
            ("a=b=c,app=debug,", Some("app=debug"), &["\"a=b=c\""]),
            ("[request]=trace,warn", Some("warn"), &["\"[request]=trace\""]),
            ("app[a{b=1,c,d}]=trace,warn", Some("warn"), &["\"app[a{b=1,c,d}]=trace\""]),
            ("a[x=1,warn", None, &["\"a[x=1,warn\""]),
            ("]=info,warn", Some("warn"), &["\"]=info\""]),
            ("info/secret,app=debug", Some("info"), &["\"/secret,app=debug\""]),
            ("app[{path=\"/\"}]=debug,info", Some("info"), &["slash"]),
            ("app=loud,b=9", None, &["\"app=loud\"", "\"b=9\""]),
            ("app=debug,warning", Some("app=debug"), &["\"warning\""]),
            ("*=debug,b=1", Some("b=1"), &["\"*=debug\""]),
            (" , ", None, &[]),
        ];
        for (directives, usable, expected) in cases {
            let (used, faults) = Levels::usable("RUST_LOG", directives);
            assert_eq!(used.as_deref(), usable, "{directives}");
            assert!(used.is_none_or(|used| Levels::parse(&used).is_ok()), "{directives}");
            assert_eq!(faults.len(), expected.len(), "{faults:?}");
            for (fault, expected) in faults.iter().map(ToString::to_string).zip(expected) {
                assert!(fault.contains(expected) && fault.contains("RUST_LOG"), "{fault}");
            }
        }
    }
}
