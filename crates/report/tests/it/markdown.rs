//! Markdown as it is pasted.

use unjank_report::markdown;

use crate::fixture;

#[test]
fn a_checkup_is_a_page_of_tables() {
    insta::assert_snapshot!(markdown(&fixture::small()));
}

#[test]
fn a_record_without_questions_is_short() {
    insta::assert_snapshot!(markdown(&fixture::short()));
}

#[test]
fn a_comparison_shows_differences() {
    insta::assert_snapshot!(markdown(&fixture::comparison()));
}

#[test]
fn a_heat_map_is_a_table() {
    let text = markdown(&fixture::rich());
    let (_, map) = text.split_once("## swap/sweep/storage_ios\n\n").expect("there is a map");
    let lines: Vec<&str> = map.lines().take(7).collect();
    assert_eq!(
        lines[0],
        "| policy | 32.0 MiB | 64.0 MiB | 128 MiB | 256 MiB | 512 MiB | 1.00 GiB |"
    );
    assert!(lines[3].starts_with("| `always/arc` | **68.5 % (67.5–69.5 %)** |"), "{}", lines[3]);
    assert!(lines[6].ends_with("smaller is better; the best of a column is bold."));
    assert_eq!(text.matches("swap/sweep/storage_ios").count(), 1, "it is no line of the curves");
}
