//! The summary of a conversion, as text and as JSON.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use unjank_measure::number::grouped;
use unjank_report::one_line;
use unjank_swap::trace::convert::Written;
use unjank_swap::trace::{Names, Operation, Position, Summary};

use crate::output;

/// The summary as text.
pub(super) fn text(summary: &Summary, names: &Names, written: Written, output: &Path) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let mut line = |what: std::fmt::Arguments<'_>| {
        let _cannot_fail = writeln!(text, "{}", one_line(&what.to_string()));
    };
    for input in &summary.inputs {
        let packing = match input.packing {
            "none" => String::new(),
            packing => format!(" in {packing}"),
        };
        line(format_args!(
            "{}: {}{packing}, {} events",
            input.name.display(),
            input.format_in_words(),
            grouped(input.events)
        ));
        for skip in input.skipped.all() {
            let first = skip.first;
            line(format_args!("  skipped {}: {}, first at {first}", skip.count, skip.reason));
        }
    }
    let (processes, spaces) = counts(names);
    line(format_args!(
        "{} events over {}: {processes} processes, {spaces} devices and files",
        grouped(summary.events),
        summary.span
    ));
    let operations: Vec<_> = operations(summary)
        .map(|(operation, count)| format!("{} {}", grouped(count), operation.name()))
        .collect();
    if !operations.is_empty() {
        line(format_args!("{}", operations.join(", ")));
    }
    if summary.backwards > 0 {
        line(format_args!(
            "time goes backwards {} times; --sort sorts the events",
            summary.backwards
        ));
    }
    if summary.before_first > 0 {
        line(format_args!(
            "{} events are earlier than the first one and got its time; --sort keeps their times",
            summary.before_first
        ));
    }
    if written.interrupted {
        line(format_args!("interrupted: nothing was written"));
        return text;
    }
    if written.left_out > 0 {
        line(format_args!(
            "left out {} events that the output format does not have: exits, launches, clean drops",
            written.left_out
        ));
    }
    let output = if output == Path::new("-") { Path::new("stdout") } else { output };
    line(format_args!("{}: {} events written", output.display(), grouped(written.events)));
    text
}

/// The summary as JSON.
pub(super) fn json(summary: &Summary, names: &Names, written: Written) -> Result<String> {
    let inputs: Vec<Value> = summary
        .inputs
        .iter()
        .map(|input| {
            let skipped: Vec<Value> = input
                .skipped
                .all()
                .iter()
                .map(|skip| {
                    let (unit, number) = match skip.first {
                        Position::Line(line) => ("line", line),
                        Position::Byte(byte) => ("byte", byte),
                        Position::Row(row) => ("row", row),
                    };
                    json!({
                        "reason": skip.reason,
                        "count": skip.count,
                        "first": { unit: number },
                    })
                })
                .collect();
            json!({
                "name": input.name.display().to_string(),
                "format": input.format.name(),
                "guessed": input.is_guessed,
                "packing": input.packing,
                "events": input.events,
                "skipped": skipped,
            })
        })
        .collect();
    let operations: serde_json::Map<String, Value> = operations(summary)
        .map(|(operation, count)| (operation.name().to_owned(), count.into()))
        .collect();
    let (processes, spaces) = counts(names);
    let summary = json!({
        "inputs": inputs,
        "events": summary.events,
        "span_ns": summary.span.get(),
        "processes": processes,
        "spaces": spaces,
        "operations": operations,
        "backwards": summary.backwards,
        "before_first": summary.before_first,
        "written": written.events,
        "left_out": written.left_out,
        "interrupted": written.interrupted,
    });
    output::json(&summary)
}

/// The number of processes, and of devices and files, without the placeholders.
fn counts(names: &Names) -> (usize, usize) {
    (names.processes().len() - 1, names.spaces().len() - 1)
}

/// The operations that occur, with their counts.
fn operations(summary: &Summary) -> impl Iterator<Item = (Operation, u64)> {
    let counts = Operation::ALL.into_iter().zip(summary.operations);
    counts.filter(|(_, count)| *count > 0)
}
