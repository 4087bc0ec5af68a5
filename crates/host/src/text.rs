//! Text that comes from outside: names of threads, files, control groups.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character has an effect on a terminal instead of a shape: controls,
/// marks of direction, separators, and characters without width, which could hide
/// text.
pub fn steers_terminal(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'..='\u{ffff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// `text` as a single line without effect: every character that
/// [steers a terminal](steers_terminal) is written as an escape (`\n`, `\u{1b}`).
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, steers_terminal)
}

/// `text` with an escape for each character that `acts`.
pub fn escaped(text: &str, acts: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            c if !acts(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c => {
                write!(shown, "\\u{{{:x}}}", u32::from(c))
                    .expect("writing to a string cannot fail");
            }
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_a_shape_and_marks_of_direction_have_none() {
        assert!("kworker/0:1 größer µ \u{fffd}".chars().all(|c| !steers_terminal(c)));
        assert!("\n\u{1b}\u{9b}\u{200b}\u{202e}\u{2066}\u{feff}".chars().all(steers_terminal));
    }
}
