//! Sources with one ordering weakened, or one exchange done in two steps.

/// A weaker source.
pub(super) struct Weaker {
    pub(super) line: usize,
    pub(super) change: String,
    pub(super) text: String,
}

const ORDERING: &str = "Ordering::";
/// Exchanges of one argument, each with the value to store after `old` was loaded.
const EXCHANGES: [(&str, &str); 3] = [
    ("fetch_add", "old.wrapping_add(ARGUMENT)"),
    ("fetch_max", "old.max(ARGUMENT)"),
    ("fetch_or", "old | (ARGUMENT)"),
];

/// Returns the weaker versions of a source, without weakening its comments and tests. Tests come
/// last in a file.
pub(super) fn all(source: &str) -> Result<Vec<Weaker>, String> {
    let begins_tests =
        |line: &str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
    let mut found = Vec::new();
    let mut start = 0;
    let mut lines = source.split_inclusive('\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        // Skip an import for tests alone, and a module that tests replace: neither begins the
        // tests.
        let begins_module = lines
            .peek()
            .is_some_and(|(_, next)| !next.starts_with("use ") && !next.starts_with("#[path"));
        if begins_tests(line) && begins_module {
            break;
        }
        if !line.trim_start().starts_with("//") {
            let mut add = |(change, text)| found.push(Weaker { line: index + 1, change, text });
            for (column, _) in line.match_indices(ORDERING) {
                let (before, rest) = source.split_at(start + column);
                orderings(before, rest).for_each(&mut add);
            }
            for (column, _) in line.match_indices(".fetch_").chain(line.match_indices(".swap(")) {
                let (before, rest) = source.split_at(start + column);
                split(before, rest)?.map(&mut add);
            }
        }
        start += line.len();
    }
    Ok(found)
}

/// Returns a description and the whole source for each ordering weaker than the one that `rest`
/// begins with.
fn orderings(before: &str, rest: &str) -> impl Iterator<Item = (String, String)> {
    let name_and_after = &rest[ORDERING.len()..];
    let end = name_and_after.find(|c: char| !c.is_alphanumeric()).unwrap_or_default();
    let (name, after) = name_and_after.split_at(end);
    let weaker: &[&str] = match name {
        "Acquire" | "Release" | "SeqCst" => &["Relaxed"],
        // Weaken each half alone: both must be needed.
        "AcqRel" => &["Acquire", "Release"],
        _ => &[],
    };
    weaker.iter().map(move |weaker| {
        // There is no relaxed fence, so it is removed.
        match (before.strip_suffix("fence("), after.strip_prefix(");"), *weaker) {
            (Some(before), Some(after), "Relaxed") => {
                let before = before.strip_suffix("compiler_").unwrap_or(before);
                (format!("{name} fence removed"), format!("{before}{after}"))
            }
            _ => (format!("{name} -> {weaker}"), format!("{before}{ORDERING}{weaker}{after}")),
        }
    })
}

/// Returns the source with the exchange that `rest` begins with in two steps, if the exchange's
/// result is used. The steps have the strongest orderings: only that it is one exchange is missing.
fn split(before: &str, rest: &str) -> Result<Option<(String, String)>, String> {
    let (name, arguments) = rest[1..].split_once('(').ok_or("an exchange without arguments")?;
    let (arguments, after) = inside(arguments).ok_or("an exchange without an end")?;
    let is_of_receiver = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let receiver = before.rfind(|c| !is_of_receiver(c)).map_or(0, |at| at + 1);
    let (before, receiver) = before.split_at(receiver);
    let statement = before.rsplit('\n').next().unwrap_or_default().trim();
    if (statement.is_empty() || statement == "let _ =") && after.starts_with(';') {
        return Ok(None);
    }
    let steps = if name == "fetch_update" {
        let closure = arguments.rsplit(',').next().unwrap_or_default();
        format!(
            "let new = ({closure})(old); if let Some(new) = new {{ STORE }} new.map_or(Err(old), |_| \
             Ok(old))"
        )
        .replace("STORE", &format!("{receiver}.store(new, {ORDERING}Release);"))
    } else {
        let exchange = EXCHANGES.iter().find(|(known, _)| *known == name);
        let (_, new) = exchange.ok_or_else(|| format!("{name} can't be done in two steps yet"))?;
        let argument = arguments.split(',').next().unwrap_or_default();
        let new = new.replace("ARGUMENT", argument);
        format!("{receiver}.store({new}, {ORDERING}Release); old")
    };
    let load = format!("let old = {receiver}.load({ORDERING}Acquire);");
    Ok(Some((format!("{name} in two steps"), format!("{before}({{ {load} {steps} }}){after}"))))
}

/// Splits text after an opening parenthesis at the closing one.
fn inside(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
#[cfg(all(test, loom))]
use loom::Ordering;
#[cfg(all(test, loom))]
#[path = \"modelled.rs\"]
mod memory;
fn f() {
    // ORDERING: Ordering::Acquire is mentioned.
    x.exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed);
    fence(Ordering::Release);
    compiler_fence(Ordering::SeqCst);
}
#[cfg(test)]
fn g() { x.load(Ordering::Acquire) }
";

    fn only(source: &str) -> String {
        let mut found = all(source).unwrap();
        assert_eq!(found.len(), 1);
        found.remove(0).text
    }

    #[test]
    fn each_ordering_of_the_code_is_weakened_alone() {
        let found = all(SOURCE).unwrap();
        let changes: Vec<_> = found.iter().map(|one| (one.line, one.change.as_str())).collect();
        let expected = [
            (8, "AcqRel -> Acquire"),
            (8, "AcqRel -> Release"),
            (9, "Release fence removed"),
            (10, "SeqCst fence removed"),
        ];
        assert_eq!(changes, expected);
        assert_eq!(found[0].text, SOURCE.replace("Ordering::AcqRel", "Ordering::Acquire"));
        assert_eq!(found[2].text, SOURCE.replace("fence(Ordering::Release);", ""));
        assert_eq!(found[3].text, SOURCE.replace("compiler_fence(Ordering::SeqCst);", ""));
    }

    #[test]
    fn an_exchange_whose_result_is_used_is_split() {
        assert_eq!(
            only("  self.0.fetch_max(f(a), Ordering::Relaxed).max(a)\n"),
            "  ({ let old = self.0.load(Ordering::Acquire); \
             self.0.store(old.max(f(a)), Ordering::Release); old }).max(a)\n"
        );
        assert_eq!(
            only("let a = b.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raise);\n"),
            "let a = ({ let old = b.load(Ordering::Acquire); let new = ( raise)(old); \
             if let Some(new) = new { b.store(new, Ordering::Release); } \
             new.map_or(Err(old), |_| Ok(old)) });\n"
        );
        assert!(all("let a = b.fetch_nand(c, Ordering::Relaxed);").is_err());
    }

    #[test]
    fn an_exchange_whose_result_is_dropped_is_not() {
        assert!(all("  self.0.fetch_max(a, Ordering::Relaxed);\n").unwrap().is_empty());
        assert!(all("let _ = a.swap(b, Ordering::Relaxed);\n").unwrap().is_empty());
    }
}
