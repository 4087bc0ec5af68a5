//! Every command in the documents can be typed as printed.
//!
//! Each is called with `--help` after its options: clap reads the options before it, refuses
//! unknown ones, and runs nothing.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The Markdown files in `directory` and below.
fn documents(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            documents(&path, into);
        } else if path.extension().is_some_and(|end| end == "md") {
            into.push(path);
        }
    }
}

/// The lines of code of a document, with continued lines joined.
fn code(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut in_code, mut continues) = (false, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            let (line, goes_on) = match line.strip_suffix('\\') {
                Some(line) => (line, true),
                None => (line, false),
            };
            match lines.last_mut().filter(|_| continues) {
                Some(last) => last.push_str(line.trim_start()),
                None => lines.push(line.to_owned()),
            }
            continues = goes_on;
        }
    }
    lines
}

/// The line with the number 1 in place of `$!` and of each shell substitution.
fn substituted(line: &str) -> String {
    let mut parts = line.split("$(");
    let before = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once(')').map_or(part, |(_, behind)| behind));
    rest.fold(before, |line, part| line + "1" + part).replace("$!", "1")
}

/// The words after `unjank` in each of its calls in a shell line.
fn calls(line: &str) -> Vec<Vec<String>> {
    let line = substituted(line.trim_start().trim_start_matches("$ "));
    let Some(words) = shlex::split(&line) else { return Vec::new() };
    let is_end = |word: &String| matches!(word.as_str(), "|" | "&&" | ";" | "&" | "--and");
    let mut calls = Vec::new();
    for command in words.split(is_end) {
        let mut command = command.iter().skip_while(|word| {
            matches!(word.as_str(), "sudo" | "adb" | "shell") || word.contains('=')
        });
        let is_call = command.next().is_some_and(|program| program == "unjank");
        let is_message = command.clone().next().is_some_and(|word| word.starts_with('('));
        if is_call && !is_message {
            let is_redirection = |word: &&String| !word.starts_with(['>', '<']);
            calls.push(command.take_while(is_redirection).cloned().collect());
        }
    }
    calls
}

/// The error of a call, if there is one.
fn refused(call: &[String]) -> Option<String> {
    // After `--` comes another command, which may be unjank's own.
    let end = call.iter().position(|word| word == "--").unwrap_or(call.len());
    let (own, other) = call.split_at(end);
    if let [_, program, rest @ ..] = other
        && program == "unjank"
        && let Some(why) = refused(rest)
    {
        return Some(why);
    }
    let output = Command::new(unjank_needs::unjank!()).args(own).arg("--help").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| stderr.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn commands_of_documents_can_be_typed() {
    let mut files = Vec::new();
    documents(&root().join("docs"), &mut files);
    files.push(root().join("README.md"));
    let (mut known, mut wrong) = (0, Vec::new());
    for file in files {
        for line in code(&fs::read_to_string(&file).unwrap()) {
            for call in calls(&line) {
                known += 1;
                if let Some(why) = refused(&call) {
                    wrong.push(format!("{}: {line}\n    {why}", file.display()));
                }
            }
        }
    }
    assert!(known > 150, "{known} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn examples_of_help_can_be_typed() {
    let help = |words: &[&str]| {
        let output =
            Command::new(unjank_needs::unjank!()).args(words).arg("--help").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let names = |text: &str| -> Vec<String> {
        let list = text.split("\nCommands:\n").nth(1).unwrap_or_default();
        let lines = list.lines().take_while(|line| line.starts_with("  "));
        let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
        lines.filter(|line| !line.starts_with("   ")).filter_map(name).collect()
    };
    let nouns = "checkup why host launch swap jitter lock ipc rt schd-dbg lab runs with restore";
    let (mut known, mut wrong) = (0, Vec::new());
    for noun in nouns.split(' ') {
        let of_noun = help(&[noun]);
        let verbs = names(&of_noun).into_iter().filter(|verb| verb != "help");
        let of_verbs = verbs.map(|verb| help(&[noun, &verb]));
        for text in of_verbs.collect::<Vec<_>>().iter().chain([&of_noun]) {
            for line in text.lines().filter(|line| line.starts_with("  ")) {
                for call in calls(line) {
                    known += 1;
                    if let Some(why) = refused(&call) {
                        wrong.push(format!("{noun}: {line}\n    {why}"));
                    }
                }
            }
        }
    }
    assert!(known > 80, "{known} examples were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
