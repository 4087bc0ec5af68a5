//! The same through the model.

use unjank_cachesim::memory::{MemoryPolicy, Readahead};
use unjank_cachesim::paging::PagingKind;
use unjank_cachesim::tier::TierPolicy;
use unjank_cachesim::workload::Workload;
use unjank_host::machine::Memory;
use unjank_host::{Bytes, Machine, Result, Root};
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
    let simulated = simulate::run(
        load,
        &simulate::Options {
            memory: Some(memory),
            // A tier that keeps nothing needs room for a page, too.
            tier: arm.fast().max(Bytes(PAGE)),
            policies: if arm == Arm::Swap { Vec::new() } else { vec![policy] },
            write_budget: None,
            swap: if arm == Arm::NoSwap { Swap::Off } else { Swap::On },
            latency: Latency::default(),
            write_cost: None,
        },
        &Silent,
    )?;
    let Some(result) = simulated.results.last() else { return Ok(None) };
    let kills = result.killed.map_or(0, |[kills, _]| kills);
    if arm == Arm::NoSwap {
        let file_reads = result.traffic.storage_reads;
        return Ok(Some(Modelled {
            kills,
            file_reads,
            storage: file_reads,
            ..Modelled::default()
        }));
    }
    let Load::Programs(workload) = load else { return Ok(None) };
    let paged = simulate::page(load, Some(memory))?;
    let count = |kind: PagingKind, of_file: bool| {
        let events = paged.stream.iter().filter(|event| event.kind() == kind);
        events.filter(|event| workload.pages.is_of_file(event.page()) == of_file).count() as u64
    };
    let file_reads = count(PagingKind::PageIn, true);
    let own_writes = paged.written.len() as u64;
    let storage = result.traffic.storage_reads + result.traffic.storage_writes;
    Ok(Some(Modelled {
        page_ins: count(PagingKind::PageIn, false),
        page_outs: count(PagingKind::PageOut, false),
        file_reads,
        storage: storage.saturating_sub(own_writes),
        kills,
    }))
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
        assert!(modelled(tier, 0.6).unwrap().storage < tight.storage);
        assert!(modelled(Arm::NoSwap, 0.4).unwrap().kills > 0);
        assert_eq!(modelled(Arm::Zram(Bytes::from_mib(1)), 0.4), None);
    }
}
