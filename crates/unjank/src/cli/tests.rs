//! Properties of every command in the tree.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, Command, CommandFactory as _};

use super::{Cli, GROUPS};

/// The tests that compare the output of a command with that of `runs show`.
const SHOWN_AGAIN: [&str; 4] = [
    include_str!("../../tests/shown_again.rs"),
    include_str!("../../tests/needs_root_shown_again.rs"),
    include_str!("../../tests/needs_java_jitter.rs"),
    include_str!("../../tests/needs_root_boost_install.rs"),
];

/// All commands that do something and that `--help` shows, with their words.
fn leaves() -> Vec<(Vec<String>, Command)> {
    fn add(command: &Command, words: &[String], leaves: &mut Vec<(Vec<String>, Command)>) {
        let visible = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
        if !command.is_subcommand_required_set() {
            leaves.push((words.to_vec(), command.clone()));
        }
        for below in command.get_subcommands().filter(visible) {
            add(below, &[words, &[below.get_name().to_owned()]].concat(), leaves);
        }
    }
    let mut command = Cli::command();
    command.build();
    let mut leaves = Vec::new();
    add(&command, &[], &mut leaves);
    leaves
}

fn has(command: &Command, long: &str) -> bool {
    command.get_arguments().any(|it| it.get_long() == Some(long))
}

#[test]
fn every_command_is_in_one_group_of_help() {
    let command = Cli::command();
    let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
    let mut names: Vec<&str> = visible.map(Command::get_name).collect();
    let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    names.sort_unstable();
    grouped.sort_unstable();
    assert_eq!(grouped, names);
}

#[test]
fn every_command_has_examples() {
    let has_none = |(words, command): &(Vec<String>, Command)| {
        let end = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let example = format!("unjank {}", words.join(" "));
        (!end.starts_with("Examples:\n  ") || !end.contains(&example)).then_some(example)
    };
    let without: Vec<String> = leaves().iter().filter_map(has_none).collect();
    assert_eq!(without, [""; 0]);
}

#[test]
fn help_fits_a_terminal_of_100_columns() {
    for (words, command) in leaves() {
        let end = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in end.lines() {
            assert!(line.chars().count() <= 100, "{}: {line}", words.join(" "));
        }
    }
}

#[test]
fn every_measuring_command_is_shown_again_by_a_test() {
    let measures =
        |(_, command): &&(Vec<String>, Command)| has(command, "no-store") && has(command, "seed");
    let leaves = leaves();
    let measuring: Vec<_> = leaves.iter().filter(measures).collect();
    assert!(measuring.len() > 20, "{}", measuring.len());
    for (words, _) in measuring {
        let typed: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let typed = format!("[{}", typed.join(", "));
        assert!(
            SHOWN_AGAIN.iter().any(|tests| tests.contains(&typed)),
            "no test shows {} again",
            words.join(" ")
        );
    }
}

/// The page that has all options of more than one command.
const OPTIONS: &str = include_str!("../../../../docs/reference/options.md");

/// An option in some commands, where it has one kind of value.
type Meanings = BTreeSet<(String, BTreeSet<String>)>;

/// The kind of an option's value, without what its help adds: a list, alternatives.
fn value(option: &Arg) -> String {
    if !option.get_action().takes_values() {
        return String::new();
    }
    let names = option.get_value_names().unwrap_or_default();
    let name = names.first().map(ToString::to_string).unwrap_or_default();
    name.split([',', '|', '[']).next().unwrap_or_default().to_owned()
}

/// The rows of the page: each option with its meanings.
fn documented(measuring: &BTreeSet<String>) -> BTreeMap<String, Meanings> {
    let mut documented: BTreeMap<String, Meanings> = BTreeMap::new();
    for row in OPTIONS.lines().filter_map(|line| line.strip_prefix("| `--")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [option, value, _, commands, ""] = cells[..] else { panic!("{row}") };
        let commands = commands.split(", ").flat_map(|command| match command {
            "all that measure" => measuring.iter().cloned().collect(),
            command => vec![command.to_owned()],
        });
        let meaning = (value.to_owned(), commands.collect());
        let option = option.trim_end_matches('`').to_owned();
        let is_new = documented.entry(option).or_default().insert(meaning);
        assert!(is_new, "twice: {row}");
    }
    documented
}

#[test]
fn every_option_has_one_kind_of_value_or_is_a_documented_exception() {
    let leaves = leaves();
    let measures = |command: &Command| has(command, "no-store") && has(command, "html");
    let measuring: BTreeSet<String> = leaves
        .iter()
        .filter(|(_, command)| measures(command))
        .map(|(words, _)| words.join(" "))
        .collect();
    let mut uses: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (words, command) in &leaves {
        for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
            let Some(long) = option.get_long().filter(|it| !["help", "version"].contains(it))
            else {
                continue;
            };
            uses.entry(long.to_owned()).or_default().insert(words.join(" "), value(option));
        }
    }
    let documented = documented(&measuring);
    let exceptions: BTreeSet<&str> = OPTIONS
        .lines()
        .filter_map(|line| line.strip_prefix("- `--")?.split_once('`'))
        .filter(|(_, rest)| rest.starts_with(": "))
        .map(|(option, _)| option)
        .collect();
    for (option, uses) in &uses {
        let Some(meanings) = documented.get(option) else {
            assert_eq!(uses.len(), 1, "docs/reference/options.md lacks --{option}");
            continue;
        };
        let several = meanings.len() > 1;
        assert_eq!(several, exceptions.contains(option.as_str()), "--{option} is an exception");
        let rows = meanings.iter();
        let said: Vec<(&String, &String)> = rows
            .flat_map(|(value, commands)| commands.iter().map(move |command| (command, value)))
            .collect();
        assert_eq!(said.len(), uses.len(), "commands with --{option}");
        let said: BTreeMap<String, String> =
            said.into_iter().map(|(command, value)| (command.clone(), value.clone())).collect();
        assert_eq!(said, *uses, "--{option}");
    }
    let unknown: Vec<&String> = documented.keys().filter(|it| !uses.contains_key(*it)).collect();
    assert_eq!(unknown, [""; 0], "on the page only");
}
