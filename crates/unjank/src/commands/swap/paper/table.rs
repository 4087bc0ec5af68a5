//! The paper's values beside ours.

use unjank_swap::paper::{Item, Outcome, show};

use crate::output::grid;

const HEADER: [&str; 6] = ["", "figure", "Bahn & Kim", "synthetic", "95 % interval", "comes out"];

/// One line for each value.
pub(super) fn text(outcome: &Outcome) -> String {
    let mut text = grid(outcome.items.iter().map(cells), HEADER);
    text.push(String::new());
    let seeds = outcome.items.first().map_or(0, |item| item.seeds);
    text.push(format!(
        "Medians over {seeds} synthetic phones of each kind, and their intervals; the paper gives \
         about numbers, which are taken for ranges (docs/swap.md). Writes to come: pages that only \
         the tier has at the end. All modelled: nothing of this \
         was measured."
    ));
    text.join("\n")
}

fn cells(item: &Item) -> [String; 6] {
    let shown = |value: f64| show(item, value);
    [
        item.what.to_owned(),
        item.figure.to_owned(),
        item.words.to_owned(),
        item.median().map_or_else(|| "never".to_owned(), shown),
        item.interval()
            .map_or_else(String::new, |[low, high]| format!("{} to {}", shown(low), shown(high))),
        item.answer().words().to_owned(),
    ]
}
