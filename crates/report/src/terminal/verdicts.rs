//! Questions and answers: one row each, with details below.

use unjank_measure::{Quantity, Verdict};

use super::layout::{Column, GAP, columns, paragraph, widest};
use super::paint::{Paint, heading};
use crate::visible::visible;
use crate::{tone, words};

/// Subjects wider than this are wrapped.
const SUBJECT: usize = 28;
/// The largest indent of the details below a row, so that long subjects leave room.
const INDENT: usize = 12;

/// The table of verdicts. Each row is followed by the quantity's name, the reason, the
/// source of the limit, and the next command. A reason that is the headline is not repeated.
pub(super) fn block(
    verdicts: &[Verdict],
    headline: &str,
    width: usize,
    prose: usize,
) -> Vec<String> {
    if verdicts.is_empty() {
        return Vec::new();
    }
    let soft = |name: &str| Paint::Soft.on(name);
    let is_measured = verdicts.iter().any(|verdict| quantity(verdict).is_some());
    let measured = if is_measured { soft("measured") } else { String::new() };
    let head = vec![heading("Answers"), soft("answer"), measured, soft("healthy")];
    let mut rows: Vec<Vec<String>> = vec![head];
    rows.extend(verdicts.iter().map(row));
    let wide = |index: usize| widest(rows.iter().map(|row| row[index].as_str()));
    let subject = wide(0).min(SUBJECT).min(width / 3);
    let gap = usize::from(GAP);
    let fits = subject + wide(1) + wide(2) + wide(3) + 3 * gap <= width;
    let mut kinds = vec![Column::Fixed(subject), Column::Fixed(wide(1))];
    if fits && wide(3) > "healthy".len() {
        kinds.push(Column::Fixed(wide(2)));
    } else {
        for row in &mut rows {
            row.truncate(3);
        }
    }
    kinds.push(Column::Text);

    let indent = (subject + gap).min(INDENT);
    let mut rows = rows.into_iter();
    let mut lines: Vec<String> =
        rows.by_ref().take(1).flat_map(|head| columns(&kinds, &[head], width)).collect();
    for (verdict, row) in verdicts.iter().zip(rows) {
        lines.extend(columns(&kinds, &[row], width));
        for text in below(verdict, fits).into_iter().filter(|text| text != headline) {
            lines.extend(paragraph(indent, &text, prose));
        }
        if let Some(next) = &verdict.next {
            let (arrow, next) = (soft("→"), Paint::Command.on(&visible(next)));
            lines.push(format!("{:indent$}{arrow} {next}", ""));
        }
    }
    lines
}

/// The measured value, or the difference.
fn quantity(verdict: &Verdict) -> Option<&Quantity> {
    verdict.measured.as_ref().or(verdict.effect.as_ref())
}

/// Subject, answer, value with interval, healthy range.
fn row(verdict: &Verdict) -> Vec<String> {
    let value = quantity(verdict).map_or_else(String::new, words::measured);
    let answer = format!("{} {}", tone::symbol(verdict.answer), verdict.answer.words());
    vec![
        Paint::Strong.on(&visible(&verdict.subject)),
        Paint::of(verdict.answer).on(&answer),
        value,
        words::healthy(verdict).unwrap_or_default(),
    ]
}

/// The details below a row; also the healthy range if its column did not fit.
fn below(verdict: &Verdict, has_column: bool) -> Vec<String> {
    let mut texts = vec![visible(&verdict.question).into_owned()];
    if let Some(quantity) = quantity(verdict) {
        let smallest =
            words::minimum_effect(verdict).map_or_else(String::new, |text| format!("; {text}"));
        let n = words::grouped(quantity.n);
        texts.push(format!("{}, n {n}{smallest}", visible(&quantity.name)));
    }
    texts.push(words::sentence(&verdict.reason));
    if let (Some(bound), Some(range)) = (&verdict.healthy, words::healthy(verdict)) {
        let range = if has_column { "Limit".to_owned() } else { format!("Healthy {range}") };
        texts.push(Paint::Soft.on(&format!("{range}: {}", visible(&bound.source))));
    }
    texts
}
