//! The same through the model.

use unjank_cachesim::memory::{MemoryPolicy, Readahead};
use unjank_cachesim::paged::Paged;
use unjank_cachesim::paging::{PagingEvent, PagingKind};
use unjank_cachesim::tier::TierPolicy;
use unjank_cachesim::workload::Workload;
use unjank_host::machine::Memory;
use unjank_host::{Bytes, Error, Machine, Result, Root};
use unjank_measure::Silent;

use super::arm::Arm;
use super::options::Options;
use crate::simulate::{self, Latency, Load, MemoryOptions, Swap};
use crate::trace::PAGE;

/// What the model says of an arm. There is no model of zram's compression.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Modelled {
    /// Page-ins from swap, and page-outs.
    pub(super) page_ins: u64,
    pub(super) page_outs: u64,
    /// Reads of files.
    pub(super) file_reads: u64,
    /// Reads and writes of storage, but for what apps write to files.
    pub(super) storage: u64,
    /// Apps that are killed.
    pub(super) kills: u64,
}

/// Each arm that there is a model of.
pub(super) fn all(
    workload: &Workload,
    options: &Options,
    root: &Root,
) -> Result<Vec<(Arm, Modelled)>> {
    let Machine { memory, .. } = Machine::read(root);
    let load = Load::Programs(workload.clone());
    let mut all = Vec::new();
    for &arm in &options.arms {
        if let Some(modelled) = one(&load, arm, options, &memory)? {
            all.push((arm, modelled));
        }
    }
    Ok(all)
}

fn one(load: &Load, arm: Arm, options: &Options, machine: &Memory) -> Result<Option<Modelled>> {
    let policy = match arm {
        Arm::Swap | Arm::NoSwap => TierPolicy::NONE,
        Arm::Tier(_, policy) => policy,
        Arm::Zram(_) | Arm::Tierd(..) => return Ok(None),
    };
    let generational = machine.mglru == Some(true);
    let memory = MemoryOptions {
        size: options.memory_in(arm)?,
        policy: if generational { MemoryPolicy::Generational } else { MemoryPolicy::TwoList },
        readahead: Readahead::new(options.readahead),
        pinned: options.pinned,
        minfree: options.minfree,
    };
    if arm == Arm::NoSwap {
        return without_swap(load, memory);
    }
    let Load::Programs(workload) = load else { return Ok(None) };
    let paged = simulate::page(load, Some(memory))?;
    let is_of_file = |event: &PagingEvent| workload.pages.is_of_file(event.page());
    let count = |kind: PagingKind, of_file: bool| {
        let events = paged.stream.iter().filter(|event| event.kind() == kind);
        events.filter(|event| is_of_file(event) == of_file).count() as u64
    };
    let file_reads = count(PagingKind::PageIn, true);
    // A tier that keeps nothing needs room for a page, too.
    let capacity = simulate::pages(arm.fast()).max(1);
    let swapped = swapped(&paged, |event| !is_of_file(event));
    let replayed = policy.replay(&swapped, capacity, false);
    let traffic = replayed.map_err(|error| Error::Invalid(error.to_string()))?.traffic;
    Ok(Some(Modelled {
        page_ins: count(PagingKind::PageIn, false),
        page_outs: count(PagingKind::PageOut, false),
        file_reads,
        storage: traffic.storage_reads + traffic.storage_writes + file_reads,
        kills: 0,
    }))
}

fn without_swap(load: &Load, memory: MemoryOptions) -> Result<Option<Modelled>> {
    let options = simulate::Options {
        memory: Some(memory),
        tier: Bytes(PAGE),
        policies: Vec::new(),
        write_budget: None,
        swap: Swap::Off,
        latency: Latency::default(),
        write_cost: None,
    };
    let simulated = simulate::run(load, &options, &Silent)?;
    Ok(simulated.results.last().map(|result| {
        let file_reads = result.traffic.storage_reads;
        let kills = result.killed.map_or(0, |[kills, _]| kills);
        Modelled { kills, file_reads, storage: file_reads, ..Modelled::default() }
    }))
}

/// The requests that a swap device sees. The paper's tier sees those of files, too.
fn swapped(paged: &Paged, is_swapped: impl Fn(&PagingEvent) -> bool) -> Paged {
    let mut swapped = Paged { footprint: paged.footprint, ..Paged::default() };
    for (index, event) in paged.stream.iter().enumerate().filter(|(_, event)| is_swapped(event)) {
        swapped.times.note(swapped.stream.len(), paged.times.at(index));
        swapped.stream.push(*event);
    }
    swapped
}

#[cfg(test)]
mod tests {
    use super::super::fixture::workload;
    use super::*;

    #[test]
    fn less_memory_swaps_more_and_a_tier_spares_storage() {
        let workload = workload();
        let pages = u64::from(workload.pages.footprint());
        let modelled = |arm: Arm, share: f64| {
            let options = Options {
                arms: vec![arm],
                runs: 1,
                memory: Bytes((pages as f64 * share) as u64 * 4096),
                pinned: Bytes(0),
                minfree: Bytes(0),
                tier_from_memory: false,
                readahead: 0,
                swappiness: 100,
                directory: "/tmp".into(),
            };
            all(&workload, &options, &Root::system()).unwrap().pop().map(|(_, modelled)| modelled)
        };
        let enough = modelled(Arm::Swap, 1.5).unwrap();
        assert_eq!((enough.page_ins, enough.page_outs), (0, 0));
        assert_eq!(enough.storage, enough.file_reads, "each page of a file once");
        let tight = modelled(Arm::Swap, 0.4).unwrap();
        assert!(tight.page_ins > 0 && tight.page_outs > 0, "{tight:?}");
        assert_eq!(tight.storage, tight.page_ins + tight.page_outs + tight.file_reads);
        let tier = Arm::Tier(Bytes(pages / 5 * 4096), TierPolicy::PAPER);
        assert!(modelled(tier, 0.4).unwrap().storage < tight.storage);
        assert!(
            modelled(tier, 0.4).unwrap().storage >= tight.file_reads,
            "it holds no page of a file"
        );
        assert!(modelled(Arm::NoSwap, 0.4).unwrap().kills > 0);
        assert_eq!(modelled(Arm::Zram(Bytes::from_mib(1)), 0.4), None);
    }
}
