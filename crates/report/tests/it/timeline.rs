//! A critical path over time, on pages, in Markdown and on terminals.

use pulldown_cmark::{Event, Parser};
use unjank_report::{TerminalStyle, html, markdown, terminal};

use crate::fixture::why;
use crate::html::{body, page_of};

const STYLE: TerminalStyle = TerminalStyle { width: 100, colour: false, all: false };

/// The texts of a drawing: names of lanes and times.
fn texts(chart: &roxmltree::Node<'_, '_>) -> Vec<String> {
    let texts = chart.descendants().filter(|node| node.tag_name().name() == "text");
    texts.filter_map(|node| node.text().map(str::to_owned)).collect()
}

#[test]
fn a_page_has_a_lane_for_each_thread_and_a_bar_for_each_piece() {
    let page = page_of("why", &[why(5, "cc")]);
    let body = body(&page);
    let chart = body.descendants().find(|node| node.tag_name().name() == "svg").unwrap();
    let texts = texts(&chart);
    for name in ["cc0 (1000)", "cc4 (1004)", "CPU 0", "CPU 1", "clock", "block device 254:0"] {
        assert!(texts.iter().any(|text| text == name), "{name}: {texts:?}");
    }
    let titled = |node: &roxmltree::Node<'_, '_>| node.tag_name().name() == "title";
    let said = chart.descendants().filter(titled).filter_map(|node| node.text());
    let pieces = said.filter(|text| text.contains(" (child, proved)")).count();
    // Each of four other processes: three pieces, two of them with a CPU.
    assert_eq!(pieces, 4 * (3 + 2));
    let about = chart.children().find(|node| node.tag_name().name() == "desc").unwrap();
    assert!(about.text().unwrap().starts_with("By activity: computing "));
    assert!(!page.contains("Closer"), "a short path needs no closer view");
}

#[test]
fn hundreds_of_processes_are_few_lanes_and_closer_views() {
    let page = page_of("why-many", &[why(200, "cc")]);
    let body = body(&page);
    let charts: Vec<_> =
        body.descendants().filter(|node| node.tag_name().name() == "svg").collect();
    assert!(charts.len() > 4, "{} drawings", charts.len());
    for chart in &charts {
        let lanes = texts(chart).iter().filter(|text| text.starts_with("cc")).count();
        assert!(lanes <= 24, "{lanes} lanes");
        let view = chart.attribute("viewBox").unwrap();
        let height: f64 = view.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(height < 1_200.0, "{view}");
    }
    assert!(texts(&charts[0]).iter().any(|text| text.ends_with(" others")));
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn a_terminal_and_markdown_have_a_line_for_each_lane() {
    let printed = terminal(&why(3, "cc"), &STYLE);
    let lines: Vec<&str> = printed.lines().collect();
    let title = lines.iter().position(|line| *line == "The critical path").unwrap();
    assert!(lines[title + 1].starts_with("cc0 (1000)  █"), "{printed}");
    assert!(lines[title + 2].starts_with("cc1 (1001)   "), "{printed}");
    assert!(lines[title + 4].ends_with("14.1 ms"), "{printed}");
    assert!(lines[title + 5].contains("█ computing") && lines[title + 5].contains("s storage"));
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{printed}");
    assert!(!printed.contains("note"), "its notes are about the rows of the table");
    let text = markdown(&why(3, "cc"));
    assert!(text.contains("## The critical path\n\n```\ncc0 (1000)  █"), "{text}");
}

#[test]
fn names_of_threads_have_no_effect() {
    for evil in ["<script>x</script>", "a\u{1b}[2J\n", "``` [a](b) ```", "\u{202e}|x"] {
        let record = why(30, evil);
        let page = html(std::slice::from_ref(&record));
        let document = body(&page);
        assert!(!document.descendants().any(|node| node.tag_name().name() == "script"));
        let printed = terminal(&record, &STYLE);
        let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!printed.chars().any(acts), "{printed:?}");
        let text = markdown(&record);
        let harmless =
            |event: &Event<'_>| !matches!(event, Event::Start(pulldown_cmark::Tag::Link { .. }));
        assert!(Parser::new(&text).all(|event| harmless(&event)), "{text}");
    }
}
