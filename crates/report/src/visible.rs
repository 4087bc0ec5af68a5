//! Escapes text from a record.
//!
//! Thread names, paths and causes come from the machine and may contain anything that
//! the kernel allows: terminal escapes, line breaks, characters that change the
//! direction of writing. All of these are shown and have no effect.

use std::borrow::Cow;
use std::fmt::Write as _;

pub use unjank_host::text::one_line;
use unjank_host::text::{escaped, steers_terminal as acts};

/// The longest text shown, in characters.
const LONGEST: usize = 800;

/// `text` with every control character written as an escape (`\n`, `\u{1b}`), cut off
/// after 800 characters.
pub fn visible(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        None => one_line(text),
        Some((end, _)) => Cow::Owned(format!("{}…", one_line(&text[..end]))),
    }
}

/// As [`one_line`], but line breaks are kept.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| acts(c) && c != '\n')
}

/// As [`lines`], but escapes that select a colour (`ESC [ … m`) are kept.
pub fn coloured_lines(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| acts(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut left = text;
    while let Some(at) = left.find("\u{1b}[") {
        let (before, from) = left.split_at(at);
        shown.push_str(&lines(before));
        let end = from[2..].find(|c: char| !c.is_ascii_digit() && c != ';').map(|end| end + 2);
        let (colour, rest) = match end.filter(|&end| from[end..].starts_with('m')) {
            Some(end) => from.split_at(end + 1),
            None => ("\\u{1b}", &from[1..]),
        };
        shown.push_str(colour);
        left = rest;
    }
    shown.push_str(&lines(left));
    Cow::Owned(shown)
}

/// A JSON document with every control character written as JSON's escape: it means the
/// same, and has no effect on a terminal.
pub fn json(text: &str) -> Cow<'_, str> {
    let escape = |c: char| acts(c) && !matches!(c, '\n' | '\r' | '\t');
    if !text.chars().any(escape) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if escape(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(shown, "\\u{unit:04x}").expect("writing to a string cannot fail");
            }
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_left_alone() {
        assert!(matches!(visible("kworker/0:1 größer µ"), Cow::Borrowed(_)));
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(visible("a\u{1b}[2Jb\n\tc\u{9b}"), "a\\u{1b}[2Jb\\n\\tc\\u{9b}");
        assert_eq!(visible("evil\u{202e}txt.exe\u{200b}"), "evil\\u{202e}txt.exe\\u{200b}");
    }

    #[test]
    fn line_breaks_stay_and_only_colours_have_an_effect() {
        let hostile = "a\u{1b}[31mred\u{1b}[0m\u{1b}[2J\u{1b}]0;t\u{7}\nb\u{1b}";
        assert_eq!(
            coloured_lines(hostile),
            "a\u{1b}[31mred\u{1b}[0m\\u{1b}[2J\\u{1b}]0;t\\u{7}\nb\\u{1b}"
        );
        assert_eq!(lines("a\u{1b}[31m\nb"), "a\\u{1b}[31m\nb");
        assert_eq!(one_line("a\nerror: b\r"), "a\\nerror: b\\r");
    }

    #[test]
    fn a_document_means_the_same_with_escapes() {
        let document = "{\n  \"name\": \"a\u{9b}2J\u{202e}\u{e0041}\"\n}";
        assert_eq!(json(document), "{\n  \"name\": \"a\\u009b2J\\u202e\\udb40\\udc41\"\n}");
    }

    #[test]
    fn a_long_text_is_cut_off() {
        let shown = visible(&"x".repeat(LONGEST + 5)).into_owned();
        assert_eq!(shown.chars().count(), LONGEST + 1);
        assert!(shown.ends_with('…'));
        assert_eq!(visible(&"x".repeat(LONGEST)).len(), LONGEST);
        assert_eq!(visible(&"\n".repeat(LONGEST)).len(), 2 * LONGEST);
    }
}
