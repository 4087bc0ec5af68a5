//! The effect of the machine's load on the verdict on launches.

use unjank_measure::{Load, Verdict};

/// Adds waits for storage, from which programs are read when they start.
pub fn beside_load(mut verdict: Verdict, load: &Load) -> Verdict {
    load.note_waits_for_storage(&mut verdict);
    verdict
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::surroundings::{MachineActivity, Waited};
    use unjank_measure::Answer;

    use super::*;

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
