//! Hostile text and numbers in a record are shown and have no effect.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::Value;
use unjank_measure::RunRecord;
use unjank_report::{TerminalStyle, html, markdown, terminal};

use crate::fixture;
use crate::html::body;

/// Texts with an effect on a browser, a terminal or a Markdown parser.
const EVIL: [&str; 14] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onload='x",
    "]]></svg><!-- --></style>",
    "&lt;b&gt;&#60;",
    "\u{1b}[2J\u{1b}]0;owned\u{7}",
    "\u{9b}31m\r\n\t\u{0}\u{8}",
    "\u{202e}gnp.exe\u{2066}\u{200b}\u{feff}",
    "\u{2061}\u{2060}\u{206a}",
    "a|b\\|c``d`e",
    "[click](javascript:x) ![x](http://example.org/x.png)",
    "# not a heading\n- not a list\n\n<details>",
    "**bold** _it_ ~~no~~ <u>",
    "a/b//c/",
];

/// `record` with every free text replaced, also names of labels and settings.
fn poisoned(record: &RunRecord, texts: &[String]) -> RunRecord {
    let mut value = serde_json::to_value(record).expect("a record is JSON");
    let mut texts = texts.iter().cycle();
    poison(&mut value, &mut || texts.next().cloned().unwrap_or_default());
    serde_json::from_value(value).expect("any text can stand in a record")
}

fn poison(value: &mut Value, text: &mut dyn FnMut() -> String) {
    match value {
        Value::String(old) => *old = text(),
        Value::Array(values) => values.iter_mut().for_each(|value| poison(value, text)),
        Value::Object(entries) => {
            for (key, value) in entries.iter_mut() {
                match key.as_str() {
                    // Enumerations of the record, which are not free text.
                    "unit" | "answer" | "kind" => {}
                    "labels" | "settings" | "tunables" if value.is_object() => {
                        let entry = (text(), Value::String(text()));
                        *value = Value::Object([entry].into_iter().collect());
                    }
                    _ => poison(value, text),
                }
            }
        }
        _ => {}
    }
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let evil = proptest::sample::select(EVIL.to_vec()).prop_map(str::to_owned);
    let any = prop::collection::vec(any::<char>(), 0..12).prop_map(String::from_iter);
    prop::collection::vec(prop_oneof![3 => evil, 1 => any, 1 => "[a-z/ |`<&]{0,20}"], 1..16)
}

/// The names of all elements and attributes of a page.
fn vocabulary(page: &str) -> BTreeSet<String> {
    let body = body(page);
    let nodes = body.descendants().filter(roxmltree::Node::is_element);
    nodes
        .flat_map(|node| {
            let attributes = node.attributes().map(|attribute| format!("@{}", attribute.name()));
            attributes.chain([node.tag_name().name().to_owned()]).collect::<Vec<_>>()
        })
        .collect()
}

static RICH: LazyLock<RunRecord> = LazyLock::new(fixture::rich);

/// The elements and attributes of pages about benign records.
static BENIGN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut words = vocabulary(&html(std::slice::from_ref(&*RICH)));
    words.extend(vocabulary(&html(&[fixture::small(), fixture::small()])));
    words
});

