//! A workload for tests.

use unjank_cachesim::workload::Workload;
use unjank_host::Nanos;
use unjank_measure::Silent;

use crate::simulate::load::{Load, Meaning, load};
use crate::synth::{Preset, Synth, presets};
use crate::workload::Launching;

/// Three small games, twice.
pub(super) fn workload() -> Workload {
    let mut preset = Preset { launches: 6, ..presets::GAMES };
    preset.apps.count = 3;
    let preset = preset.scaled(0.02);
    let launching = Launching { lasts: Nanos::from_millis(10_000), all: false };
    let mut synth = Synth::new(preset, 1);
    match load(&mut synth, Meaning::Programs, launching, &Silent).unwrap().unwrap() {
        Load::Programs(workload) => workload,
        Load::Paging(_) => panic!("accesses of programs"),
    }
}
