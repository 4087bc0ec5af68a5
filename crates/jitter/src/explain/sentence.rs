//! A cause in one sentence.

use unjank_host::Nanos;
use unjank_host::tracefs::Occupant;

use super::cause::{Cause, Culprit, Phase};

/// A part of the delay is told if it is at least this fraction of the whole.
const WORTH_TELLING: u64 = 4;
/// A culprit is named beside a longer one if it held the CPU for at least this
/// fraction of the part.
const WORTH_NAMING: u64 = 5;
const MOST_NAMED: usize = 3;

/// The sentence, without a full stop.
pub(super) fn of(cause: &Cause) -> String {
    let parts = [
        (cause.timer_late, timer as fn(&Cause) -> String),
        (cause.waited, wait),
        (cause.ran_late, run),
    ];
    let longest = parts.iter().map(|(length, _)| *length).max().unwrap_or(Nanos::ZERO);
    let told = parts
        .iter()
        .filter(|(length, _)| *length == longest || length.times(WORTH_TELLING) >= cause.late());
    let told: Vec<String> = told.map(|(_, tell)| tell(cause)).collect();
    told.join(", then ")
}

fn timer(cause: &Cause) -> String {
    let late = cause.timer_late;
    let expired = cause.since_expiry.filter(|since| since.times(2) >= late);
    let why = if cause.within_slack.times(2) >= late && late > Nanos::ZERO {
        format!("its slack allows {}", cause.within_slack)
    } else if let Some(since) = expired.filter(|_| late > Nanos::ZERO) {
        let seen = Nanos(late.get().saturating_sub(since.get()));
        format!("its interrupt came {seen} late, and woke the thread {since} after that")
    } else {
        match culprits(cause, Phase::Timer).first() {
            None => return format!("the timer fired {late} late"),
            Some(Culprit { who: Occupant::Idle(None), cpu, .. }) => {
                format!("CPU {cpu} idle in a deep state, or the hypervisor ran others")
            }
            Some(Culprit { who: Occupant::Idle(Some(state)), cpu, .. }) => {
                format!("CPU {cpu} in idle state {state}, or the hypervisor ran others")
            }
            Some(Culprit { who: Occupant::Thread(task), cpu, .. }) => {
                format!("{task} kept interrupts off on CPU {cpu}, or the hypervisor ran others")
            }
            Some(Culprit { who, cpu, .. }) => format!("{who} ran on CPU {cpu}"),
        }
    };
    format!("the timer fired {late} late ({why})")
}

fn wait(cause: &Cause) -> String {
    let note = if cause.switch_seen { "" } else { " (the trace lacks the switch to it)" };
    format!("waited {}{}{note}", cause.waited, while_they_ran(cause, Phase::Wait))
}

fn run(cause: &Cause) -> String {
    let why = while_they_ran(cause, Phase::Run);
    if cause.was_busy {
        return format!("was still busy when it was due, for {}{why}", cause.ran_late);
    }
    format!("took {} from the switch to its next instruction{why}", cause.ran_late)
}

/// ` while hog (150 µs) and irq 24 (disk) (40 µs) ran`, or nothing.
fn while_they_ran(cause: &Cause, phase: Phase) -> String {
    let total = match phase {
        Phase::Timer => cause.timer_late,
        Phase::Wait => cause.waited,
        Phase::Run => cause.ran_late,
    };
    let all = culprits(cause, phase);
    let Some(first) = all.first() else { return String::new() };
    if let Occupant::Idle(_) = first.who {
        return format!(" while CPU {} left its idle state", first.cpu);
    }
    let mut named: Vec<&Culprit> = all
        .into_iter()
        .filter(|culprit| !matches!(culprit.who, Occupant::Idle(_)))
        .filter(|culprit| culprit.held.times(WORTH_NAMING) >= total)
        .take(MOST_NAMED)
        .collect();
    match named.pop() {
        None => String::new(),
        Some(only) if named.is_empty() => format!(" while {} ran", only.who),
        Some(last) => {
            let show = |culprit: &Culprit| format!("{} ({})", culprit.who, culprit.held);
            let others: Vec<String> = named.into_iter().map(show).collect();
            format!(" while {} and {} ran", others.join(", "), show(last))
        }
    }
}

