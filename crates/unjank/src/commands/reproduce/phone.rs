//! A paper's experiment in the virtual phone, for machines that lack its parts.

use std::env;

use anyhow::{Context as _, Result, anyhow};
use unjank_host::Bytes;
use unjank_host::input::Stop;
use unjank_lab::kernel::MIRROR;
use unjank_lab::{Accelerator, Architecture, Event, InstructionTime, Options, Profile};
use unjank_measure::claim::{CLAIMS, REASONS};
use unjank_measure::{Findings, Monitor, RunRecord, Store};

use crate::commands::lab::kernel::{cache, fetched};
use crate::commands::measured::{OutputArgs, build, is_emulated};
use crate::commands::storing::store_path;
use crate::interrupt::stop;
use crate::{exit, output};

/// Whether the virtual phone may be used.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(super) struct PhoneArgs {
    /// Do not boot the virtual phone for what this machine lacks
    #[arg(long)]
    no_phone: bool,
}

/// What the phone must have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parts {
    /// P-states by the name of a profile, for a governor; time then counts instructions.
    pub(super) pstates: Option<&'static str>,
}

/// A run of `unjank reproduce` in the phone.
pub(super) struct Phone<'a> {
    /// The words after `reproduce`.
    pub(super) words: Vec<String>,
    /// What it needs.
    pub(super) parts: Parts,
    /// What this machine lacks.
    pub(super) reason: &'a str,
}

impl Phone<'_> {
    /// What the phone measured, if it may be used; else why there is nothing.
    pub(super) fn instead(
        &self,
        args: PhoneArgs,
        output: &OutputArgs,
        monitor: &dyn Monitor,
    ) -> Result<Findings, String> {
        if args.no_phone || is_emulated() {
            return Err(self.reason.to_owned());
        }
        self.run(output, monitor).map_err(|error| {
            format!("{}; in the virtual phone: {}", self.reason, exit::sentence(&error))
        })
    }

    /// The claims, their curves and warnings. The whole record goes to the store that
    /// `output` names; a store that fails is a warning.
    fn run(&self, output: &OutputArgs, monitor: &dyn Monitor) -> Result<Findings> {
        let mut failures = Vec::new();
        let path = if output.no_store { None } else { store_path(output.store.as_deref()) };
        let opened = path.map(|path| Store::open(&path)).transpose();
        let mut store = opened.unwrap_or_else(|error| {
            failures.push(error);
            None
        });
        let record = record(self, &mut store, &mut failures, monitor)?;
        let mut findings = of_claims(record.findings);
        // Those of the phone, which does not exist any more.
        findings.changes.clear();
        for warning in &mut findings.warnings {
            warning.insert_str(0, "in the virtual phone: ");
        }
        let labels = record.labels.join(", ");
        findings.warn(format!("measured in the virtual phone ({labels}): {}", self.reason));
        for failure in failures {
            findings.warn(format!("the record of the virtual phone was not stored: {failure}"));
        }
        Ok(findings)
    }
}

/// Boots the phone, and reads the record of the run.
fn record(
    phone: &Phone<'_>,
    store: &mut Option<Store>,
    failures: &mut Vec<unjank_measure::Error>,
    monitor: &dyn Monitor,
) -> Result<RunRecord> {
    let cache = cache(Architecture::default())?;
    let kernel = fetched(&cache, MIRROR)?;
    let options = options(phone.parts, kernel, cache.directory(), stop())?;
    let command = ["unjank", "reproduce"].map(str::to_owned).into_iter();
    let command: Vec<String> = command.chain(phone.words.iter().cloned()).collect();
    let mut record = None;
    let mut failure = Ok(());
    let mut said = Vec::new();
    monitor.progress(0.0, "booting the virtual phone");
    let result = unjank_lab::run(&options, &[command], monitor, &mut |event| match event {
        Event::Up { .. } => monitor.progress(0.0, "in the virtual phone"),
        Event::Stderr(bytes) => said.extend_from_slice(bytes),
        Event::Remark(text) => output::remark(&unjank_report::visible(&format!("phone: {text}"))),
        Event::Record(text) => {
            let origin = "a run of the virtual phone";
            match RunRecord::from_json(text, origin) {
                Ok(read) => record = Some(read),
                Err(error) => failure = Err(error),
            }
            let kept = store.as_mut().map(|store| store.import(text, origin));
            failures.extend(kept.and_then(Result::err));
        }
        Event::Console(_) | Event::Stdout(_) | Event::Ended(_) => {}
    })?;
    failure.context("while reading what the virtual phone measured")?;
    record.ok_or_else(|| {
        let said = String::from_utf8_lossy(&said);
        let error = said.lines().find_map(|line| line.strip_prefix("error: "));
        let error = error.or_else(|| said.lines().last()).unwrap_or_default();
        anyhow!("nothing was measured in the virtual phone (exit code {}): {error}", result.code())
    })
}

fn options(
    parts: Parts,
    kernel: unjank_lab::Kernel,
    scratch: &std::path::Path,
    stop: Stop,
) -> Result<Options> {
    let profile = parts.pstates.map(|name| Profile::find(name, &stop)).transpose()?;
    // Times of a governor must not depend on other load.
    let counted = || Accelerator::Icount(InstructionTime::default());
    Ok(Options {
        architecture: Architecture::default(),
        kernel,
        guest: env::current_exe().context("while looking for the file of this program")?,
        build: build(),
        programs: Vec::new(),
        cpus: 2,
        memory: Bytes::from_mib(1024),
        disk: None,
        accelerator: profile.is_some().then(counted),
        profile,
        limit: None,
        verbose: false,
        scratch: scratch.to_owned(),
        stop,
    })
}

/// What counts beyond the record: claims, curves and warnings.
pub(super) fn of_claims(findings: Findings) -> Findings {
    let of_claims = |subject: &str| subject.starts_with("reproduce/");
    let mut kept = Findings {
        headline: findings.headline,
        curves: findings.curves,
        changes: findings.changes,
        warnings: findings.warnings,
        ..Findings::default()
    };
    let tables = findings.tables.into_iter();
    kept.tables = tables.filter(|table| [CLAIMS, REASONS].contains(&&*table.name)).collect();
    let verdicts = findings.verdicts.into_iter();
    kept.verdicts = verdicts.filter(|verdict| of_claims(&verdict.subject)).collect();
    kept
}
