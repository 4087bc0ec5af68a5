//! The manual pages of all commands, from the definitions that `--help` shows.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::closing::{Part, Row, parts};

/// A manual page in roff.
#[derive(Debug)]
pub(crate) struct ManualPage {
    /// As in `unjank-launch-bench.1`.
    pub(crate) file: String,
    pub(crate) roff: Vec<u8>,
}

/// The pages of a command that clap has built, and of all visible ones below it.
pub(crate) fn pages(command: &Command) -> io::Result<Vec<ManualPage>> {
    let mut pages = vec![page(command)?];
    for below in visible(command) {
        pages.extend(self::pages(below)?);
    }
    Ok(pages)
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

fn page(command: &Command) -> io::Result<ManualPage> {
    let man = Man::new(command.clone()).manual("unjank");
    let mut roff = Vec::new();
    man.render_title(&mut roff)?;
    man.render_name_section(&mut roff)?;
    man.render_synopsis_section(&mut roff)?;
    man.render_description_section(&mut roff)?;
    let closing = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (examples, remarks) = closing_sections(&closing);
    remarks.to_writer(&mut roff)?;
    let commands: Vec<&Command> = visible(command).collect();
    if !commands.is_empty() {
        list(&commands).to_writer(&mut roff)?;
    }
    man.render_options_section(&mut roff)?;
    if let Some(examples) = examples {
        examples.to_writer(&mut roff)?;
    }
    Ok(ManualPage { file: format!("{}.1", name(command)), roff })
}

/// The name with the words of the commands above it, as in `unjank-launch-bench`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// The section that lists the commands below one.
fn list(commands: &[&Command]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["COMMANDS"]);
    for command in commands {
        roff.control("TP", []);
        roff.text([bold(name(command)), roman("(1)")]);
        roff.text([roman(command.get_about().map(ToString::to_string).unwrap_or_default())]);
    }
    roff
}

/// The section of examples, and the remarks, which continue the description.
fn closing_sections(closing: &str) -> (Option<Roff>, Roff) {
    let (mut examples, mut remarks) = (None, Roff::new());
    for part in parts(closing) {
        match part {
            Part::Heading(_) => {}
            Part::Examples(lines) => {
                let mut roff = Roff::new();
                roff.control("SH", ["EXAMPLES"]);
                roff.control("EX", []);
                for line in lines {
                    roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
                }
                roff.control("EE", []);
                examples = Some(roff);
            }
            Part::Prose(prose) => {
                remarks.control("PP", []);
                remarks.text([roman(prose)]);
            }
            Part::Rows(rows) => {
                for Row { term, meaning, .. } in rows {
                    remarks.control("TP", []);
                    remarks.text([bold(term)]);
                    remarks.text([roman(meaning)]);
                }
            }
        }
    }
    (examples, remarks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    fn all() -> Vec<(String, String)> {
        let mut command = Cli::definition(100);
        command.build();
        let pages = pages(&command).expect("memory takes everything");
        let text = |page: ManualPage| (page.file, String::from_utf8_lossy(&page.roff).into_owned());
        pages.into_iter().map(text).collect()
    }

    #[test]
    fn every_visible_command_has_a_page() {
        let pages = all();
        let files: Vec<&str> = pages.iter().map(|(file, _)| file.as_str()).collect();
        for file in ["unjank.1", "unjank-why.1", "unjank-launch-bench.1", "unjank-swap-tier-up.1"] {
            assert!(files.contains(&file), "{file} is not in {files:?}");
        }
        assert!(!files.iter().any(|file| file.contains("keeper") || file.contains("help")));
    }

    #[test]
    fn examples_are_not_filled() {
        let pages = all();
        let (_, why) = pages.iter().find(|(file, _)| file == "unjank-why.1").expect("why");
        let examples = why.split(".EX\n").nth(1).and_then(|rest| rest.split(".EE\n").next());
        let examples = examples.expect("a section of examples");
        assert!(examples.starts_with("sudo unjank why \\-\\- git status\n"), "{examples}");
    }
}
