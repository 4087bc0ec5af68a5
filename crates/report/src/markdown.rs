//! One record as Markdown tables that can be pasted into an issue tracker.

use std::fmt::Write as _;

use unjank_measure::{Cell as TableCell, RunRecord, Table, Verdict};

use crate::delay;
use crate::headline::headline;
use crate::heat::{Cell, HeatMap, maps};
use crate::layout::{self, Part};
use crate::machine;
use crate::samples::Worst;
use crate::table::{drawn, heading, is_numeric, text, used};
use crate::timeline::{self, Timeline};
use crate::views::{self, View};
use crate::visible::visible;
use crate::{tone, words};

/// The width of a path in characters.
const LINE: usize = 100;

/// The report of `record` in GitHub's dialect of Markdown. Text from the record cannot
/// leave its table cell, link anywhere or contain markup.
pub fn markdown(record: &RunRecord) -> String {
    let mut out = head(record);
    let findings = &record.findings;
    table(
        &mut out,
        "Answers",
        &["About", "Answer", "Measured", "Healthy", "Why", "Next"],
        findings.verdicts.iter().map(verdict),
    );
    drawn(record).for_each(|it| view(&mut out, it, record));
    for part in layout::EVERYTHING {
        self::part(&mut out, *part, record);
    }
    list(&mut out, "Warnings", findings.warnings.iter().map(|warning| plain(warning)));
    table(
        &mut out,
        "Not measured",
        &["What", "Why"],
        findings
            .unsupported
            .iter()
            .map(|missing| vec![code(&missing.what), format!("n/a ({})", plain(&missing.reason))]),
    );
    surroundings(&mut out, record);
    out
}

/// One part of the record, under its own heading.
fn part(out: &mut String, part: Part, record: &RunRecord) {
    match part {
        Part::Series => series(out, record),
        Part::Curves => curves(out, record),
        Part::HeatMaps => {
            let curves = &record.findings.curves;
            let subjects = delay::in_order(curves.iter().map(|curve| curve.name.as_str()));
            for map in subjects.into_iter().flat_map(|subject| maps(record, subject).0) {
                heat_map(out, &map);
            }
        }
        Part::WorstSamples => worst_samples(out, record),
        Part::Facts => facts(out, record),
        Part::Changes => changes(out, record),
    }
}

/// Title, headline, machine and time.
fn head(record: &RunRecord) -> String {
    let mut out = format!("# unjank {}", plain(&record.command));
    for label in &record.labels {
        add(&mut out, &format!(" {}", plain(&format!("[{label}]"))));
    }
    add(&mut out, &format!("\n\n**{}**\n\n", plain(&headline(std::slice::from_ref(record)))));
    if let Some(machine) = machine::in_brief(&record.host) {
        add(&mut out, &format!("{}  \n", plain(&machine)));
    }
    add(
        &mut out,
        &format!(
            "{} · took {} · run {}\n",
            plain(&record.started_at),
            words::duration(record.elapsed),
            plain(&record.id)
        ),
    );
    let meanings = record.labels.iter().filter_map(|label| {
        words::label_meaning(label).map(|meaning| format!("**{label}**: {meaning}"))
    });
    for meaning in meanings {
        add(&mut out, &format!("\n> {meaning}\n"));
    }
    out
}

fn verdict(verdict: &Verdict) -> Vec<String> {
    let quantity = verdict.measured.as_ref().or(verdict.effect.as_ref());
    let measured = quantity.map_or_else(String::new, |quantity| {
        let value = words::measured(quantity);
        let smallest =
            words::minimum_effect(verdict).map_or_else(String::new, |text| format!("; {text}"));
        let n = words::grouped(quantity.n);
        format!("**{value}** {}, n {n}{smallest}", plain(&quantity.name))
    });
    let healthy = match (words::healthy(verdict), &verdict.healthy) {
        (Some(range), Some(bound)) => format!("{range}: {}", plain(&bound.source)),
        _ => String::new(),
    };
    vec![
        code(&verdict.subject),
        format!("{} {}", tone::symbol(verdict.answer), verdict.answer.words()),
        measured,
        healthy,
        format!("{} {}", plain(&verdict.question), plain(&words::sentence(&verdict.reason))),
        verdict.next.as_deref().map(code).unwrap_or_default(),
    ]
}

