//! Which spans are recorded.

use std::ffi::OsString;

use tach_core::adapter;

use crate::faults::{Fault, unless};
use tach_record::ids::SpanContext;

const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const ARGUMENT: &str = "OTEL_TRACES_SAMPLER_ARG";

/// Which spans are recorded and sent, for `Builder::sampling`.
///
/// The decision is made for the root of a trace. Its descendants follow it, in other services too:
/// a span follows the sampled flag of its parent. By default all traces are sampled.
///
/// A parent may be set after the start, by
/// `SpanExt::set_remote_parent` for example. So the decision
/// that a span is not sampled waits until a thread has left the span for the first time, or the
/// span closes, if the span has no parent in this process or declares the field `otel.kind`. Until
/// then its fields, links and status are kept in this process.
///
/// All other spans that are not sampled have ids, which their records have in other sinks, and cost
/// little else: their fields are read only for lines, and for the
/// [`Durations`](crate::Durations) that they are counted by. No span that is not sampled is sent.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Pipeline, Sampling};
///
/// let sampling = Sampling::ratio(0.1).target("app::health", 0.0).span("checkout", 1.0);
/// let builder = Pipeline::builder().sampling(sampling);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Sampling {
    others: Ratio,
    rules: Vec<Rule>,
    follows_parents: bool,
    skips_children: bool,
    /// The variable that can't be used, if there is one: its name, its value and the reason.
    fault: Option<(&'static str, String, &'static str)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    by: By,
    text: String,
    ratio: Ratio,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Target,
    Name,
}

impl Sampling {
    /// Samples this part of all traces, from 0 to 1. Another ratio, also of a rule, fails
    /// `Builder::build`.
    ///
    /// The id of the trace decides, as in OpenTelemetry's SDKs for Rust and Go: services with the
    /// same ratio choose the same traces.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sampling};
    ///
    /// let builder = Pipeline::builder().sampling(Sampling::ratio(0.01));
    /// ```
    pub fn ratio(ratio: f64) -> Self {
        let (others, rules) = (Ratio::new(ratio), Vec::new());
        Self { others, rules, follows_parents: true, skips_children: false, fault: None }
    }

    /// Returns the sampling that `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` name:
    /// `always_on`, `always_off` or `traceidratio`, which ignore parents, or the same after
    /// `parentbased_`. If the first is empty or not set, all traces are sampled. Neither is read in
    /// a process with privileges that its caller lacks: see
    /// [`tach_core::Config::trust_environment`].
    ///
    /// A variable that can't be used is ignored and reported as
    /// `Incident::Environment`, or fails
    /// `Builder::build` after
    /// `Builder::strict_environment`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sampling};
    ///
    /// let builder = Pipeline::builder().sampling(Sampling::from_env());
    /// ```
    pub fn from_env() -> Self {
        Self::from_variables(adapter::variable)
    }

    /// Samples traces by this ratio if the target of the root starts with `prefix`. Of several
    /// rules that apply, the first one counts.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Sampling;
    ///
    /// let sampling = Sampling::ratio(0.1).target("app::health", 0.0);
    /// ```
    pub fn target(self, prefix: &str, ratio: f64) -> Self {
        self.rule(By::Target, prefix, ratio)
    }

    /// Samples traces by this ratio if `name` is the name of the root in the program, which its
    /// field `otel.name` does not change. Of several rules that apply, the first one counts.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Sampling;
    ///
    /// let sampling = Sampling::ratio(0.1).span("checkout", 1.0);
    /// ```
    pub fn span(self, name: &str, ratio: f64) -> Self {
        self.rule(By::Name, name, ratio)
    }

    /// Decides about each span as about a root, whatever was decided about its parent.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Sampling;
    ///
    /// // A service that trusts no decision of its callers.
    /// let sampling = Sampling::ratio(0.1).ignore_parents();
    /// ```
    pub fn ignore_parents(mut self) -> Self {
        self.follows_parents = false;
        self
    }

    /// Disables spans within a span that is not sampled, for the whole subscriber: they cost hardly
    /// more than a span that the filter refuses. A span with the field `otel.kind` starts always.
    ///
    /// Such spans have no durations, and lines within them lack their names and fields. A span that
    /// names another, sampled span or `None` as its parent is missing too. It can't be combined with
    /// [`ignore_parents`](Self::ignore_parents). All other spans of the program cost
    /// a little more, since `tracing` asks the pipeline at each start.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sampling};
    ///
    /// let builder = Pipeline::builder().sampling(Sampling::ratio(0.01).skip_children());
    /// ```
    pub fn skip_children(mut self) -> Self {
        self.skips_children = true;
        self
    }

    /// Samples no span.
    pub fn none() -> Self {
        Self::ratio(0.0).ignore_parents()
    }

