//! What is simulated: traces, or a synthetic phone; options of every command
//! that simulates some.

use std::path::PathBuf;

use anyhow::{Result, bail};
use unjank_host::{Bytes, Error, Nanos};
use unjank_measure::Monitor;
use unjank_swap::model::memory::{MemoryPolicy, Readahead};
use unjank_swap::simulate::load::Meaning;
use unjank_swap::simulate::{Latency, Load, MemoryOptions, load};
use unjank_swap::synth::{Preset, Synth};
use unjank_swap::trace::{PAGE, Trace};

use super::reading::ReadingArgs;
use crate::values;

/// The seed of a synthetic phone that is the same one every time.
pub(super) const SEED: u64 = 1;

/// What is simulated, and in which memory.
#[derive(Debug, clap::Args)]
pub(super) struct InputArgs {
    /// Traces, packed or not, or - for stdin; several are merged by time
    #[arg(value_name = "TRACE", required_unless_present = "preset", conflicts_with = "preset")]
    traces: Vec<PathBuf>,
    /// A synthetic phone instead, with its memory: see unjank swap synth
    #[arg(long, value_name = "NAME", value_parser = Preset::named)]
    pub(super) preset: Option<&'static Preset>,
    /// What pages memory evicts: two-list, generational (Linux's), clock or lru
    #[arg(long, value_name = "POLICY", default_value = "two-list")]
    memory_policy: MemoryPolicy,
    /// Pages read together, as vm.page-cluster: 2 to the power of this
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=9))]
    readahead: u32,
    /// What each app that is alive pins, so that it cannot be evicted (graphics) [default: 0, or
    /// the preset's]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    pinned: Option<Bytes>,
    /// Without swap: apps are killed where less than this is left for files [default: 0, or the
    /// preset's]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    minfree: Option<Bytes>,
    /// A launch lasts until the next one, or this long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    launch_for: Nanos,
    /// A launch of an app that has to start, without page-ins
    #[arg(long, value_name = "TIME", default_value = "1400ms", value_parser = values::duration_or_zero)]
    start: Nanos,
    /// A launch of an app that comes back, without page-ins
    #[arg(long, value_name = "TIME", default_value = "600ms", value_parser = values::duration_or_zero)]
    resume: Nanos,
    /// A page-in from storage
    #[arg(long, value_name = "TIME", default_value = "160us", value_parser = values::duration_or_zero)]
    storage_read: Nanos,
    /// A page-in from the tier
    #[arg(long, value_name = "TIME", default_value = "5us", value_parser = values::duration_or_zero)]
    tier_read: Nanos,
    #[command(flatten)]
    reading: ReadingArgs,
}

impl InputArgs {
    /// Reads it, for memory of some size; `None` if the user has ended it.
    pub(super) fn load(
        &self,
        memory: bool,
        seed: Option<u64>,
        monitor: &dyn Monitor,
    ) -> Result<Option<Load>> {
        let meaning = if memory { Meaning::Programs } else { Meaning::Paging };
        if let Some(preset) = self.preset {
            let mut synth = Synth::new(*preset, seed.unwrap_or(SEED));
            return Ok(load(&mut synth, meaning, self.launch_for, monitor)?);
        }
        if self.traces.iter().filter(|trace| trace.as_os_str() == "-").count() > 1 {
            bail!(Error::Invalid("stdin can be read only once".into()));
        }
        let mut trace = Trace::open(&self.traces, &self.reading.options())?;
        Ok(load(&mut trace, meaning, self.launch_for, monitor)?)
    }

    /// Memory of this size.
    pub(super) fn memory(&self, size: Bytes) -> MemoryOptions {
        let phone = self.preset.map(|preset| preset.phone);
        let pages = |pages: u32| Bytes(u64::from(pages) * PAGE);
        let or = |typed: Option<Bytes>, preset: Option<u32>| {
            typed.or(preset.map(pages)).unwrap_or_default()
        };
        MemoryOptions {
            size,
            policy: self.memory_policy,
            readahead: Readahead::new(self.readahead),
            pinned: or(self.pinned, phone.map(|phone| phone.pinned)),
            minfree: or(self.minfree, phone.map(|phone| phone.minfree)),
        }
    }

    /// How long page-ins take.
    pub(super) fn latency(&self) -> Latency {
        Latency {
            start: self.start,
            resume: self.resume,
            storage: self.storage_read,
            tier: self.tier_read,
        }
    }

    /// What it is, in words for the record.
    pub(super) fn name(&self) -> String {
        if let Some(preset) = self.preset {
            return format!("synthetic: {}", preset.name);
        }
        let names: Vec<_> = self.traces.iter().map(|trace| trace.display().to_string()).collect();
        names.join(", ")
    }

    /// Whether nothing of it was measured.
    pub(super) fn is_synthetic(&self) -> bool {
        self.preset.is_some()
    }

    /// The settings for the record.
    pub(super) fn settings(&self) -> crate::commands::measured::Settings {
        crate::commands::measured::Settings::modelled()
            .with("trace", self.name())
            .with("synthetic", self.is_synthetic())
            .with("memory_policy", self.memory_policy.name())
            .with("readahead", self.readahead)
            .with("launch_for", self.launch_for.get())
            .with("start", self.start.get())
            .with("resume", self.resume.get())
            .with("storage_read", self.storage_read.get())
            .with("tier_read", self.tier_read.get())
    }
}