/// The culprits of one part, longest first.
fn culprits(cause: &Cause, phase: Phase) -> Vec<&Culprit> {
    cause.culprits.iter().filter(|culprit| culprit.phase == phase).collect()
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::Irq;

    use super::*;
    use unjank_host::tracefs::script::task;

    fn cause(timer_late: u64, waited: u64, ran_late: u64) -> Cause {
        Cause {
            timer_late: Nanos::from_micros(timer_late),
            within_slack: Nanos::ZERO,
            since_expiry: None,
            waited: Nanos::from_micros(waited),
            ran_late: Nanos::from_micros(ran_late),
            was_busy: false,
            culprits: Vec::new(),
            switch_seen: true,
        }
    }

    fn with(mut cause: Cause, phase: Phase, who: Occupant, micros: u64) -> Cause {
        cause.culprits.push(Culprit { who, cpu: 1, phase, held: Nanos::from_micros(micros) });
        cause
    }

    fn hog() -> Occupant {
        Occupant::Thread(task(9))
    }

    fn disk() -> Occupant {
        Occupant::Irq(Irq { number: 24, name: "disk".into() })
    }

    #[test]
    fn a_wait_names_who_ran() {
        let one = with(cause(3, 212, 2), Phase::Wait, hog(), 210);
        assert_eq!(of(&one), "waited 212 µs while hog ran");
        let two = with(one, Phase::Wait, disk(), 60);
        assert_eq!(of(&two), "waited 212 µs while hog (210 µs) and irq 24 (disk) (60.0 µs) ran");
        let idle = with(cause(3, 80, 2), Phase::Wait, Occupant::Idle(Some(2)), 70);
        assert_eq!(of(&idle), "waited 80.0 µs while CPU 1 left its idle state");
        assert_eq!(of(&cause(3, 80, 2)), "waited 80.0 µs");
        let unseen = Cause { switch_seen: false, ..cause(3, 80, 0) };
        assert_eq!(of(&unseen), "waited 80.0 µs (the trace lacks the switch to it)");
    }

    #[test]
    fn a_late_timer_names_what_its_cpu_did() {
        let late = |who| of(&with(cause(90, 2, 2), Phase::Timer, who, 90));
        assert_eq!(
            late(Occupant::Idle(None)),
            "the timer fired 90.0 µs late (CPU 1 idle in a deep state, or the hypervisor ran \
             others)"
        );
        assert_eq!(
            late(hog()),
            "the timer fired 90.0 µs late (hog kept interrupts off on CPU 1, or the hypervisor \
             ran others)"
        );
        assert_eq!(late(disk()), "the timer fired 90.0 µs late (irq 24 (disk) ran on CPU 1)");
        let handled = Cause { since_expiry: Some(Nanos::from_micros(50)), ..cause(90, 2, 2) };
        assert_eq!(
            of(&handled),
            "the timer fired 90.0 µs late (its interrupt came 40.0 µs late, and woke the thread \
             50.0 µs after that)"
        );
        let slack = Cause { within_slack: Nanos::from_micros(50), ..cause(55, 2, 2) };
        assert_eq!(of(&slack), "the timer fired 55.0 µs late (its slack allows 50.0 µs)");
    }

    #[test]
    fn parts_of_like_size_are_told_in_their_order() {
        let both = with(cause(90, 100, 2), Phase::Wait, hog(), 100);
        assert_eq!(of(&both), "the timer fired 90.0 µs late, then waited 100 µs while hog ran");
        let run = with(cause(1, 2, 60), Phase::Run, disk(), 50);
        assert_eq!(
            of(&run),
            "took 60.0 µs from the switch to its next instruction while irq 24 (disk) ran"
        );
        let busy = Cause { was_busy: true, ..cause(0, 0, 60) };
        assert_eq!(of(&busy), "was still busy when it was due, for 60.0 µs");
    }
}
