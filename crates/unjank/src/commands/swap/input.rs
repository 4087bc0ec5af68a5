//! Options of all commands that simulate traces: the machine and the trace.

use std::path::PathBuf;

use anyhow::Result;
use unjank_cachesim::admission::WriteRate;
use unjank_cachesim::memory::{MemoryPolicy, Readahead};
use unjank_host::{Bytes, Nanos};
use unjank_measure::Monitor;
use unjank_swap::simulate::load::Meaning;
use unjank_swap::simulate::{Latency, Launching, Load, MemoryOptions, load};
use unjank_swap::synth::{Preset, Synth};
use unjank_swap::trace::{PAGE, Summary, Trace};

use super::reading::{ReadingArgs, check_stdin};
use crate::commands::measured::Settings;
use crate::values;

/// The default seed of a synthetic phone.
pub(crate) const SEED: u64 = 1;

/// The simulated machine without its sizes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Machine")]
pub(super) struct MachineArgs {
    /// Which pages memory evicts: two-list, generational (both Linux's), clock or lru
    #[arg(long, value_name = "POLICY", default_value = "two-list")]
    memory_policy: MemoryPolicy,
    /// Pages read together: 2 to the power of N, as vm.page-cluster
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=9))]
    readahead: u32,
    /// What each living app pins, so that it cannot be evicted (graphics) [default: 0, or the
    /// preset's]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    pinned: Option<Bytes>,
    /// Without swap: apps are killed if less than this is left for files [default: 0, or the
    /// preset's]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    minfree: Option<Bytes>,
    /// The maximum rate of writes of the tier, such as 1GiB/day, 300MiB/h or 10MiB/s
    #[arg(long, value_name = "SIZE/TIME", value_parser = write_rate)]
    write_budget: Option<WriteRate>,
    /// How long a launch lasts after its mark
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    launch_for: Nanos,
    /// In a trace of a recorded command: take launches of all other programs, too
    #[arg(long)]
    all_launches: bool,
    /// The time of a launch of an app that has to start, without page-ins
    #[arg(long, value_name = "TIME", default_value = "1500ms", value_parser = values::duration_or_zero)]
    start: Nanos,
    /// The time of a launch of an app that comes back, without page-ins
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration_or_zero)]
    resume: Nanos,
    /// The time of a page-in from storage
    #[arg(long, value_name = "TIME", default_value = "150us", value_parser = values::duration_or_zero)]
    storage_read: Nanos,
    /// The time of a page-in from the tier
    #[arg(long, value_name = "TIME", default_value = "5us", value_parser = values::duration_or_zero)]
    tier_read: Nanos,
}

impl MachineArgs {
    /// Memory of this size, with the preset's other values as defaults.
    pub(super) fn memory(&self, size: Bytes, preset: Option<&Preset>) -> MemoryOptions {
        let phone = preset.map(|preset| preset.phone);
        let or = |typed: Option<Bytes>, preset: Option<u32>| {
            let preset = preset.map(|pages| Bytes(u64::from(pages) * PAGE));
            typed.or(preset).unwrap_or_default()
        };
        MemoryOptions {
            size,
            policy: self.memory_policy,
            readahead: Readahead::new(self.readahead),
            pinned: or(self.pinned, phone.map(|phone| phone.pinned)),
            minfree: or(self.minfree, phone.map(|phone| phone.minfree)),
        }
    }

    /// The maximum rate of writes of the tier.
    pub(super) fn write_budget(&self) -> Option<WriteRate> {
        self.write_budget
    }

    /// Checks whether the budget can limit this trace. Returns a warning, if any.
    pub(super) fn hold_to_budget(&self, load: &Load) -> Result<Option<String>> {
        Ok(self.write_budget.map(|rate| load.hold_to(rate)).transpose()?.flatten())
    }

    /// Launches that count.
    pub(super) fn launching(&self) -> Launching {
        Launching { lasts: self.launch_for, all: self.all_launches }
    }

    /// Times of launches and page-ins.
    pub(super) fn latency(&self) -> Latency {
        Latency {
            start: self.start,
            resume: self.resume,
            storage: self.storage_read,
            tier: self.tier_read,
        }
    }

