//! A program's name where a command of unjank belongs: what was probably meant.

use std::ffi::OsString;

use clap::error::ErrorKind;

/// The command that launches the program that was typed, if it is one in the user's PATH.
pub(super) fn meant(
    typed: &[OsString],
    error: ErrorKind,
    is_program: impl Fn(&str) -> bool,
) -> Option<String> {
    if error != ErrorKind::InvalidSubcommand {
        return None;
    }
    let words: Vec<&str> = typed.iter().skip(1).filter_map(|word| word.to_str()).collect();
    match words.as_slice() {
        ["launch", program, rest @ ..] if is_program(program) => {
            Some(format!("to measure its launches: unjank launch bench -- {}", join(program, rest)))
        }
        [program, rest @ ..] if is_program(program) => {
            let launch = join(program, rest);
            Some(format!("to see where its launch loses time: sudo unjank why -- {launch}"))
        }
        _ => None,
    }
}

fn join(program: &str, rest: &[&str]) -> String {
    let words = [&[program], rest].concat();
    shlex::try_join(words).unwrap_or_else(|_| program.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant_by(typed: &str) -> Option<String> {
        let typed: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
        meant(&typed, ErrorKind::InvalidSubcommand, |name| name == "git")
    }

    #[test]
    fn a_program_is_to_be_launched() {
        let why = meant_by("unjank git status").expect("a program");
        assert!(why.ends_with(": sudo unjank why -- git status"), "{why}");
        let bench = meant_by("unjank launch git").expect("a program");
        assert!(bench.ends_with(": unjank launch bench -- git"), "{bench}");
    }

    #[test]
    fn another_word_is_a_mistake() {
        assert_eq!(meant_by("unjank swpa probe"), None);
        assert_eq!(meant_by("unjank launch"), None);
        assert_eq!(meant_by("unjank launch bnech"), None);
    }
}
