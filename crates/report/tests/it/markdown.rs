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
