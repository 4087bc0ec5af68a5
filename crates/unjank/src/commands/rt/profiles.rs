//! `unjank rt profiles`: the rules for known programs.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use unjank_jitter::rt::{PROFILES, Profile};

use crate::{exit, output};

/// Arguments of `unjank rt profiles`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank rt profiles
  unjank rt profiles --json | jq '.profiles[].rules'

Rules on the command line go before those of a profile.")]
pub(crate) struct Args {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    profiles: Vec<Entry>,
}

#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    about: &'static str,
    rules: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    pattern: &'static str,
    policy: String,
    about: &'static str,
}

/// Prints the profiles.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let profiles: Vec<Entry> = PROFILES.iter().map(entry).collect::<Result<_>>()?;
    if args.json {
        let document = Document { schema: "unjank.rt.profiles/1", profiles };
        output::print(&output::json(&document)?)?;
    } else {
        output::print(&text(&profiles))?;
    }
    Ok(ExitCode::from(exit::FINE))
}

fn entry(profile: &Profile) -> Result<Entry> {
    let row = |(&(pattern, about, _), rule): (&(&'static str, &'static str, &str), _)| {
        let rule: unjank_jitter::rt::Rule = rule;
        Row { pattern, policy: rule.policy.to_string(), about }
    };
    let rules = profile.patterns.iter().zip(profile.rules()?).map(row).collect();
    Ok(Entry { name: profile.name, about: profile.about, rules })
}

fn text(profiles: &[Entry]) -> String {
    let mut page = output::Page::new(output::width());
    for profile in profiles {
        page.section(profile.name);
        page.fact("for", profile.about);
        let row = |row: &Row| vec![row.pattern.into(), row.policy.clone(), row.about.into()];
        let rows: Vec<Vec<String>> = profile.rules.iter().map(row).collect();
        page.table(&["threads", "policy", "what they are"], &rows);
    }
    page.finish().trim_start().to_owned()
}
