//! The rooms of a crate in ARCHITECTURE.md's map.

/// Returns the rooms that the map lists below a heading such as `tach-core/src/`, from the lowest.
/// A line names rooms, then, after two blanks, says what they are.
pub(crate) fn rooms<'a>(map: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = map.lines().skip_while(|line| *line != heading).skip(1);
    let lines = lines.take_while(|line| line.starts_with("  "));
    // A line with more blanks continues the sentence of the line before.
    let lines =
        lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names = lines.flat_map(|line| line.split("  ").next().unwrap_or_default().split(' '));
    names.map(|name| name.trim_end_matches('/').trim_end_matches(".rs")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rooms_of_a_crate_are_read_in_order() {
        let map = "a/src/\n  x.rs  none\nb/src/\n  c/ d.rs   two rooms,\n           and\n  e/  one\nf/  g\n";
        assert_eq!(rooms(map, "b/src/"), ["c", "d", "e"]);
        assert_eq!(rooms(map, "c/src/"), [""; 0]);
    }
}
