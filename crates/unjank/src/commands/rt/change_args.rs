//! The options that `rt set` and `rt exec` have in common.

use std::path::PathBuf;

use unjank_host::sched::Policy;
use unjank_host::{Error, Nanos};
use unjank_jitter::rt::{Options, PROFILES, Profile, Rule, Rules};

use crate::{paths, values};

/// The policies of threads, and their limits.
#[derive(Debug, clap::Args)]
pub(super) struct ChangeArgs {
    /// Threads whose names match PATTERN (* and ?) get POLICY; the first one that matches counts
    #[arg(long = "thread", value_name = "PATTERN=POLICY")]
    threads: Vec<Rule>,
    /// All threads that no rule matches get this policy
    #[arg(long, value_name = "POLICY")]
    others: Option<Policy>,
    /// Rules for a known program: unjank rt profiles
    #[arg(long, value_name = "NAME", value_parser = profile)]
    profile: Option<&'static Profile>,
    /// Put back a thread that computes for longer without a sleep; 0, with --force, for no limit
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration_or_zero)]
    max_busy: Nanos,
    /// Accept priorities above 90, machines without real-time throttling, and no limit
    #[arg(long)]
    force: bool,
    /// Print each change as a line of JSON
    #[arg(long)]
    json: bool,
    /// Do not report what is changed and put back
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    #[command(flatten)]
    pub(super) state: StateArgs,
}

/// The directory of the ledgers.
#[derive(Debug, clap::Args)]
pub(crate) struct StateArgs {
    /// The directory of the journals [default: /var/lib/unjank/journal for root,
    /// ~/.local/state/unjank/journal for others]
    #[arg(long, value_name = "DIR", help_heading = "Places")]
    state_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportForm {
    /// Sentences.
    Text,
    /// JSON lines.
    Json,
    /// Failures only.
    Quiet,
}

impl ChangeArgs {
    pub(super) fn rules(&self) -> Result<Rules, Error> {
        if self.max_busy == Nanos::ZERO && !self.force {
            return Err(Error::Invalid(
                "with --max-busy 0 nothing stops a thread that computes for ever; --force allows it"
                .to_owned(),
            ));
        }
        Rules::new(self.threads.clone(), self.others, self.profile)
    }

    /// The options of a session that `watches`, or ends at once.
    pub(super) fn options(&self, watches: bool) -> Options {
        Options::new(self.max_busy, self.force, watches)
    }

    /// How long a thread may compute without a sleep.
    pub(super) fn max_busy(&self) -> Option<Nanos> {
        (self.max_busy > Nanos::ZERO).then_some(self.max_busy)
    }

    pub(super) fn force(&self) -> bool {
        self.force
    }

    pub(super) fn form(&self) -> ReportForm {
        match (self.json, self.quiet) {
            (true, _) => ReportForm::Json,
            (_, true) => ReportForm::Quiet,
            _ => ReportForm::Text,
        }
    }
}

impl StateArgs {
    /// The directory of the ledgers.
    pub(super) fn dir(&self) -> Result<PathBuf, Error> {
        let base = self.state_dir.clone().map_or_else(paths::journal, Ok)?;
        Ok(threads_in(&base))
    }
}

/// The directory of the ledgers, below that of the journals.
pub(super) fn threads_in(state_dir: &std::path::Path) -> PathBuf {
    state_dir.join("threads")
}

fn profile(name: &str) -> Result<&'static Profile, String> {
    Profile::named(name).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        format!("unknown profile; available: {}", names.join(", "))
    })
}
