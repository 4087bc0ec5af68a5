//! Sentences about the load in the reasons of verdicts.

use unjank_host::surroundings::ProgramActivity;

use super::Load;
use crate::record::{Unit, Verdict};

/// The share of time from which on waits for CPUs or storage are reported.
const WAITED: f64 = 0.1;

impl Load {
    /// Reports that threads waited for CPUs, and which program had them. Returns whether they
    /// waited.
    pub fn note_contention(&self, verdict: &mut Verdict) -> bool {
        let waited = self.whole.cpu.map(|waited| self.whole.share(waited.some));
        let Some(share) = waited.filter(|share| *share >= WAITED) else { return false };
        let share = Unit::Ratio.show(share);
        verdict.also(&format!("some thread waited for a CPU in {share} of the time"));
        let of_cpus = |program: &ProgramActivity| program.cpu.get() / 1_000_000;
        if let Some((program, rate)) = self.most(of_cpus, 100.0, |_| true) {
            verdict.also(&format!("{program} had most of them ({:.1} CPUs)", rate / 1_000.0));
        }
        true
    }

    /// Reports that tasks waited for storage.
    pub fn note_waits_for_storage(&self, verdict: &mut Verdict) {
        let waited = self.whole.io.map(|waited| self.whole.share(waited.some));
        if let Some(share) = waited.filter(|share| *share >= WAITED) {
            let share = Unit::Ratio.show(share);
            verdict.also(&format!("some task waited for storage in {share} of the time"));
        }
    }
}
