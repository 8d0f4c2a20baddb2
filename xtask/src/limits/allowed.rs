//! The file of limits: `limits.toml`.

/// A line of the file: `of = number # reason`, in a section.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub(crate) section: String,
    pub(crate) of: String,
    pub(crate) number: usize,
    pub(crate) reason: Option<String>,
    /// Counted from 1.
    pub(crate) line: usize,
}

/// The limits of a file.
#[derive(Debug)]
pub(crate) struct Allowed {
    pub(crate) limits: Vec<Limit>,
}

/// The section of the numbers that the project aims at. Their keys are the other sections.
pub(crate) const AIMS: &str = "aims";

impl Allowed {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut section = String::new();
        let mut limits: Vec<Limit> = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            if let Some(name) = content.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                name.clone_into(&mut section);
                continue;
            }
            let limit = limit(content, &section, line)
                .ok_or_else(|| format!("line {line} is not `name = number # reason`: {content}"))?;
            if limits.iter().any(|one| (&one.section, &one.of) == (&limit.section, &limit.of)) {
                return Err(format!("line {line}: {section} has another line for {}", limit.of));
            }
            limits.push(limit);
        }
        Ok(Self { limits })
    }

    pub(crate) fn find(&self, section: &str, of: &str) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.section == section && limit.of == of)
    }

    pub(crate) fn aim(&self, section: &str) -> Option<usize> {
        self.find(AIMS, section).map(|limit| limit.number)
    }
}

fn limit(content: &str, section: &str, line: usize) -> Option<Limit> {
    let (limit, reason) = content.split_once('#').unwrap_or((content, ""));
    let (of, number) = limit.split_once('=')?;
    let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    let number = number.trim().replace('_', "").parse().ok()?;
    let of = of.trim().trim_matches('"').to_owned();
    Some(Limit { section: section.to_owned(), of, number, reason, line })
}

/// Returns the line of a limit.
pub(crate) fn line(of: &str, number: usize, reason: Option<&str>) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let quote = if of.bytes().all(is_bare) { "" } else { "\"" };
    let reason = reason.map(|reason| format!(" # {reason}")).unwrap_or_default();
    format!("{quote}{of}{quote} = {}{reason}", grouped(number))
}

/// Returns a number with its thousands parted.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let parts = digits.as_bytes().rchunks(3).rev();
    parts.map(String::from_utf8_lossy).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_as_it_is_read() {
        let text = "# All.\n[a]\nb-c = 1_234 # until d\n\"e/f.rs: g\" = 5\n";
        let limits = Allowed::read(text).unwrap().limits;
        let lines = limits.iter().map(|one| line(&one.of, one.number, one.reason.as_deref()));
        assert_eq!(lines.collect::<Vec<_>>(), text.lines().skip(2).collect::<Vec<_>>());
        assert_eq!(limits[0].section, "a");
        assert_eq!(limits[1].line, 4);
    }

    #[test]
    fn a_line_that_means_nothing_is_refused() {
        assert!(Allowed::read("[a]\nb = many\n").unwrap_err().contains("line 2"));
        assert!(Allowed::read("[a]\nb = 1\nb = 2\n").unwrap_err().contains("another line for b"));
    }
}
