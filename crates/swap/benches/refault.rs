//! Savings of `refault` against the paper's rule: how much smaller its tier may be, and how much
//! less is written to it, for the same storage I/O. Also a lower bound on the writes of any rule,
//! including the offline optimum, with that I/O and half of the paper's tier. Runs on synthetic
//! phones, or on captured page-ins and page-outs: `-- TRACE…`. Storage I/O includes what the tier
//! holds dirty at the end.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

use std::path::{Path, PathBuf};

use unjank_cachesim::Space;
use unjank_cachesim::bounds::{Costs, clairvoyant};
use unjank_cachesim::memory::{MemoryPolicy, Readahead};
use unjank_cachesim::paged::Paged;
use unjank_cachesim::tier::{TierPolicy, Traffic};
use unjank_host::{Bytes, Nanos};
use unjank_measure::Silent;
use unjank_swap::simulate::load::Meaning;
use unjank_swap::simulate::{
    Latency, Launching, Load, MemoryOptions, Options, Swap, load, page, run,
};
use unjank_swap::synth::{Preset, Synth, presets};
use unjank_swap::trace::{self, PAGE, Trace};

const MIB: u64 = (1 << 20) / PAGE;
/// Tiers of the paper's rule that `refault` is compared with.
const TIERS: [u64; 5] = [16, 32, 64, 128, 256];
/// The largest tier that is tried.
const LARGEST: u64 = 1_024 * MIB;
const LAUNCHING: Launching = Launching { lasts: Nanos::from_millis(10_000), all: false };

/// Requests of memory, and the I/O that counts as 1.
struct Case {
    name: String,
    paged: Paged,
    unit: f64,
    /// The tier with which the paper's rule has the same I/O as without swap.
    parity: Option<u64>,
}

fn main() {
    println!(
        "                         paper, MiB   I/O  writes   refault, MiB  writes   bound on writes"
    );
    let traces: Vec<PathBuf> = std::env::args()
        .skip(1)
        .filter(|typed| !typed.starts_with("--"))
        .map(PathBuf::from)
        .collect();
    let cases = traces.iter().map(|path| Case::of_trace(path));
    let phones = presets::ALL.iter().filter(|_| traces.is_empty()).map(Case::of_phone);
    for case in cases.chain(phones) {
        let tiers = case.parity.into_iter().chain(TIERS.map(|mib| mib * MIB));
        for tier in tiers {
            case.print(tier);
        }
    }
}

impl Case {
    fn of_trace(path: &Path) -> Self {
        let mut trace = Trace::open(&[path.to_owned()], &trace::Options::default()).unwrap();
        let loaded = load(&mut trace, Meaning::Paging, LAUNCHING, &Silent).unwrap().unwrap();
        let paged = page(&loaded, None).unwrap().into_owned();
        let unit = ios(&traffic(&paged, TierPolicy::NONE, 1));
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Self { name, paged, unit, parity: None }
    }

    fn of_phone(preset: &Preset) -> Self {
        let mut synth = Synth::new(*preset, 1);
        let loaded = load(&mut synth, Meaning::Programs, LAUNCHING, &Silent).unwrap().unwrap();
        let memory = memory(preset);
        let unit = without_swap(&loaded, memory);
        let paged = page(&loaded, Some(memory)).unwrap().into_owned();
        let mut case = Self { name: preset.name.to_owned(), paged, unit, parity: None };
        case.parity = case.smallest_tier(TierPolicy::PAPER, 1.0);
        if case.parity.is_none() {
            let largest = ios(&traffic(&case.paged, TierPolicy::PAPER, LARGEST)) / case.unit;
            println!("{:24} {:>10} {largest:6.3} with {} MiB", case.name, "never", LARGEST / MIB);
        }
        case
    }

    fn print(&self, tier: u64) {
        let paper = traffic(&self.paged, TierPolicy::PAPER, tier);
        let io = ios(&paper) / self.unit;
        let own = self.smallest_tier(TierPolicy::REFAULT, io);
        let writes = |tier| traffic(&self.paged, TierPolicy::REFAULT, tier).tier_writes;
        let share = |writes: f64| writes / paper.tier_writes as f64;
        let least = [0.25, 0.5, 1.0, 2.0, 4.0].map(|cost| self.fewest_writes(tier / 2, io, cost));
        println!(
            "{:24} {:10} {io:6.3} {:6}k {:>20} {:>9} {:>12.2}×",
            self.name,
            tier / MIB,
            paper.tier_writes / 1_000,
            own.map_or("never".into(), |own| {
                format!("{} ({:.2}×)", own / MIB, own as f64 / tier as f64)
            }),
            own.map_or(String::new(), |own| format!("{:.2}×", share(writes(own) as f64))),
            share(least.into_iter().fold(0.0, f64::max)),
        );
    }

    /// The smallest tier with which a policy needs at most `io`, to half a MiB.
    fn smallest_tier(&self, policy: TierPolicy, io: f64) -> Option<u64> {
        let suffices = |tier| ios(&traffic(&self.paged, policy, tier)) / self.unit <= io;
        let (mut too_small, mut enough) = (MIB / 2, LARGEST);
        if !suffices(enough) {
            return None;
        }
        while enough - too_small > MIB / 2 {
            let middle = u64::midpoint(too_small, enough);
            if suffices(middle) { enough = middle } else { too_small = middle }
        }
        Some(enough)
    }

    /// A lower bound on the writes of any schedule with `io` and this tier: the lower bound on
    /// its cost when a write costs `cost`, less the I/O.
    fn fewest_writes(&self, tier: u64, io: f64, cost: f64) -> f64 {
        let space = Space::new(tier, self.paged.footprint.into()).unwrap();
        let bound = clairvoyant(&self.paged.stream, space, Costs::new(cost)).unwrap();
        (bound.lower_bound + self.paged.written.len() as f64 - io * self.unit) / cost
    }
}

fn memory(preset: &Preset) -> MemoryOptions {
    let pages = |pages: u32| Bytes(u64::from(pages) * PAGE);
    // The phone with 25 games has 2 GiB.
    let more = if preset.apps.count > 9 { 1 << 30 } else { 0 };
    MemoryOptions {
        size: Bytes(preset.phone.memory().get() + more),
        policy: MemoryPolicy::TwoList,
        readahead: Readahead::new(0),
        pinned: pages(preset.phone.pinned),
        minfree: pages(preset.phone.minfree),
    }
}

fn without_swap(loaded: &Load, memory: MemoryOptions) -> f64 {
    let options = Options {
        memory: Some(memory),
        tier: Bytes(PAGE),
        policies: Vec::new(),
        swap: Swap::Off,
        latency: Latency::default(),
        write_cost: None,
        write_budget: None,
    };
    ios(&run(loaded, &options, &Silent).unwrap().results[0].traffic)
}

fn traffic(paged: &Paged, policy: TierPolicy, tier: u64) -> Traffic {
    policy.replay(paged, tier, false).unwrap().traffic
}

fn ios(traffic: &Traffic) -> f64 {
    traffic.settled_ios() as f64
}
