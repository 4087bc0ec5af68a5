//! What people read of a comparison of launches: one line for each load.

use unjank_launch::bench::{Row, rows};
use unjank_measure::{Fact, RunRecord, Unit};

use crate::commands::launch::power::table::notes;
use crate::output::grid;

const HEADER: [&str; 8] =
    ["Launch", "A", "B", "difference", "95 % interval", "n", "answer", "not ready"];

/// One line for each comparison, then what there is to know; nothing for a
/// record without any.
pub(super) fn table(record: &RunRecord) -> Option<String> {
    let all = rows(&record.findings);
    if all.is_empty() {
        return None;
    }
    let mut lines = Vec::new();
    let mut told: Option<[&str; 2]> = None;
    for same in all.chunk_by(|one, other| arms(one) == arms(other)) {
        let [a, b] = arms(&same[0]);
        if told.replace([a, b]).is_some() {
            lines.push(String::new());
        }
        lines.push(format!("A: {a}"));
        lines.push(format!("B: {b}"));
        lines.push(String::new());
        lines.extend(grid(same.iter().map(|row| cells(record, row)), HEADER));
    }
    lines.push(String::new());
    lines.push(
        "A, B: medians, each with its 95 % interval in the record (--json, --html); difference: the \
         median of those within pairs, as a share of A."
            .to_owned(),
    );
    lines.extend(all.iter().filter_map(remark));
    lines.extend(notes(record));
    Some(lines.join("\n"))
}

/// What a row has no column for: the noise of the machine, and why there is no
/// interval.
fn remark(row: &Row) -> Option<String> {
    let (what, n) = (what(&row.name), row.baseline.1.n.unwrap_or(0));
    match (row.noise_floor, &row.difference) {
        (Some(floor), _) => Some(format!(
            "Noise floor, {what}: {} of A. With {n} pairs, a smaller difference is found less often \
             than four times out of five.",
            Unit::Ratio.show(floor)
        )),
        (None, Some(difference)) if difference.interval.is_none() => {
            Some(format!("{what}: cannot tell: {}.", row.reason))
        }
        _ => None,
    }
}

fn arms(row: &Row) -> [&str; 2] {
    [&row.baseline.0, &row.other.0]
}

fn cells(record: &RunRecord, row: &Row) -> [String; 8] {
    let missed: u64 = record
        .findings
        .series
        .iter()
        .filter(|series| series.name == row.name)
        .filter(|series| series.labels.get("against").is_none_or(|against| *against == row.other.0))
        .map(|series| series.missed)
        .sum();
    let [difference, interval] = change(row.difference.as_ref());
    [
        what(&row.name),
        shown(&row.baseline.1),
        shown(&row.other.1),
        difference,
        interval,
        row.baseline.1.n.map(|n| n.to_string()).unwrap_or_default(),
        row.answer.words().to_owned(),
        if missed > 0 { missed.to_string() } else { String::new() },
    ]
}

/// `launch/bench/load-200ms/total` as `load 200ms, total`.
fn what(name: &str) -> String {
    let rest = name.strip_prefix("launch/bench/").unwrap_or(name);
    rest.replacen("load-", "load ", 1).replace('/', ", ")
}

/// A median in its unit.
pub(in crate::commands::launch) fn shown(fact: &Fact) -> String {
    fact.unit.show(fact.value)
}

/// A change in percent, and its interval.
pub(in crate::commands::launch) fn change(fact: Option<&Fact>) -> [String; 2] {
    let Some(fact) = fact else { return [String::new(), String::new()] };
    let interval =
        fact.interval.map(|[low, high]| format!("{} to {}", percent(low), percent(high)));
    [percent(fact.value), interval.unwrap_or_default()]
}

/// A share in percent, with its sign.
pub(in crate::commands::launch) fn percent(share: f64) -> String {
    format!("{:+.2} %", share * 100.0).replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_in_words() {
        assert_eq!(what("launch/bench/load-200ms/total"), "load 200ms, total");
        assert_eq!(what("launch/bench/basic"), "basic");
        assert_eq!(what("launch/bench/energy"), "energy");
    }

    #[test]
    fn columns_without_anything_are_left_out() {
        let row = |one: &str, two: &str| [one.to_owned(), String::new(), two.to_owned()];
        let lines = grid([row("a", "1"), row("b", "")].into_iter(), ["x", "y", "z"]);
        let words: Vec<Vec<&str>> =
            lines.iter().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words, [vec!["x", "z"], vec!["a", "1"], vec!["b"]]);
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(percent(-0.0334), "−3.34 %");
        let fact = Fact::new("x", 0.01, Unit::Ratio).with_interval([-0.01, 0.03], 9);
        assert_eq!(change(Some(&fact)), ["+1.00 %", "−1.00 % to +3.00 %"]);
    }
}