fn series(out: &mut String, record: &RunRecord) {
    let rows = record.findings.series.iter().map(|series| {
        let [p50, _, p99, p99_9, _] = words::quantiles(series).map(|quantile| {
            quantile.map_or_else(
                || "–".to_owned(),
                |quantile| match quantile.interval {
                    Some(interval) => format!("{} ({interval})", quantile.value),
                    None => quantile.value,
                },
            )
        });
        let max = series.summary.map(|summary| words::value(series.unit, summary.max as f64));
        vec![
            named(&series.name, &series.labels),
            words::grouped(series.n),
            words::grouped(series.missed),
            p50,
            p99,
            p99_9,
            max.unwrap_or_else(|| "–".to_owned()),
        ]
    });
    let head = ["Series", "n", "missed", "p50 (95 %)", "p99 (95 %)", "p99.9 (95 %)", "max"];
    table(out, "Series", &head, rows);
}

fn facts(out: &mut String, record: &RunRecord) {
    let rows = layout::facts(record).map(|fact| {
        let interval = fact.interval.map(|interval| words::interval(fact.unit, interval));
        vec![
            named(&fact.name, &fact.labels),
            plain(&words::value(fact.unit, fact.value)),
            plain(&interval.unwrap_or_default()),
            fact.n.map(words::grouped).unwrap_or_default(),
        ]
    });
    table(out, "Facts", &["Fact", "Value", "95 % interval", "n"], rows);
}

/// The ends of curves that are not rows of a heat map.
fn curves(out: &mut String, record: &RunRecord) {
    let curves = record.findings.curves.iter().filter(|curve| curve.row().is_none());
    let rows = curves.map(|curve| {
        let [first, last] = words::curve_ends(curve).unwrap_or_default();
        let points = words::grouped(curve.points.len() as u64);
        vec![named(&curve.name, &curve.labels), points, plain(&first), plain(&last)]
    });
    table(out, "Curves", &["Curve", "Points", "First", "Last"], rows);
}

fn changes(out: &mut String, record: &RunRecord) {
    let rows = record.findings.changes.iter().map(|change| {
        let after = words::put_back(change).words(change);
        vec![code(&change.knob), code(&change.before), code(&change.during), plain(&after)]
    });
    table(out, "Changed for the run", &["What", "Before", "During", "After"], rows);
}

/// A table of the record; in Markdown, cards and bars are rows as well.
fn view(out: &mut String, shown: &Table, record: &RunRecord) {
    if views::view(shown) == View::Timeline {
        return timeline(out, shown, record);
    }
    let used = used(shown);
    let heads: Vec<String> = used.iter().map(|&at| plain(&heading(shown, at))).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let right: Vec<bool> = used.iter().map(|&at| is_numeric(&shown.columns[at])).collect();
    let cells =
        |row: &Vec<TableCell>| used.iter().map(|&at| plain(&text(shown, row, at))).collect();
    aligned(out, &plain(&shown.title), &heads, &right, shown.rows.iter().map(cells));
    for note in &shown.notes {
        add(out, &format!("\n{}\n", plain(note)));
    }
}

/// A path in characters, as code.
fn timeline(out: &mut String, shown: &Table, record: &RunRecord) {
    let lines = timeline::lines(&Timeline::of(shown, record), LINE);
    let text = lines.join("\n");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    add(out, &format!("\n## {}\n\n{fence}\n{text}\n{fence}\n", plain(&shown.title)));
}

fn heat_map(out: &mut String, map: &HeatMap) {
    let cell = |cell: &Cell| {
        let text = plain(&words::with_interval(map.unit(), cell.value, cell.interval));
        if cell.best { format!("**{text}**") } else { text }
    };
    let rows = map.rows.iter().map(|row| {
        let cells = row.cells.iter().map(|there| there.as_ref().map(cell).unwrap_or_default());
        std::iter::once(code(&row.name)).chain(cells).collect()
    });
    let corner = plain(&map.down);
    let heads = map.heads();
    let heads: Vec<&str> =
        std::iter::once(&*corner).chain(heads.iter().map(String::as_str)).collect();
    table(out, &plain(&map.title), &heads, rows);
    add(out, &format!("\n{}\n", plain(&words::sentence(&map.about("is bold")))));
}

