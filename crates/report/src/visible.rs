//! Text from a record, made harmless.
//!
//! Thread names, paths and causes come from the machine and may hold anything
//! that the kernel lets through: terminal escapes, line breaks, characters
//! that turn the direction of writing round. All of it is shown, none of it
//! acts.

use std::borrow::Cow;
use std::fmt::Write as _;

/// More characters than this of one text are left to the record.
const LONGEST: usize = 800;

/// `text` with every character that controls rather than shows written as an
/// escape (`\n`, `\u{1b}`), cut off after 800 characters.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST && !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len().min(LONGEST) + 16);
    for (place, character) in text.chars().enumerate() {
        if place == LONGEST {
            shown.push('…');
            break;
        }
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if acts(c) => {
                write!(shown, "\\u{{{:x}}}", u32::from(c))
                    .expect("writing to a string cannot fail");
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character does something other than show itself: controls, marks
/// of direction, separators, and characters without width that could hide
/// text or be mistaken for nothing.
fn acts(character: char) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_left_alone() {
        assert!(matches!(visible("kworker/0:1 größer µ"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_controls_is_shown() {
        assert_eq!(visible("a\u{1b}[2Jb\n\tc\u{9b}"), "a\\u{1b}[2Jb\\n\\tc\\u{9b}");
        assert_eq!(visible("evil\u{202e}txt.exe\u{200b}"), "evil\\u{202e}txt.exe\\u{200b}");
    }

    #[test]
    fn a_long_text_is_cut_off() {
        let shown = visible(&"x".repeat(LONGEST + 5)).into_owned();
        assert_eq!(shown.chars().count(), LONGEST + 1);
        assert!(shown.ends_with('…'));
        assert_eq!(visible(&"x".repeat(LONGEST)).len(), LONGEST);
    }
}
