//! The effect of the machine's load on the verdict on calls.

use unjank_measure::{Load, Verdict};

const CAUSE_NEXT: &str = "sudo unjank jitter native --trace --for 60s --html jitter.html";
const IPC_NEXT: &str = "sudo unjank ipc latency --transport unix --deadline 2500us --trace";

/// Adds waits for CPUs, and chooses the next command by them.
pub fn beside_load(mut verdict: Verdict, load: &Load) -> Verdict {
    let contended = load.note_contention(&mut verdict);
    let next = if contended { CAUSE_NEXT } else { IPC_NEXT };
    verdict.next = verdict.next.map(|_| next.to_owned());
    verdict
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::surroundings::{MachineActivity, Waited};
    use unjank_measure::Answer;

    use super::*;

    fn row(answer: Answer) -> Verdict {
        let next = (answer != Answer::Healthy).then(|| "unjank ipc probe".to_owned());
        Verdict { next, ..Verdict::new("ipc", "?", answer, "as the probe says") }
    }

    #[test]
    fn the_row_leads_to_the_cause() {
        let load = |percent: u64| {
            let some = Nanos(percent * 10_000_000);
            let cpu = Some(Waited { some, all: Nanos::ZERO });
            let length = Nanos(1_000_000_000);
            let whole = MachineActivity { length, cpu, ..MachineActivity::default() };
            Load { whole, ..Load::default() }
        };
        let next = |percent| beside_load(row(Answer::Slow), &load(percent)).next;
        assert_eq!(next(60).as_deref(), Some(CAUSE_NEXT));
        assert_eq!(next(0).as_deref(), Some(IPC_NEXT));
        assert_eq!(beside_load(row(Answer::Healthy), &load(3)), row(Answer::Healthy));
    }
}
