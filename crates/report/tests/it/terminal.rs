//! Terminal text as a user sees it.

use unjank_report::{TerminalStyle, terminal};

use crate::fixture;

const PLAIN: TerminalStyle = TerminalStyle { width: 80, colour: false, all: true };

#[test]
fn a_checkup_puts_its_answers_first() {
    insta::assert_snapshot!(terminal(&fixture::small(), &PLAIN));
}

#[test]
fn a_record_without_questions_is_a_table() {
    insta::assert_snapshot!(terminal(&fixture::short(), &PLAIN));
}

#[test]
fn facts_have_their_intervals() {
    insta::assert_snapshot!(terminal(&fixture::facts_only(), &PLAIN));
}

#[test]
fn nothing_measured_is_said() {
    insta::assert_snapshot!(terminal(&fixture::nothing(), &PLAIN));
}

#[test]
fn a_comparison_shows_differences() {
    insta::assert_snapshot!(terminal(&fixture::comparison(), &PLAIN));
}

#[test]
fn a_narrow_terminal_wraps() {
    insta::assert_snapshot!(terminal(&fixture::small(), &TerminalStyle { width: 52, ..PLAIN }));
}

#[test]
fn answers_alone_leave_the_tables_out() {
    let style = TerminalStyle { all: false, ..PLAIN };
    let (answers, everything) =
        (terminal(&fixture::rich(), &style), terminal(&fixture::rich(), &PLAIN));
    assert!(answers.contains("Answers") && answers.contains("Warnings"));
    assert!(!answers.contains("Series") && everything.contains("Series"));
}