    fn rule(mut self, by: By, text: &str, ratio: f64) -> Self {
        self.rules.push(Rule { by, text: text.to_owned(), ratio: Ratio::new(ratio) });
        self
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        // An empty variable counts as unset.
        let find = |name| variable(name).filter(|value| !value.is_empty());
        let Some(value) = find(SAMPLER) else { return Self::default() };
        let value = value.to_string_lossy().trim().to_ascii_lowercase();
        let (follows_parents, root) = match value.strip_prefix("parentbased_") {
            Some(root) => (true, root),
            None => (false, &*value),
        };
        let argument = || match find(ARGUMENT) {
            Some(text) => {
                let ratio = text.to_str().and_then(|text| text.trim().parse().ok());
                ratio.filter(|ratio| (0.0..=1.0).contains(ratio)).ok_or_else(|| {
                    let text = text.to_string_lossy().into_owned();
                    (ARGUMENT, text, "it must be a number from 0 to 1")
                })
            }
            None => Ok(1.0),
        };
        let ratio = match root {
            "always_on" => Ok(1.0),
            "always_off" => Ok(0.0),
            "traceidratio" => argument(),
            _ => {
                const NAMES: &str = "it must be always_on, always_off, traceidratio, or one of \
                                     these after parentbased_";
                return Self { fault: Some((SAMPLER, value, NAMES)), ..Self::default() };
            }
        };
        // Without its argument, the sampler samples all traces.
        let (ratio, fault) = ratio.map_or_else(|fault| (1.0, Some(fault)), |ratio| (ratio, None));
        Self { follows_parents, fault, ..Self::ratio(ratio) }
    }

    /// Returns the fault of the environment, if it has one, as a sentence.
    pub fn environment_fault(&self) -> Option<String> {
        let message = |(name, value, reason): &(_, String, _)| {
            format!("can't use {name} {value:?}: {reason}")
        };
        self.fault.as_ref().map(message)
    }

    /// Returns a fault for each option that can't work.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.others.check(&mut faults, |ratio| format!("Sampling::ratio({ratio:?})"));
        for Rule { by, text, ratio } in &self.rules {
            let method = match by {
                By::Target => "target",
                By::Name => "span",
            };
            ratio.check(&mut faults, |ratio| format!("Sampling::{method}({text:?}, {ratio:?})"));
            let has_text = *by == By::Target || !text.is_empty();
            unless(
                has_text,
                &mut faults,
                || format!("Sampling::{method}({text:?}, ..)"),
                "a span has a name",
            );
        }
        unless(
            self.follows_parents || !self.skips_children,
            &mut faults,
            || "Sampling::skip_children()".to_owned(),
            "with ignore_parents each span has a decision of its own",
        );
        faults
    }

    /// Returns whether a span is sampled if its parent is, and only then.
    #[inline]
    pub const fn follows_parents(&self) -> bool {
        self.follows_parents
    }

    /// Returns whether a span is not sampled if another one of its trace in this process is not.
    #[inline]
    pub fn decides_for_trace(&self) -> bool {
        // Without rules, the id of the trace decides alone, so all spans of a trace agree even if
        // they ignore their parents.
        self.follows_parents || self.rules.is_empty()
    }

    /// Returns whether spans within one that is not sampled are disabled.
    #[inline]
    pub const fn skips_children(&self) -> bool {
        self.skips_children
    }

    /// Returns whether a span is sampled. `names` returns its target and its name.
    #[inline]
    pub fn has<'a>(
        &self,
        parent: Option<&SpanContext>,
        trace: u128,
        names: impl FnOnce() -> (&'a str, &'a str),
    ) -> bool {
        match parent {
            Some(parent) if self.follows_parents => parent.is_sampled,
            _ if self.rules.is_empty() => self.others.has(trace),
            _ => {
                let (target, name) = names();
                self.ratio_of(target, name).has(trace)
            }
        }
    }

    #[inline(never)]
    fn ratio_of(&self, target: &str, name: &str) -> Ratio {
        let applies = |rule: &&Rule| match rule.by {
            By::Target => target.starts_with(&rule.text),
            By::Name => name == rule.text,
        };
        self.rules.iter().find(applies).map_or(self.others, |rule| rule.ratio)
    }
}

/// Who calls the service from other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Callers {
    /// Their spans are parents.
    #[default]
    Trusted,
    /// Their spans are linked to.
    Strangers,
}

impl Callers {
    #[inline]
    pub fn are_trusted(self) -> bool {
        self == Self::Trusted
    }
}

/// Samples all traces, except those whose parent is not sampled.
impl Default for Sampling {
    fn default() -> Self {
        Self::ratio(1.0)
    }
}

/// The number of different values of the bits that decide.
const ALL: u64 = 1 << 63;

/// How many of the traces are sampled.
///
/// The upper 63 of the lower 64 bits of the trace's id decide, as in OpenTelemetry's SDKs for Rust
/// and Go, so that services with the same ratio choose the same traces. A higher ratio chooses all
/// traces of a lower one. (The specification asks for no algorithm: see its issue 1413.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ratio {
    /// The first number whose traces are not sampled.
    end: u64,
    /// The ratio as the program gave it. In bits, so that NaN equals itself.
    given: u64,
}

