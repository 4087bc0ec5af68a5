//! Turns hand-offs into findings.

use unjank_measure::{Fact, Findings, Unit};

use super::handoff::{Handoff, Measured, Placement, Wait};

/// Adds the series of one way of waiting, and its CPU time.
pub(crate) fn note_handoff(handoff: Handoff, measured: Measured, findings: &mut Findings) {
    let placement = handoff.placement.name();
    let Measured { round_trips, wake_ups, cpu_time } = measured;
    findings.series.push(round_trips.with_label("placement", placement).finish());
    if handoff.wait == Wait::Park && handoff.placement == Placement::TwoCpus {
        findings.series.push(wake_ups.finish());
    }
    let name = format!("lock/{}/cpu_time", handoff.wait.name());
    findings
        .facts
        .push(Fact::new(name, cpu_time, Unit::Nanoseconds).with_label("placement", placement));
}
