//! Numbers and counts in words.

/// `one other thread`, `3 threads`.
pub(super) fn threads(count: usize) -> String {
    if count == 1 { "one other thread".to_owned() } else { format!("{count} threads") }
}

/// `3 threads were`.
pub(super) fn were(count: usize) -> String {
    format!("{} {}", threads(count), if count == 1 { "was" } else { "were" })
}

/// `0.5 %`, `12 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}