fn config() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(1);
    ProptestConfig { cases: 24, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Whether a character has an effect instead of a shape.
fn acts(character: char) -> bool {
    (character.is_control() && character != '\n')
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// `record` with its numbers replaced by arbitrary ones.
fn absurd(mut record: RunRecord, whole: &[u64], real: &[f64]) -> RunRecord {
    let (mut whole, mut real) = (whole.iter().copied().cycle(), real.iter().copied().cycle());
    let mut next = || whole.next().unwrap_or(0);
    let mut value = || real.next().unwrap_or(0.0);
    let findings = &mut record.findings;
    record.elapsed = next();
    for series in &mut findings.series {
        (series.n, series.missed) = (next(), next());
        if let Some(summary) = &mut series.summary {
            (summary.min, summary.max) = (next(), next());
            (summary.p50, summary.p99, summary.p99_9) = (next(), next(), next());
            summary.intervals = std::array::from_fn(|_| Some([next(), next()]));
        }
        for slice in &mut series.slices {
            (slice.at, slice.n, slice.min) = (next(), next(), next());
            (slice.p50, slice.max) = (next(), next());
        }
    }
    for outlier in &mut findings.outliers {
        (outlier.at, outlier.value, outlier.cpu) = (next(), next(), Some(next() as usize));
    }
    for fact in &mut findings.facts {
        (fact.value, fact.interval) = (value(), Some([value(), value()]));
    }
    for point in findings.curves.iter_mut().flat_map(|curve| &mut curve.points) {
        (point.x, point.y, point.interval) = (value(), value(), Some([value(), value()]));
    }
    for verdict in &mut findings.verdicts {
        for quantity in [&mut verdict.measured, &mut verdict.effect].into_iter().flatten() {
            (quantity.value, quantity.interval) = (value(), Some([value(), value()]));
        }
        if let Some(bound) = &mut verdict.healthy {
            bound.at_most = value();
        }
        verdict.minimum_effect = Some(value());
    }
    record
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn numbers_of_any_size_do_no_harm(
        whole in prop::collection::vec(prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), 0..100_u64], 1..40),
        real in prop::collection::vec(prop_oneof![any::<f64>(), Just(f64::NAN), Just(f64::INFINITY), Just(0.0), -9.0..9.0_f64], 1..40),
    ) {
        for record in [&*RICH, &fixture::comparison()] {
            let record = absurd(record.clone(), &whole, &real);
            let page = html(std::slice::from_ref(&record));
            let parsed = body(&page);
            for attribute in parsed.descendants().flat_map(|node| node.attributes()) {
                let is_drawn = ["d", "x", "y", "x1", "x2", "y1", "y2", "width", "height"]
                    .contains(&attribute.name());
                prop_assert!(!is_drawn || !attribute.value().contains(['N', 'i']), "{attribute:?}");
            }
            markdown(&record);
            terminal(&record, &TerminalStyle { width: 80, colour: true, all: true });
        }
    }

    #[test]
    fn text_cannot_add_elements_to_a_page(texts in texts()) {
        let benign = &*BENIGN;
        let record = poisoned(&fixture::small(), &texts);
        let page = html(std::slice::from_ref(&record));
        let words = vocabulary(&page);
        prop_assert!(words.is_subset(benign), "{:?}", words.difference(benign).collect::<Vec<_>>());
        prop_assert!(!page.contains(acts));
        prop_assert!(vocabulary(&html(&[record.clone(), record])).is_subset(benign));
    }

    #[test]
    fn text_cannot_control_a_terminal(texts in texts(), width in 0_usize..200) {
        let record = poisoned(&fixture::small(), &texts);
        let plain = terminal(&record, &TerminalStyle { width, colour: false, all: true });
        prop_assert!(!plain.contains(acts), "{plain:?}");
        let mut coloured = terminal(&record, &TerminalStyle { width, colour: true, all: true });
        for own in ["[0m", "[1m", "[2m", "[32m", "[1;31m", "[33m", "[36m"] {
            coloured = coloured.replace(&format!("\u{1b}{own}"), "");
        }
        prop_assert_eq!(coloured, plain);
    }

    #[test]
    fn markdown_stays_in_its_cells(texts in texts()) {
        let text = markdown(&poisoned(&fixture::small(), &texts));
        prop_assert!(!text.contains(acts));
        let mut headings = 0;
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
            match event {
                Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Strikethrough) => {
                    prop_assert!(false, "{event:?} in {text}");
                }
                Event::Start(Tag::Heading { .. }) => headings += 1,
                Event::Html(html) | Event::InlineHtml(html) => {
                    let own = ["<details><summary>Machine, settings and tool</summary>", "</details>"];
                    prop_assert!(own.contains(&html.trim()), "{html}");
                }
                _ => {}
            }
        }
        // The title, answers, series, facts, worst samples, changes, warnings and
        // missing measurements.
        prop_assert_eq!(headings, 8, "{}", text);
        let mut cells = 0;
        for line in text.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            if line.starts_with("| ") {
                prop_assert!(cells == 0 || cells == bars, "{line}");
                cells = bars;
            } else {
                cells = 0;
            }
        }
    }
}
