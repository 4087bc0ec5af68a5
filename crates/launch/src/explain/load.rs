//! The effect of the machine's load on the verdict on launches.

use unjank_measure::{Load, Verdict};

/// Adds waits for storage, from which programs are read when they start. A slow row leads to the
/// program that gets CPUs most often: each time, the clock may be slow.
pub fn beside_load(mut verdict: Verdict, load: &Load) -> Verdict {
    load.note_waits_for_storage(&mut verdict);
    load.lead_to_switching(&mut verdict, "where its time goes, and what a slow clock costs it");
    verdict
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::surroundings::{MachineActivity, ProgramActivity, Waited};
    use unjank_measure::Answer;

    use super::*;

    #[test]
    fn a_slow_row_leads_to_the_program_that_gets_cpus_most_often() {
        let whole = MachineActivity { length: Nanos(1_000_000_000), ..MachineActivity::default() };
        let program = ProgramActivity { process: 9, switches: 500, ..ProgramActivity::default() };
        let load = Load { whole, programs: vec![program], ..Load::default() };
        let next = |load: &Load| {
            let next = Some("unjank launch ramp".to_owned());
            let row = Verdict { next, ..Verdict::new("launch", "?", Answer::Slow, "slow") };
            beside_load(row, load).next
        };
        assert_eq!(next(&load).as_deref(), Some("sudo unjank why --pid 9 --for 5s"));
        assert_eq!(next(&Load::default()).as_deref(), Some("unjank launch ramp"));
    }

    #[test]
    fn waits_for_storage_are_a_part_of_the_reason() {
        let reason = |percent: u64| {
            let some = Nanos(percent * 10_000_000);
            let io = Some(Waited { some, all: Nanos::ZERO });
            let length = Nanos(1_000_000_000);
            let whole = MachineActivity { length, io, ..MachineActivity::default() };
            let load = Load { whole, ..Load::default() };
            let verdict = Verdict::new("launch", "?", Answer::Healthy, "as the probe says");
            beside_load(verdict, &load).reason
        };
        assert_eq!(reason(9), "as the probe says");
        assert_eq!(
            reason(30),
            "as the probe says; some task waited for storage in 30 % of the time"
        );
    }
}
