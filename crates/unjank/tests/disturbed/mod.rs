//! Starts of a probe that do not count because the hypervisor disturbed them.

/// The number of starts that a report or its warnings leave out, with any line breaks.
pub(crate) fn left_out(text: &str) -> usize {
    let words: Vec<&str> = text.split_whitespace().collect();
    let named = words.windows(6).filter_map(|words| match words {
        ["time", "of", left_out, "of", _, "starts:"] => left_out.parse::<usize>().ok(),
        _ => None,
    });
    named.sum()
}
