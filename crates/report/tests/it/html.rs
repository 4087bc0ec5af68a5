//! Pages are complete, well-formed, self-contained and of bounded size.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use roxmltree::{Document, ParsingOptions};
use unjank_measure::record::Axis;
use unjank_measure::{Curve, Fact, Outlier, Point, RunRecord, Unit};
use unjank_report::html;

use crate::fixture;

/// The body of a page as XML. Only the head has elements without an end tag.
pub(crate) fn body(page: &str) -> Document<'_> {
    let start = page.find("<body>").expect("a page has a body");
    let end = page.find("</body>").expect("a body has an end") + "</body>".len();
    Document::parse_with_options(&page[start..end], ParsingOptions::default())
        .expect("a body is well-formed")
}

/// Writes a page to `target/tmp`, for inspection by eye.
pub(crate) fn page_of(name: &str, records: &[RunRecord]) -> String {
    let page = html(records);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    std::fs::write(&path, &page).expect("the target directory can be written to");
    page
}

static PAGES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut again = fixture::rich();
    "20261121T111530-ffffff".clone_into(&mut again.id);
    vec![
        page_of("rich", &[fixture::rich()]),
        page_of("small", &[fixture::small()]),
        page_of("short", &[fixture::short()]),
        page_of("comparison", &[fixture::comparison()]),
        page_of("nothing", &[fixture::nothing()]),
        page_of("why-some", &[fixture::why(12, "cc")]),
        page_of("several", &[fixture::rich(), again, fixture::short(), fixture::facts_only()]),
        page_of("none", &[]),
    ]
});

#[test]
fn pages_are_well_formed_and_self_contained() {
    for page in &*PAGES {
        let body = body(page);
        for node in body.descendants().filter(roxmltree::Node::is_element) {
            let name = node.tag_name().name();
            assert!(
                !["script", "link", "img", "iframe", "object", "style"].contains(&name),
                "{name}"
            );
            for attribute in node.attributes() {
                assert!(!attribute.name().starts_with("on") && attribute.name() != "src");
                assert!(attribute.name() != "href" || attribute.value().starts_with('#'));
            }
        }
        assert!(!page.contains("@import") && !page.contains("url("), "the style fetches nothing");
    }
}

#[test]
fn links_lead_to_sections_and_ids_are_unique() {
    for page in &*PAGES {
        let body = body(page);
        let ids: Vec<&str> = body.descendants().filter_map(|node| node.attribute("id")).collect();
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len(), "{ids:?}");
        for link in body.descendants().filter_map(|node| node.attribute("href")) {
            assert!(unique.contains(&link[1..]), "{link} leads nowhere");
        }
    }
}

#[test]
fn charts_and_tables_can_be_read_aloud() {
    for page in &*PAGES {
        let body = body(page);
        for chart in body.descendants().filter(|node| node.has_tag_name_in("svg")) {
            assert_eq!(chart.attribute("role"), Some("img"));
            let title = chart.children().find(|node| node.has_tag_name_in("title"));
            assert!(title.and_then(|title| title.text()).is_some_and(|text| !text.is_empty()));
        }
        for table in body.descendants().filter(|node| node.has_tag_name_in("table")) {
            assert!(table.children().any(|node| node.has_tag_name_in("caption")));
            let heads = table.descendants().filter(|node| node.has_tag_name_in("th"));
            assert!(heads.into_iter().all(|head| head.attribute("scope").is_some()));
        }
        for level in 2..=4 {
            let has =
                |level| body.descendants().any(|node| node.has_tag_name_in(&format!("h{level}")));
            assert!(!has(level) || has(level - 1), "no heading level is left out");
        }
    }
}

#[test]
fn the_pointer_shows_values() {
    let mut shown = 0;
    for page in &*PAGES {
        let body = body(page);
        let is_mark = |node: &roxmltree::Node<'_, '_>| {
            matches!(node.attribute("class"), Some("bar" | "mark"))
        };
        for mark in body.descendants().filter(is_mark) {
            let group = mark.parent().unwrap();
            let has = |name: &str| group.children().any(|node| node.has_tag_name_in(name));
            // The name beside a mark of a key, and the answer beside a strip, say all.
            let in_key = has("text") && !has("title");
            let in_strip = group.attribute("class").is_some_and(|it| it.starts_with("answer"));
            if !in_key && !in_strip {
                let title = group.children().find(|node| node.has_tag_name_in("title"));
                let text = title.and_then(|title| title.text()).unwrap_or_default();
                assert!(text.contains(|c: char| c.is_ascii_digit()), "{text:?} is no value");
                shown += 1;
            }
        }
    }
    assert!(shown > 20, "{shown}");
}

/// Element names without their namespace, which only SVG has.
trait TagName {
    fn has_tag_name_in(&self, name: &str) -> bool;
}

