//! Words of a command, as a shell reads them back.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use unjank_host::text::steers_terminal;

/// The words, quoted and joined by spaces, so that a shell reads them back.
pub fn line<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| quoted(word.as_ref())).collect();
    quoted.join(" ")
}

/// One word. Bytes that are no text, and characters that a terminal may not show, are
/// written as `$'\012'`, which bash, zsh and POSIX 2024 read.
fn quoted(word: &OsStr) -> String {
    let text = word.to_str().filter(|text| !text.chars().any(steers_terminal));
    if let Some(option) = text.filter(|text| is_plain_option(text)) {
        return option.to_owned();
    }
    if let Some(Ok(quoted)) = text.map(shlex::try_quote) {
        return quoted.into_owned();
    }
    let mut line = "$'".to_owned();
    for chunk in word.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\'' | '\\' => line.extend(['\\', character]),
                shown if !steers_terminal(shown) => line.push(shown),
                hidden => escape(hidden.encode_utf8(&mut [0; 4]).as_bytes(), &mut line),
            }
        }
        escape(chunk.invalid(), &mut line);
    }
    line.push('\'');
    line
}

/// Whether a word is an option that needs no quotes. Other words with an `=` are quoted, because a
/// shell takes such a first word for an assignment.
fn is_plain_option(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=./:,+@".contains(&byte);
    word.starts_with('-') && word.bytes().all(is_plain)
}

/// Adds bytes in octal, with three digits each: a shell reads at most three, so a digit that
/// follows is not taken for one of them.
fn escape(bytes: &[u8], line: &mut String) {
    for byte in bytes {
        let _strings_take_all = write!(line, "\\{byte:03o}");
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn ordinary_words_are_quoted_as_people_write_them() {
        assert_eq!(line(["git", "st atus", "", "--a=b"]), "git 'st atus' '' --a=b");
        assert_eq!(line(["A=b"]), "'A=b'");
        assert_eq!(line(["größe"]), "'größe'");
    }

    #[test]
    fn bash_reads_every_word_back() {
        let words: [&[u8]; 9] = [
            b"it's",
            b"a\nb",
            b"\xff\xfe1",
            b"\x1b[31m7",
            "x\u{202e}y – z".as_bytes(),
            b"$HOME `id` \"\\\\ !!",
            b"",
            b"-n",
            b"~ * ? #",
        ];
        for word in words {
            let line = line([OsStr::from_bytes(word)]);
            assert!(!line.chars().any(steers_terminal), "{line:?}");
            let script = format!("printf %s_ {line}");
            let read = Command::new("bash").args(["-c", &script]).output().unwrap().stdout;
            assert_eq!(read, [word, b"_"].concat(), "{line}");
        }
    }
}
