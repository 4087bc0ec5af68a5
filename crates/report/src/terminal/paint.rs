//! Colours that do not affect the layout.
//!
//! Coloured words have marks without width, so tables and wrapped lines are the same
//! with and without colour. At the end the marks become escapes, or are removed. Texts
//! from a record cannot contain these marks: [`visible`](crate::visible::visible)
//! escapes such characters.

use unjank_measure::Answer;

use crate::tone::Tone;

/// The meaning of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// Headings and subjects.
    Strong,
    /// Details.
    Soft,
    /// Healthy, better.
    Good,
    /// Slow, worse.
    Bad,
    /// Undecided, warnings.
    Open,
    /// A command to type.
    Command,
}

const PAINTS: [(Paint, char, &str); 6] = [
    (Paint::Strong, '\u{2061}', "\u{1b}[1m"),
    (Paint::Soft, '\u{2062}', "\u{1b}[2m"),
    (Paint::Good, '\u{2063}', "\u{1b}[32m"),
    (Paint::Bad, '\u{2064}', "\u{1b}[1;31m"),
    (Paint::Open, '\u{206a}', "\u{1b}[33m"),
    (Paint::Command, '\u{206b}', "\u{1b}[36m"),
];
const END: char = '\u{2060}';
const RESET: &str = "\u{1b}[0m";

impl Paint {
    /// The colour of an answer.
    pub(super) fn of(answer: Answer) -> Self {
        match Tone::of(answer) {
            Tone::Good => Self::Good,
            Tone::Bad => Self::Bad,
            Tone::Open => Self::Open,
            Tone::None => Self::Soft,
        }
    }

    /// `text` in this colour, word by word, so it can be wrapped.
    pub(super) fn on(self, text: &str) -> String {
        let mark =
            PAINTS.iter().find(|(paint, ..)| *paint == self).map_or(END, |(_, mark, _)| *mark);
        text.split('\n')
            .map(|line| {
                let words = line.split(' ').map(|word| {
                    if word.is_empty() { String::new() } else { format!("{mark}{word}{END}") }
                });
                words.collect::<Vec<_>>().join(" ")
            })
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Turns the marks of finished lines into escapes, or removes them. A line always ends
/// without colour.
pub(super) fn resolve(text: &str, colour: bool) -> String {
    let mut resolved = String::with_capacity(text.len());
    for line in text.lines() {
        let mut painted = false;
        for character in line.trim_end().chars() {
            let mark = PAINTS.iter().find(|(_, mark, _)| *mark == character);
            match mark {
                Some((.., escape)) if colour => {
                    resolved.push_str(escape);
                    painted = true;
                }
                None if character == END => {
                    if painted {
                        resolved.push_str(RESET);
                    }
                    painted = false;
                }
                Some(_) => {}
                None => resolved.push(character),
            }
        }
        if painted {
            resolved.push_str(RESET);
        }
        resolved.push('\n');
    }
    resolved
}

/// The heading of a block.
pub(super) fn heading(text: &str) -> String {
    Paint::Strong.on(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_escapes_or_nothing() {
        let text = format!("a {} c", Paint::Good.on("b b"));
        assert_eq!(resolve(&text, false), "a b b c\n");
        assert_eq!(resolve(&text, true), "a \u{1b}[32mb\u{1b}[0m \u{1b}[32mb\u{1b}[0m c\n");
    }

    #[test]
    fn a_line_ends_without_colour() {
        let cut = Paint::Bad.on("word").trim_end_matches(END).to_owned();
        assert_eq!(resolve(&cut, true), "\u{1b}[1;31mword\u{1b}[0m\n");
    }
}
