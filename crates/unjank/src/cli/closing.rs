//! The text that closes the help of a command: examples, remarks, and rows of terms.
//!
//! clap breaks every line that is wider than the terminal, so that a copied example is two
//! commands. Here only sentences are broken.

use std::mem;

/// A part of the text, between blank lines or where the indentation changes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// `Examples:`.
    Heading(&'a str),
    /// Commands to copy, which are never broken.
    Examples(Vec<&'a str>),
    /// Sentences, on one line.
    Prose(String),
    /// A term, and what it means.
    Rows(Vec<Row<'a>>),
}

/// A line of two columns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    pub(crate) term: &'a str,
    /// The column at which the meaning begins, in characters.
    pub(crate) column: usize,
    pub(crate) meaning: String,
}

/// Splits the text into its parts.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut is_examples = false;
    for paragraph in text.split("\n\n") {
        let mut prose = Vec::new();
        let mut indented = Vec::new();
        for line in paragraph.lines() {
            if line.starts_with(' ') {
                end_prose(&mut prose, &mut is_examples, &mut parts);
                indented.push(line);
            } else {
                end_indented(&mut indented, is_examples, &mut parts);
                prose.push(line);
            }
        }
        end_prose(&mut prose, &mut is_examples, &mut parts);
        end_indented(&mut indented, is_examples, &mut parts);
    }
    parts
}

fn end_prose<'a>(lines: &mut Vec<&'a str>, is_examples: &mut bool, parts: &mut Vec<Part<'a>>) {
    match mem::take(lines).as_slice() {
        [] => {}
        [heading] if *heading == "Examples:" => {
            *is_examples = true;
            parts.push(Part::Heading(heading));
        }
        lines => {
            *is_examples = false;
            parts.push(Part::Prose(lines.join(" ")));
        }
    }
}

fn end_indented<'a>(lines: &mut Vec<&'a str>, is_examples: bool, parts: &mut Vec<Part<'a>>) {
    match mem::take(lines) {
        lines if lines.is_empty() => {}
        lines if is_examples => parts.push(Part::Examples(lines)),
        lines => parts.push(Part::Rows(rows(&lines))),
    }
}

fn rows<'a>(lines: &[&'a str]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for line in lines {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        match rows.last_mut() {
            Some(row) if indent > INDENT && indent >= row.column => {
                row.meaning.push(' ');
                row.meaning.push_str(text);
            }
            _ => {
                let (term, rest) = text.split_once("  ").unwrap_or((text, ""));
                let meaning = rest.trim_start();
                let column = line.chars().count() - meaning.chars().count();
                rows.push(Row { term, column, meaning: meaning.to_owned() });
            }
        }
    }
    rows
}

/// The indentation of rows and examples, in columns.
const INDENT: usize = 2;

/// The text for a terminal of this width, in columns.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    for part in parts(text) {
        let (lines, goes_on) = match part {
            Part::Heading(heading) => (vec![heading.to_owned()], false),
            Part::Examples(lines) => (lines.into_iter().map(str::to_owned).collect(), true),
            Part::Prose(prose) => (broken(&prose, width), false),
            Part::Rows(rows) => (rows.iter().flat_map(|row| row.lines(width)).collect(), false),
        };
        if !(fitted.is_empty() || goes_on) {
            fitted.push('\n');
        }
        for line in lines {
            fitted.push_str(&line);
            fitted.push('\n');
        }
    }
    fitted
}

impl Row<'_> {
    fn lines(&self, width: usize) -> Vec<String> {
        let start = format!("{:INDENT$}{}", "", self.term);
        if self.meaning.is_empty() {
            return vec![start];
        }
        let column = self.column;
        let broken = broken(&self.meaning, width.saturating_sub(column));
        let left = |place| if place == 0 { start.as_str() } else { "" };
        let lines = broken.iter().enumerate();
        lines.map(|(place, line)| format!("{:<column$}{line}", left(place))).collect()
    }
}

/// The sentences in lines of at most this width, where their words allow it.
fn broken(prose: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in prose.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Examples:
  sudo unjank why -- git status    # a remark that is wider than any narrow terminal
  unjank why launch.dat

Sentences that are broken
anew. --by has values:

  cpu      the program starts
           first
  servers  its servers do";

    #[test]
    fn only_sentences_and_meanings_are_broken() {
        let expected = "Examples:
  sudo unjank why -- git status    # a remark that is wider than any narrow terminal
  unjank why launch.dat

Sentences that are
broken anew. --by
has values:

  cpu      the
           program
           starts
           first
  servers  its
           servers
           do
";
        assert_eq!(fitted(TEXT, 20), expected);
    }

    #[test]
    fn lines_are_joined_where_the_terminal_is_wide() {
        let fitted = fitted(TEXT, 100);
        assert!(fitted.contains("\nSentences that are broken anew. --by has values:\n"));
        assert!(fitted.contains("\n  cpu      the program starts first\n"));
    }

    #[test]
    fn a_term_without_a_meaning_stays() {
        assert_eq!(fitted("Files:\n  /etc/x", 80), "Files:\n\n  /etc/x\n");
    }
}