impl TagName for roxmltree::Node<'_, '_> {
    fn has_tag_name_in(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

#[test]
fn every_coordinate_lies_on_its_paper() {
    for page in &*PAGES {
        let body = body(page);
        for chart in body.descendants().filter(|node| node.has_tag_name_in("svg")) {
            let view: Vec<f64> = numbers(chart.attribute("viewBox").unwrap_or_default());
            for path in chart.descendants().filter_map(|node| node.attribute("d")) {
                // Marks of five pixels may touch the edge; circles use relative arcs.
                let absolute = path.split('a').next().unwrap_or_default();
                if absolute.contains(['H', 'V']) {
                    continue;
                }
                for pair in numbers(absolute).chunks_exact(2) {
                    assert!((-8.0..=view[2] + 8.0).contains(&pair[0]), "{path} on {view:?}");
                    assert!((-8.0..=view[3] + 8.0).contains(&pair[1]), "{path} on {view:?}");
                }
            }
        }
    }
}

fn numbers(text: &str) -> Vec<f64> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
        .filter_map(|number| number.parse().ok())
        .collect()
}

#[test]
fn a_heat_map_is_a_table_with_a_key_to_its_colours() {
    let page = html(&[fixture::rich()]);
    let body = body(&page);
    let class = |node: &roxmltree::Node<'_, '_>, name: &str| {
        node.attribute("class").is_some_and(|classes| classes.split(' ').any(|is| is == name))
    };
    let map = body.descendants().find(|node| class(node, "heat")).unwrap();
    let cells = |name: &str| map.descendants().filter(|node| class(node, name)).count();
    assert_eq!((cells("m0"), cells("m6"), cells("best")), (3, 5, 6));
    let rows = map.descendants().filter(|node| node.attribute("scope") == Some("row"));
    assert_eq!(
        rows.filter_map(|row| row.text()).collect::<Vec<_>>(),
        ["paper", "always/arc", "gate=4/lru"]
    );
    let key = body.descendants().find(|node| class(node, "steps")).unwrap();
    assert_eq!(key.descendants().filter(|node| node.has_tag_name_in("li")).count(), 7);
    assert!(!page.contains("Storage I/O</title>"), "it is no chart of lines as well");
}

#[test]
fn a_front_is_a_line_among_dots() {
    let page = html(&[fixture::rich()]);
    let body = body(&page);
    let charts = body.descendants().filter(|node| node.has_tag_name_in("svg"));
    let titled = |chart: &roxmltree::Node<'_, '_>| {
        chart.descendants().any(|node| node.text() == Some("Pareto front"))
    };
    let front: Vec<_> = charts.filter(titled).collect();
    assert_eq!(front.len(), 1);
    let count = |class: &str| {
        let nodes = front[0].descendants();
        nodes.filter(|node| node.attribute("class") == Some(class)).count()
    };
    assert_eq!((count("line"), count("mark")), (1, 3));
    let dots = front[0].descendants().filter(|node| node.has_tag_name_in("circle"));
    assert_eq!(dots.count(), 5);
}

#[test]
fn answers_come_first_and_the_method_last() {
    let page = html(&[fixture::rich()]);
    let places: Vec<usize> = [
        "unjank </span>checkup</span>",
        ">emulated<",
        "class=\"answer\">Slowest: launch",
        "Does the clock rise in time",
        "sudo unjank launch boost --dry-run",
        "Percentiles of start",
        "launch/ramp/speed",
        "<h2>Series",
        "<h2>Worst samples",
        "<h2>Facts",
        "<h2>Changed for the run",
        "<h2>Warnings",
        "<h2>Not measured",
        "<h2>Machine",
        "<h2>Settings",
        "<h2>Method",
    ]
    .iter()
    .map(|text| page.find(text).unwrap_or_else(|| panic!("{text} is not on the page")))
    .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn the_size_of_a_page_is_bounded() {
    let mut record = fixture::rich();
    let findings = &mut record.findings;
    let series = findings.series.clone();
    for index in 0..3_000 {
        let mut one = series[index % series.len()].clone();
        one.labels.insert("copy".to_owned(), index.to_string());
        findings.series.push(one);
        findings.facts.push(
            Fact::new(format!("lock/{index}/throughput"), index as f64, Unit::PerSecond)
                .with_interval([index as f64 * 0.9, index as f64 * 1.1], 31),
        );
        findings.outliers.push(Outlier {
            series: format!("ipc/{index}/round_trip"),
            labels: BTreeMap::new(),
            at: index as u64,
            value: 1,
            cpu: None,
            cause: Some("x".repeat(10_000)),
        });
        findings.verdicts.push(findings.verdicts[index % 5].clone());
        findings.warnings.push(format!("{index} {}", "y".repeat(10_000)));
        findings.not_supported(format!("z{index}"), "z".repeat(10_000));
    }
    let noise = |index: u64| (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64;
    findings.curves.push(Curve {
        name: "launch/noise".to_owned(),
        x: Axis::new("time", Unit::Nanoseconds),
        y: Axis::new("noise", Unit::Count),
        labels: BTreeMap::new(),
        points: (0..200_000).map(|i| Point { x: i as f64, y: noise(i), interval: None }).collect(),
    });
    for index in 0..3_000_u32 {
        let points = (0..1_000).map(|x| Point { x: f64::from(x), y: noise(7), interval: None });
        let row = Curve {
            name: format!("lock/map/{}", index / 100),
            x: Axis::new("threads", Unit::Count),
            y: Axis::new("throughput", Unit::PerSecond),
            labels: [("strategy".to_owned(), index.to_string())].into(),
            points: points.collect(),
        };
        findings.curves.push(row.in_map("strategy", None));
    }
    let page = html(&[record]);
    assert!(page.contains("6 more heat maps with --json"));
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    assert!(page.contains("more series with --json"));
    body(&page);
}
