//! One call in place of `tracing_subscriber::fmt::init`.

use core::error::Error;

use tach_core::adapter;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::timers::Utc;

/// Installs the subscriber that [`tracing_subscriber::fmt::init`] installs, with the timer
/// [`Utc`](const@Utc).
///
/// Lines have the same form. The variable `RUST_LOG` has the same meaning: directives of
/// `EnvFilter` if the feature `env-filter` is on, and otherwise of
/// [`Targets`](tracing_subscriber::filter::Targets). Turn the feature on if your program turns that
/// of tracing-subscriber on. Without the variable, `EnvFilter` enables errors and `Targets` enables
/// the level `INFO`. In a process with privileges that its caller lacks, the variable counts as
/// not set: see [`tach_core::Config::trust_environment`].
///
/// As with `fmt::init`, lines have colours and records of `log` arrive if the program turns on the
/// features `ansi` and `tracing-log` of tracing-subscriber, which are among its default ones.
///
/// # Panics
///
/// If [`try_init`] returns an error.
///
/// # Examples
///
/// ```
/// tach_tracing::init();
/// tracing::info!("ready");
/// ```
pub fn init() {
    try_init().expect("unable to install the global subscriber");
}

/// Installs the subscriber of [`init`].
///
/// # Errors
///
/// If a global subscriber is installed already: then that one stays. With tracing-subscriber's
/// feature `tracing-log` also if `log` has a logger already: then the subscriber is installed, and
/// the records of `log` go on to that logger.
///
/// # Examples
///
/// ```
/// tach_tracing::init();
/// assert!(tach_tracing::try_init().is_err());
/// ```
pub fn try_init() -> Result<(), Box<dyn Error + Send + Sync>> {
    let directives = adapter::variable("RUST_LOG");
    let builder = tracing_subscriber::fmt().with_timer(Utc);
    #[cfg(feature = "env-filter")]
    let subscriber = builder.with_env_filter(env_filter(directives)).finish();
    #[cfg(not(feature = "env-filter"))]
    let subscriber = {
        use tracing_subscriber::layer::SubscriberExt as _;
        let subscriber = builder.with_max_level(tracing_core::LevelFilter::TRACE).finish();
        subscriber.with(targets(directives))
    };
    Ok(subscriber.try_init()?)
}

/// Returns the filter that `EnvFilter::from_default_env` would read.
#[cfg(feature = "env-filter")]
fn env_filter(directives: Option<std::ffi::OsString>) -> tracing_subscriber::EnvFilter {
    let directives = directives.and_then(|text| text.into_string().ok()).unwrap_or_default();
    tracing_subscriber::EnvFilter::builder()
        .with_default_directive(tracing_core::LevelFilter::ERROR.into())
        .parse_lossy(directives)
}

/// Returns the filter that `tracing_subscriber::fmt::try_init` reads without `EnvFilter`:
/// everything is off if the text can't be parsed, and `INFO` is on if it is not Unicode.
#[cfg(not(feature = "env-filter"))]
fn targets(directives: Option<std::ffi::OsString>) -> tracing_subscriber::filter::Targets {
    use tracing_subscriber::filter::Targets;

    #[expect(clippy::print_stderr, reason = "tracing-subscriber does, and nothing else is there")]
    fn complain(about: core::fmt::Arguments<'_>) {
        eprintln!("{about}");
    }

    let default = || Targets::new().with_default(tracing_core::LevelFilter::INFO);
    match directives.map(std::ffi::OsString::into_string) {
        None => default(),
        Some(Ok(directives)) => directives.parse().unwrap_or_else(|error| {
            complain(format_args!("Ignoring `RUST_LOG={directives:?}`: {error}"));
            Targets::new()
        }),
        Some(Err(directives)) => {
            let error = std::env::VarError::NotUnicode(directives);
            complain(format_args!("Ignoring `RUST_LOG`: {error}"));
            default()
        }
    }
}
