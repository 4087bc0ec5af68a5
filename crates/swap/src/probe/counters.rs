//! Machine-wide counters of the kernel over the run.

use unjank_host::machine::{Pressure, VmStat, pressure};
use unjank_host::{Nanos, Result, Root};

/// Counters at one moment.
#[derive(Debug)]
pub(crate) struct Counters {
    vmstat: VmStat,
    pressure: Option<Pressure>,
    why_no_pressure: Option<String>,
}

impl Counters {
    pub(crate) fn read(root: &Root) -> Result<Self> {
        let pressure = pressure::read(root)?;
        Ok(Self {
            vmstat: VmStat::read(root)?,
            why_no_pressure: pressure.reason().map(str::to_owned),
            pressure: pressure.yes(),
        })
    }

    /// The growth since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Growth {
        let vmstat = self.vmstat.since(&earlier.vmstat);
        let events = [
            ("pswpin", vmstat.pswpin()),
            ("pswpout", vmstat.pswpout()),
            ("pgmajfault", vmstat.pgmajfault()),
            ("workingset_refault_anon", vmstat.workingset_refault_anon()),
            ("workingset_refault_file", vmstat.workingset_refault_file()),
            ("zswpin", vmstat.zswpin()),
            ("zswpout", vmstat.zswpout()),
            ("swap_ra", vmstat.swap_ra()),
            ("swap_ra_hit", vmstat.swap_ra_hit()),
        ];
        let stalls = self.pressure.zip(earlier.pressure).map(|(now, then)| {
            [
                ("memory_some", now.memory.some_total - then.memory.some_total),
                ("memory_full", now.memory.full_total - then.memory.full_total),
                ("io_some", now.io.some_total - then.io.some_total),
                ("io_full", now.io.full_total - then.io.full_total),
            ]
        });
        Growth {
            events: events.into_iter().filter_map(|(name, n)| Some((name, n?))).collect(),
            stalls,
            why_no_stalls: self.why_no_pressure.clone(),
        }
    }
}

/// The growth of the counters.
#[derive(Debug)]
pub(crate) struct Growth {
    pub(crate) events: Vec<(&'static str, u64)>,
    pub(crate) stalls: Option<[(&'static str, Nanos); 4]>,
    pub(crate) why_no_stalls: Option<String>,
}

impl Growth {
    pub(crate) fn event(&self, name: &str) -> u64 {
        self.events.iter().find(|event| event.0 == name).map_or(0, |event| event.1)
    }
}
