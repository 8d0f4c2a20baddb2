//! Each timer that the documentation shows compiles as it stands.

use core::error::Error;
use std::fs;
use std::path::Path;

use tach_tracing::{FixedOffset, UnixMillis, UnixNanos, Uptime, Utc};
use tracing_subscriber::{EnvFilter, fmt};

/// Compiles each timer as an argument, and returns the texts.
macro_rules! compiled {
    ($($timer:expr),* $(,)?) => {
        [$({
            let _ = fmt().with_timer($timer);
            let _ = fmt::layer::<tracing_subscriber::Registry>().with_timer($timer);
            stringify!($timer)
        }),*]
    };
}

/// Returns the arguments of `with_timer` in a page.
fn shown(page: &str) -> Vec<&str> {
    let argument = |text: &str| {
        let mut depth = 1;
        let end = text.find(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        end.expect("a closing parenthesis")
    };
    page.split("with_timer(").skip(1).map(|text| &text[..argument(text)]).collect()
}

#[test]
fn the_timers_of_readme_guide_and_migration_page_compile() -> Result<(), Box<dyn Error>> {
    let offset = "+05:30".parse()?;
    let texts = compiled![
        tach_tracing::FixedOffset::new(offset),
        tach_tracing::UnixMillis,
        tach_tracing::UnixNanos,
        tach_tracing::Uptime,
        tach_tracing::Utc,
        FixedOffset::new(offset),
        UnixMillis,
        UnixNanos,
        Uptime,
        Utc,
        Utc.digits(3),
    ]
    .to_vec();
    #[cfg(feature = "jiff")]
    let texts = {
        use tach_tracing::Local;

        let more = compiled![tach_tracing::Local, Local, Local.digits(9)];
        [&texts[..], &more[..]].concat()
    };
    let _ = fmt().with_env_filter(EnvFilter::new("info")).with_timer(Utc);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pages = [
        "README.md",
        "tach-tracing/README.md",
        "tach-pipeline/docs/guide.md",
        "tach-pipeline/docs/moving.md",
    ];
    for page in pages.map(|page| root.join(page)) {
        // A published package has no other pages.
        let Ok(text) = fs::read_to_string(&page) else { continue };
        let shown = shown(&text);
        assert!(!shown.is_empty(), "{}", page.display());
        for timer in shown {
            let is_local = timer.contains("Local");
            let is_compiled = texts.contains(&timer) || is_local && !cfg!(feature = "jiff");
            assert!(is_compiled, "{} shows with_timer({timer})", page.display());
        }
    }
    Ok(())
}