impl Ratio {
    /// Returns the nearest ratio from 0 to 1. Not a number is 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "2^63 is exact, and a cast of floats saturates"
    )]
    pub(crate) fn new(ratio: f64) -> Self {
        Self { end: (ratio.clamp(0.0, 1.0) * ALL as f64) as u64, given: ratio.to_bits() }
    }

    /// Adds a fault unless the ratio is from 0 to 1. `call` returns the call that set it.
    pub(crate) fn check(self, faults: &mut Vec<Fault>, call: impl FnOnce(f64) -> String) {
        let ratio = f64::from_bits(self.given);
        unless((0.0..=1.0).contains(&ratio), faults, || call(ratio), "a ratio is from 0 to 1");
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
    #[inline]
    pub(crate) fn has(self, trace: u128) -> bool {
        (trace as u64) >> 1 < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENTS: [Option<SpanContext>; 3] = [
        None,
        Some(SpanContext { trace: 1, span: 1, is_sampled: false }),
        Some(SpanContext { trace: 1, span: 1, is_sampled: true }),
    ];

    fn variables(sampler: &str, argument: &str) -> Sampling {
        Sampling::from_variables(|name| {
            Some(if name == SAMPLER { sampler.into() } else { argument.into() })
        })
    }

    #[test]
    fn a_span_follows_its_parent() {
        let has = |sampling: &Sampling| {
            PARENTS.map(|parent| sampling.has(parent.as_ref(), 1, || ("app", "a")))
        };
        for (ratio, of_root) in [(0.0, false), (1.0, true)] {
            let sampling = Sampling::ratio(ratio);
            assert_eq!(has(&sampling), [of_root, false, true]);
            assert_eq!(has(&sampling.ignore_parents()), [of_root; 3]);
        }
    }

    /// Otherwise a child of an unsampled span would be left out although its name has a rule.
    #[test]
    fn only_a_rule_decides_otherwise_within_a_trace() {
        let ratio = || Sampling::ratio(0.5);
        assert!(ratio().decides_for_trace() && ratio().ignore_parents().decides_for_trace());
        assert!(ratio().span("query", 1.0).decides_for_trace());
        assert!(!ratio().span("query", 1.0).ignore_parents().decides_for_trace());
    }

    #[test]
    fn the_first_rule_that_applies_counts() {
        let sampling =
            Sampling::ratio(0.0).target("app::db", 1.0).span("ping", 0.0).target("app", 1.0);
        let has = |target, name| sampling.has(None, 1, || (target, name));
        assert!(has("app::db::pool", "ping") && has("app", "pong"));
        assert!(!has("app", "ping") && !has("other::app", "pong"));
    }

    #[test]
    fn each_name_of_the_specification_is_known() {
        for (name, expected) in [
            ("", Sampling::ratio(1.0)),
            ("parentbased_always_on", Sampling::ratio(1.0)),
            ("parentbased_always_off", Sampling::ratio(0.0)),
            ("parentbased_traceidratio", Sampling::ratio(0.25)),
            ("always_on", Sampling::ratio(1.0).ignore_parents()),
            (" Always_Off ", Sampling::ratio(0.0).ignore_parents()),
            ("traceidratio", Sampling::ratio(0.25).ignore_parents()),
        ] {
            assert_eq!(variables(name, " 0.25"), expected, "{name}");
        }
        assert_eq!(variables("parentbased_traceidratio", ""), Sampling::ratio(1.0));
    }

    #[test]
    fn a_variable_that_can_t_be_used_is_named_and_counts_as_unset() {
        let always_on = Sampling::ratio(1.0);
        for (sampler, argument, named, used) in [
            ("xray", "", "OTEL_TRACES_SAMPLER \"xray\"", always_on.clone()),
            (
                "parentbased_jaeger",
                "",
                "OTEL_TRACES_SAMPLER \"parentbased_jaeger\"",
                always_on.clone(),
            ),
            (
                "traceidratio",
                "ten",
                "OTEL_TRACES_SAMPLER_ARG \"ten\"",
                always_on.clone().ignore_parents(),
            ),
            (
                "parentbased_traceidratio",
                "1.5",
                "OTEL_TRACES_SAMPLER_ARG \"1.5\"",
                always_on.clone(),
            ),
            (
                "parentbased_traceidratio",
                "NaN",
                "OTEL_TRACES_SAMPLER_ARG \"NaN\"",
                always_on.clone(),
            ),
        ] {
            let sampling = variables(sampler, argument);
            let error = sampling.environment_fault().unwrap();
            assert!(error.contains(named), "{error}");
            assert_eq!(Sampling { fault: None, ..sampling }, used, "{sampler}");
        }
    }

    #[test]
    fn the_upper_bits_of_the_lower_half_decide() {
        for (ratio, id, expected) in [
            (0.0, 0, false),
            (f64::NAN, 0, false),
            (-1.0, 0, false),
            (0.5, u128::from(u64::MAX >> 1), true),
            (0.5, u128::from(1_u64 << 63), false),
            (0.5, u128::MAX << 64, true),
            (0.25, u128::from(u64::MAX >> 2), true),
            (0.25, u128::from(1_u64 << 62), false),
            (1.0, u128::MAX, true),
            (7.0, u128::MAX, true),
        ] {
            assert_eq!(Ratio::new(ratio).has(id), expected, "{ratio} {id:x}");
        }
    }
}
