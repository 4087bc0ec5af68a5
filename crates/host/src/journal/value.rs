//! The value of a knob, extracted from the content of its file.

/// The value in force. A file with a choice lists all values and marks the one
/// in force: `always [madvise] never` (sysfs, tracefs), or with round brackets
/// (`/sys/kernel/debug/sched/preempt`). Writing takes the bare word.
pub(super) fn in_force(text: &str) -> &str {
    let choice = |open, close| {
        let mut marked = text.split_ascii_whitespace().filter(|word| word.starts_with(open));
        let only = marked.next().filter(|_| marked.next().is_none())?;
        let rest_is_plain =
            text.split_ascii_whitespace().all(|word| word == only || is_plain(word));
        only.strip_prefix(open)?.strip_suffix(close).filter(|word| is_plain(word) && rest_is_plain)
    };
    let several = text.split_ascii_whitespace().nth(1).is_some();
    if text.contains('\n') {
        return text;
    }
    choice('[', ']').or_else(|| choice('(', ')').filter(|_| several)).unwrap_or(text)
}

fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_alphanumeric() || "_-+.:".contains(c)) && !word.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_reads_as_the_word_in_force() {
        assert_eq!(in_force("always [madvise] never"), "madvise");
        assert_eq!(in_force("none [mq-deadline] kyber bfq"), "mq-deadline");
        assert_eq!(in_force("[none]"), "none");
        assert_eq!(in_force("none voluntary (full)"), "full");
    }

    #[test]
    fn other_text_is_unchanged() {
        for text in [
            "",
            "60",
            "4096\t131072\t6291456",
            "(prio == 3)",
            "(prio)",
            "[a] [b]",
            "[]",
            "a [b c",
            "[a]\n[b] c",
            "f(x) [y]",
        ] {
            assert_eq!(in_force(text), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn the_word_in_force_is_part_of_the_text(text in "[\\[\\]() a-c\n]{0,12}") {
            proptest::prop_assert!(text.contains(in_force(&text)));
        }
    }
}