    /// The settings for the record.
    pub(super) fn settings(&self) -> Settings {
        Settings::modelled()
            .with("memory_policy", self.memory_policy.name())
            .with("readahead", self.readahead)
            .with("write_budget", self.write_budget.map(|rate| rate.to_string()))
            .with("launch_for", self.launch_for.get())
            .with("all_launches", self.all_launches)
            .with("start", self.start.get())
            .with("resume", self.resume.get())
            .with("storage_read", self.storage_read.get())
            .with("tier_read", self.tier_read.get())
    }

    /// The settings that determine the result of a simulation, whatever its sizes.
    pub(super) fn whole_settings(&self) -> Settings {
        self.settings()
            .with("pinned", self.pinned.map(Bytes::get))
            .with("minfree", self.minfree.map(Bytes::get))
    }
}

/// A load for the simulation.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) load: Load,
    /// The summary of files; `None` for a synthetic phone.
    pub(super) read: Option<Summary>,
}

/// The input of a simulation.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Synthetic(&'static Preset),
    /// Files, merged by time.
    Files(Vec<PathBuf>),
}

impl Source {
    /// The source for these files or this preset.
    pub(super) fn new(files: &[PathBuf], preset: Option<&'static Preset>) -> Result<Self> {
        check_stdin(files)?;
        Ok(preset.map_or_else(|| Self::Files(files.to_vec()), Self::Synthetic))
    }

    /// The preset, if the source is one.
    pub(super) fn preset(&self) -> Option<&'static Preset> {
        match self {
            Self::Synthetic(preset) => Some(preset),
            Self::Files(_) => None,
        }
    }

    /// Reads the source, for a model of memory or for the tier alone; `None` if the user
    /// interrupted it.
    pub(super) fn load(
        &self,
        memory: bool,
        seed: Option<u64>,
        machine: &MachineArgs,
        reading: &ReadingArgs,
        monitor: &dyn Monitor,
    ) -> Result<Option<Loaded>> {
        let meaning = if memory { Meaning::Programs } else { Meaning::Paging };
        let launching = machine.launching();
        let (load, read) = match self {
            Self::Synthetic(preset) => {
                let mut synth = Synth::new(**preset, seed.unwrap_or(SEED));
                (load(&mut synth, meaning, launching, monitor)?, None)
            }
            Self::Files(files) => {
                let mut trace = Trace::open(files, &reading.options())?;
                let load = load(&mut trace, meaning, launching, monitor)?;
                (load, Some(trace.summary()))
            }
        };
        Ok(load.map(|load| Loaded { load, read }))
    }

    /// The name of the source.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Synthetic(preset) => format!("synthetic: {}", preset.name),
            Self::Files(files) => {
                let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
                names.join(", ")
            }
        }
    }
}

/// Parses a size per time: `1GiB/day`, `10MiB/s`, `64MiB/10m`.
fn write_rate(typed: &str) -> Result<WriteRate, String> {
    let (size, time) =
        typed.split_once('/').ok_or("a budget is a size per time, such as 1GiB/day or 10MiB/s")?;
    let named = WriteRate::PERIODS.iter().find(|(name, _)| *name == time);
    let period = match named {
        Some((_, period)) => *period,
        None => values::duration(time).map_err(|why| format!("{why}; or s, min, h, day"))?,
    };
    match u32::try_from(values::bytes(size)?.get() / PAGE) {
        Ok(pages) if pages > 0 => Ok(WriteRate { pages, period }),
        _ => Err("a budget is at least 4KiB and less than 16TiB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_sizes_per_time() {
        let rate = |pages, millis| Ok(WriteRate { pages, period: Nanos::from_millis(millis) });
        assert_eq!(write_rate("1GiB/day"), rate(262_144, 86_400_000));
        assert_eq!(write_rate("10MiB/s"), rate(2_560, 1_000));
        assert_eq!(write_rate("64MiB/10m"), rate(16_384, 600_000));
        for wrong in ["1GiB", "4095/s", "1GiB/week", "16TiB/s", "/s", "1MiB/0s"] {
            assert!(write_rate(wrong).is_err(), "{wrong}");
        }
    }
}
