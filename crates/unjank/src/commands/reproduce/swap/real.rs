//! Runs of `unjank swap bench` for the figures of Bahn & Kim.

use std::path::PathBuf;

use anyhow::Result;
use unjank_host::journal::Session;
use unjank_host::{Bytes, Error, Root};
use unjank_measure::claim::Claim;
use unjank_measure::monitor::Part;
use unjank_measure::{Findings, Monitor};
use unjank_swap::bench::{self, Options};
use unjank_swap::paper::real::{self, RealPhone, RealRuns};
use unjank_swap::trace::PAGE;

use super::super::paper::means;
use crate::commands::measured::Settings;
use crate::commands::session;
use crate::commands::swap::bench::{programs, workload};
use crate::{paths, values};

/// Pages of apps and of files count alike, as in the model.
const SWAPPINESS: u32 = 100;

/// Options of the experiment with real memory.
#[derive(Debug, clap::Args)]
pub(super) struct RealArgs {
    /// Repeat Fig. 1, 2, 3 and 5 with real memory, too (needs root)
    #[arg(long)]
    measured: bool,
    /// The phones of --measured: 9-1gib, 9-2gib, 25-2gib, 25-1gib [default: the paper's, the first
    /// three]
    #[arg(long, value_name = "PHONE,…", value_delimiter = ',', requires = "measured")]
    phone: Vec<RealPhone>,
    /// The share of all its pages, in memory and of apps
    #[arg(long, value_name = "SHARE", default_value = "0.25", value_parser = values::share_of_whole, requires = "measured")]
    scale: f64,
    /// How often each arm is run, in turns; fewer than 6 give no interval
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100), requires = "measured")]
    runs: u32,
    /// A directory on the storage for swap and files [default: the user's cache, else /var/tmp]
    #[arg(long, value_name = "DIR", requires = "measured")]
    directory: Option<PathBuf>,
}

impl RealArgs {
    pub(super) fn is_wanted(&self) -> bool {
        self.measured
    }

    /// Adds what was measured to the settings of the run.
    pub(super) fn add_to(&self, settings: Settings) -> Settings {
        if !self.measured {
            return settings;
        }
        let phones: Vec<String> = self.phones().iter().map(ToString::to_string).collect();
        settings.with("phone", phones).with("scale", self.scale).with("runs", self.runs)
    }

    /// The claims beside what the runs show.
    pub(super) fn claims(
        &self,
        seed: u64,
        root: &Root,
        monitor: &dyn Monitor,
        findings: &mut Findings,
    ) -> Result<Vec<Claim>> {
        let session = session::open(root, None)?;
        let measured = self.measure(seed, root, &session, monitor, findings);
        let (measured, changes) = session::end(Some(session), measured)?;
        session::note(changes, findings);
        Ok(real::claims(&measured, means()))
    }

    fn phones(&self) -> &[RealPhone] {
        if self.phone.is_empty() { &RealPhone::PUBLISHED } else { &self.phone }
    }

    /// Runs each phone that is possible here.
    fn measure(
        &self,
        seed: u64,
        root: &Root,
        session: &Session,
        monitor: &dyn Monitor,
        findings: &mut Findings,
    ) -> Result<Vec<(RealPhone, RealRuns)>> {
        let mut measured = Vec::new();
        for (place, &phone) in self.phones().iter().enumerate() {
            if monitor.stop_requested() {
                break;
            }
            let part = Part::of_equal(monitor, "phone", place, self.phones().len());
            let Some(workload) = workload(phone.preset(self.scale), seed, &part)? else { break };
            let options = self.options(phone);
            match bench::run(&workload, &options, &programs(), session, root, &part) {
                Ok(experiment) => measured.push((phone, phone.runs(self.scale, &experiment))),
                Err(Error::Unsupported(reason)) => {
                    findings.not_supported(format!("swap/bench/{phone}"), reason);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(measured)
    }

    fn options(&self, phone: RealPhone) -> Options {
        let preset = phone.preset(self.scale).phone;
        let size = |pages: u32| Bytes(u64::from(pages) * PAGE);
        Options {
            arms: phone.arms(self.scale),
            runs: self.runs,
            memory: phone.memory(self.scale),
            pinned: size(preset.pinned),
            minfree: size(preset.minfree),
            tier_from_memory: false,
            readahead: 0,
            swappiness: SWAPPINESS,
            directory: self.directory.clone().unwrap_or_else(paths::scratch),
        }
    }
}
