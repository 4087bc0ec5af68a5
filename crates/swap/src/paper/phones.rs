//! The same phone with and without swap, for one seed.

use unjank_host::{Bytes, Nanos, Result};
use unjank_measure::monitor::Silent;

use super::options::Options;
use crate::simulate::load::Meaning;
use crate::simulate::{self, Launching, MemoryOptions, PolicyResult, Swap, load};
use crate::synth::{Preset, Synth};
use crate::trace::PAGE;
use unjank_cachesim::memory::{MemoryPolicy, Readahead};
use unjank_cachesim::tier::{TierPolicy, Traffic};

/// The tiers of Fig. 5.
pub const TIERS: [Bytes; 7] = [
    Bytes::from_mib(16),
    Bytes::from_mib(32),
    Bytes::from_mib(64),
    Bytes::from_mib(128),
    Bytes::from_mib(256),
    Bytes::from_mib(512),
    Bytes::from_mib(1024),
];

/// Longer than any launch of a synthetic phone.
const LAUNCHING: Launching = Launching { lasts: Nanos::from_millis(10_000), all: false };
const GIB: Bytes = Bytes::from_mib(1024);

/// A phone with swap and without.
#[derive(Debug, Clone)]
pub(super) struct Phone {
    pub(super) on: PolicyResult,
    pub(super) off: PolicyResult,
    /// Reads and writes with each of [`TIERS`] under the paper's policy.
    pub(super) tiers: Vec<Traffic>,
}

/// The phones of one seed.
#[derive(Debug, Clone)]
pub(super) struct Set {
    /// Nine apps, 1 GiB.
    pub(super) nine_1: Phone,
    /// Nine apps, 2 GiB.
    pub(super) nine_2: Phone,
    /// Twenty-five apps, 2 GiB.
    pub(super) many_2: Phone,
}

impl Set {
    pub(super) fn run(options: &Options, seed: u64) -> Result<Self> {
        let nine = read(&options.nine, seed)?;
        let many = read(&options.many, seed)?;
        let one = options.nine.phone.memory();
        let two = Bytes(one.get() + GIB.get());
        Ok(Self {
            nine_1: phone(&nine, &options.nine, one, options)?,
            nine_2: phone(&nine, &options.nine, two, options)?,
            many_2: phone(&many, &options.many, two, options)?,
        })
    }
}

fn read(preset: &Preset, seed: u64) -> Result<simulate::Load> {
    let read = load(&mut Synth::new(*preset, seed), Meaning::Programs, LAUNCHING, &Silent)?;
    read.ok_or_else(|| unjank_host::Error::Invalid("a synthetic phone was interrupted".to_owned()))
}

fn phone(
    load: &simulate::Load,
    preset: &Preset,
    memory: Bytes,
    options: &Options,
) -> Result<Phone> {
    let size = |pages: u32| Bytes(u64::from(pages) * PAGE);
    let memory = MemoryOptions {
        size: memory,
        policy: MemoryPolicy::TwoList,
        readahead: Readahead::new(0),
        pinned: size(preset.phone.pinned),
        minfree: size(preset.phone.minfree),
    };
    let setting = simulate::Options {
        memory: Some(memory),
        tier: TIERS[0],
        policies: Vec::new(),
        write_budget: None,
        swap: Swap::Both,
        latency: options.latency,
        write_cost: None,
    };
    let [off, on] = <[PolicyResult; 2]>::try_from(simulate::run(load, &setting, &Silent)?.results)
        .map_err(|_| unjank_host::Error::Invalid("the phone launches no apps".to_owned()))?;
    let paged = simulate::page(load, Some(memory))?;
    let traffic = |tier: &Bytes| {
        let replayed = TierPolicy::PAPER.replay(&paged, simulate::pages(*tier), false);
        let replayed = replayed.map_err(|error| unjank_host::Error::Invalid(error.to_string()))?;
        Ok(replayed.traffic)
    };
    Ok(Phone { on, off, tiers: TIERS.iter().map(traffic).collect::<Result<_>>()? })
}
