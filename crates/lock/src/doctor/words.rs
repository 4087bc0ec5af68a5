//! Numbers and counts in words.

use unjank_measure::number::grouped;

/// A number without decimals: `4,911`.
pub(super) fn whole(number: f64) -> String {
    grouped(number.round() as u64)
}

/// `one other thread`, `3 threads`.
pub(super) fn threads(count: usize) -> String {
    if count == 1 { "one other thread".to_owned() } else { format!("{count} threads") }
}

/// `3 threads were`.
pub(super) fn were(count: usize) -> String {
    format!("{} {}", threads(count), if count == 1 { "was" } else { "were" })
}

/// `one thread uses`, `3 threads use`.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("one {one}") } else { format!("{count} {many}") }
}

/// `0.5 %`, `12 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(threads(1), "one other thread");
        assert_eq!((were(1), were(3)), ("one other thread was".into(), "3 threads were".into()));
        let uses = |count| counted(count, "thread uses", "threads use");
        assert_eq!(whole(4_910.6), "4,911");
        assert_eq!((uses(1), uses(2)), ("one thread uses".into(), "2 threads use".into()));
    }
}