fn worst_samples(out: &mut String, record: &RunRecord) {
    let worst = Worst::of(record);
    let rows = worst.samples.iter().map(|sample| {
        let outlier = sample.outlier;
        let cause = match &outlier.cause {
            Some(cause) => code(cause),
            None if worst.have_causes() => "not recorded".to_owned(),
            None => String::new(),
        };
        vec![
            code(&sample.name),
            plain(&words::value(sample.unit, outlier.value as f64)),
            words::duration(outlier.at),
            outlier.cpu.map(|cpu| cpu.to_string()).unwrap_or_default(),
            cause,
        ]
    });
    let cause = if worst.have_causes() { "Cause" } else { "Cause (not recorded)" };
    table(out, "Worst samples", &["Series", "Value", "At", "CPU", cause], rows);
    if worst.more > 0 {
        add(out, &format!("\n{} more with --json.\n", words::grouped(worst.more as u64)));
    }
}

/// Machine, settings and tool, collapsed where the viewer supports it.
fn surroundings(out: &mut String, record: &RunRecord) {
    add(out, "\n<details><summary>Machine, settings and tool</summary>\n");
    let entries = machine::entries(&record.host)
        .into_iter()
        .map(|(name, lines)| vec![name.to_owned(), plain(&lines.join("; "))]);
    table(out, "", &["Machine", ""], entries);
    let settings =
        record.settings.iter().map(|(name, value)| vec![code(name), code(&value.to_string())]);
    table(out, "", &["Setting", ""], settings);
    let tool = &record.tool;
    let commit = tool
        .commit
        .as_ref()
        .map_or_else(String::new, |commit| format!(", commit {}", plain(commit)));
    let version = plain(&tool.version);
    add(
        out,
        &format!(
            "\nunjank {version}{commit}. Intervals are 95 % intervals; n is the number of samples; \
             – means too few samples.\n\n</details>\n"
        ),
    );
}

/// A heading and a table; nothing without rows. Columns with numbers are aligned to the
/// right: those with a name in lower case, and those of values.
fn table(out: &mut String, title: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let right = |name: &&str| {
        name.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit())
            || ["Value", "At", "CPU", "Points", "95 % interval"].contains(name)
    };
    let right: Vec<bool> = head.iter().map(right).collect();
    aligned(out, title, head, &right, rows);
}

/// A heading and a table; `right` marks the columns aligned to the right.
fn aligned(
    out: &mut String,
    title: &str,
    head: &[&str],
    right: &[bool],
    rows: impl Iterator<Item = Vec<String>>,
) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    if title.is_empty() {
        add(out, "\n");
    } else {
        add(out, &format!("\n## {title}\n\n"));
    }
    let rule: Vec<&str> = right.iter().map(|&it| if it { "--:" } else { "---" }).collect();
    add(out, &format!("| {} |\n| {} |\n", head.join(" | "), rule.join(" | ")));
    for row in rows {
        add(out, &format!("| {} |\n", row.join(" | ")));
    }
}

fn list(out: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        add(out, &format!("\n## {title}\n\n"));
    }
    for item in items {
        add(out, &format!("- {item}\n"));
    }
}

fn add(out: &mut String, text: &str) {
    out.push_str(text);
}

/// A name as code, followed by its labels.
fn named(name: &str, labels: &std::collections::BTreeMap<String, String>) -> String {
    if labels.is_empty() {
        code(name)
    } else {
        format!("{} {}", code(name), plain(&words::labels(labels)))
    }
}

/// Text with all markup escaped.
fn plain(text: &str) -> String {
    let text = visible(text);
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let after = letters.peek().copied().unwrap_or(' ');
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // An underscore within a word is not markup: SCHED_FIFO.
            '_' if before.is_alphanumeric() && after.is_alphanumeric() => escaped.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            '#' | '+' | '-' | '=' if escaped.is_empty() => {
                escaped.push('\\');
                escaped.push(letter);
            }
            _ => escaped.push(letter),
        }
        before = letter;
    }
    escaped
}

/// Text as code within a table cell. The fence is longer than any run of backticks in
/// it. A bar is escaped, which tables need even within code.
fn code(text: &str) -> String {
    let text = visible(text).replace('|', "\\|");
    if text.trim().is_empty() {
        return String::new();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    let mut out = String::new();
    write!(out, "{fence}{space}{text}{space}{fence}").expect("writing to a string cannot fail");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_contains_no_markup() {
        assert_eq!(plain("SCHED_FIFO at _x_"), "SCHED_FIFO at \\_x\\_");
        assert_eq!(plain("a|b <img src=x> [y](z)"), "a\\|b &lt;img src=x&gt; \\[y\\](z)");
        assert_eq!(plain("# not a title\nreally"), "\\# not a title\\\\nreally");
    }

    #[test]
    fn code_cannot_be_left() {
        assert_eq!(code("swap/page_in"), "`swap/page_in`");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(" "), "");
    }
}
