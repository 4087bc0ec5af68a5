//! Describes a cause in one sentence.

use std::fmt;

use unjank_host::Nanos;
use unjank_host::tracefs::Occupant;

use super::cause::{Cause, Culprit, Phase};

/// A part of the delay is mentioned if it is at least one in this many of the whole.
const WORTH_TELLING: u64 = 4;
/// A culprit is named if it held the CPU for at least one in this many of the part.
const WORTH_NAMING: u64 = 5;
const MOST_NAMED: usize = 3;
/// CPUs leave the deepest idle states within some hundred microseconds.
const LONGEST_FROM_IDLE: Nanos = Nanos::from_millis(1);

/// The large parts of the delay, in the order of time.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&of(self))
    }
}

/// The sentence, without a full stop.
fn of(cause: &Cause) -> String {
    let parts = [
        (cause.timer_late, timer as fn(&Cause) -> String),
        (cause.waited, wait),
        (cause.ran_late, run),
    ];
    let longest = parts.iter().map(|(length, _)| *length).max().unwrap_or(Nanos::ZERO);
    let large = parts
        .iter()
        .filter(|(length, _)| *length == longest || length.times(WORTH_TELLING) >= cause.late());
    let large: Vec<String> = large.map(|(_, describe)| describe(cause)).collect();
    large.join(", then ")
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
                format!("CPU {cpu} idle in a deep state, or the hypervisor stalled the CPU")
            }
            Some(Culprit { who: Occupant::Idle(Some(state)), cpu, .. }) => {
                format!("CPU {cpu} in idle state {state}, or the hypervisor stalled the CPU")
            }
            // A CPU that switched threads had interrupts on in between.
            Some(longest) if longest.held.times(2) < late => {
                let they_ran = while_they_ran(cause, Phase::Timer);
                return format!("the timer fired {late} late{they_ran} on CPU {}", longest.cpu);
            }
            Some(Culprit { who: who @ Occupant::Thread(_), cpu, .. }) => {
                let who = name(who);
                format!("{who} kept interrupts off on CPU {cpu}, or the hypervisor stalled the CPU")
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

/// ` while hog[9] (150 µs) and irq 24 (disk) (40 µs) ran`, or nothing.
fn while_they_ran(cause: &Cause, phase: Phase) -> String {
    let total = match phase {
        Phase::Timer => cause.timer_late,
        Phase::Wait => cause.waited,
        Phase::Run => cause.ran_late,
    };
    let all = culprits(cause, phase);
    let idle_first = |culprit: &&Culprit| matches!(culprit.who, Occupant::Idle(_));
    let (idle, others): (Vec<&Culprit>, Vec<&Culprit>) = all.into_iter().partition(idle_first);
    match idle.first() {
        Some(first) if sum(&idle) > sum(&others) && sum(&idle) > LONGEST_FROM_IDLE => format!(
            " while CPU {} was idle (a CPU limit of its group, or a stalled CPU)",
            first.cpu
        ),
        Some(first) if sum(&idle) > sum(&others) => {
            format!(" while CPU {} left its idle state", first.cpu)
        }
        _ => who_ran(&others, total),
    }
}

/// Names the culprits that held the CPU for a large part of `total`. If these
/// do not explain most of it, sums up the others and names the longest of them.
fn who_ran(others: &[&Culprit], total: Nanos) -> String {
    let large = |culprit: &&&Culprit| culprit.held.times(WORTH_NAMING) >= total;
    let named = others.iter().filter(large).count().min(MOST_NAMED);
    let explained = |held: Nanos| held.times(5) >= total.times(4);
    let (named, rest) = others.split_at(named);
    let rest_matters = named.is_empty() || sum(rest).times(WORTH_NAMING) >= total;
    let few = others.len() <= MOST_NAMED;
    let mut items: Vec<String> = Vec::new();
    match (named, rest) {
        ([], []) => return String::new(),
        ([only], _) if explained(only.held) => items.push(name(&only.who)),
        _ if explained(sum(named)) || !rest_matters => {
            items.extend(named.iter().copied().map(with_time));
        }
        _ if few => items.extend(others.iter().copied().map(with_time)),
        _ => {
            items.extend(named.iter().copied().map(with_time));
            items.push(summed_up(rest, named.is_empty()));
        }
    }
    format!(" while {} ran", in_a_row(&items))
}

/// `57 threads and interrupts (9.80 ms in all; longest: cc1[11] (310 µs), …)`.
fn summed_up(many: &[&Culprit], alone: bool) -> String {
    let threads = many.iter().all(|culprit| matches!(culprit.who, Occupant::Thread(_)));
    let kind = match (alone, threads) {
        (false, _) => "others",
        (true, true) => "threads",
        (true, false) => "threads and interrupts",
    };
    let longest: Vec<String> = many.iter().take(MOST_NAMED).copied().map(with_time).collect();
    let (n, held) = (many.len(), sum(many));
    format!("{n} {kind} ({held} in all; longest: {})", in_a_row(&longest))
}

fn sum(culprits: &[&Culprit]) -> Nanos {
    culprits.iter().fold(Nanos::ZERO, |sum, culprit| sum + culprit.held)
}

fn with_time(culprit: &Culprit) -> String {
    format!("{} ({})", name(&culprit.who), culprit.held)
}

/// A thread with its number, in the form of `perf sched` and syslog: `hog[9]`.
fn name(who: &Occupant) -> String {
    match who {
        Occupant::Thread(task) if !task.comm.as_bytes().is_empty() => {
            format!("{task}[{}]", task.tid.0)
        }
        _ => who.to_string(),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn in_a_row(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
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
    fn a_wait_names_the_culprits() {
        let one = with(cause(3, 212, 2), Phase::Wait, hog(), 210);
        assert_eq!(of(&one), "waited 212 µs while hog[9] ran");
        let two = with(one, Phase::Wait, disk(), 60);
        assert_eq!(of(&two), "waited 212 µs while hog[9] (210 µs) and irq 24 (disk) (60.0 µs) ran");
        let idle = with(cause(3, 80, 2), Phase::Wait, Occupant::Idle(Some(2)), 70);
        assert_eq!(of(&idle), "waited 80.0 µs while CPU 1 left its idle state");
        let limited = with(cause(3, 8_000, 2), Phase::Wait, Occupant::Idle(Some(2)), 7_000);
        assert_eq!(
            of(&limited),
            "waited 8.00 ms while CPU 1 was idle (a CPU limit of its group, or a stalled CPU)"
        );
        assert_eq!(of(&cause(3, 80, 2)), "waited 80.0 µs");
        let unseen = Cause { switch_seen: false, ..cause(3, 80, 0) };
        assert_eq!(of(&unseen), "waited 80.0 µs (the trace lacks the switch to it)");
    }

    #[test]
    fn many_small_culprits_are_summed_up_and_the_longest_named() {
        let many = |mut cause: Cause, threads: u32, micros: u64| {
            for tid in 11..11 + threads {
                let thread = Occupant::Thread(task(tid));
                cause = with(cause, Phase::Wait, thread, micros - u64::from(tid - 11));
            }
            cause
        };
        let small = many(cause(3, 1_000, 2), 10, 100);
        let expected = "waited 1.00 ms while 10 threads (955 µs in all; longest: t11[11] (100 µs), \
                    t12[12] (99.0 µs) and t13[13] (98.0 µs)) ran";
        assert_eq!(of(&small), expected);
        let and_one = with(cause(3, 1_000, 2), Phase::Wait, hog(), 400);
        let and_one = with(many(and_one, 6, 100), Phase::Wait, disk(), 5);
        let expected = "waited 1.00 ms while hog[9] (400 µs) and 7 others (590 µs in all; longest: \
                    t11[11] (100 µs), t12[12] (99.0 µs) and t13[13] (98.0 µs)) ran";
        assert_eq!(of(&and_one), expected);
        let interrupts = with(many(cause(3, 1_000, 2), 9, 100), Phase::Wait, disk(), 60);
        assert!(of(&interrupts).contains("while 10 threads and interrupts (924 µs in all"));
        // Two short culprits are named, because there are no others.
        let two = many(cause(3, 1_000, 2), 2, 30);
        let expected = "waited 1.00 ms while t11[11] (30.0 µs) and t12[12] (29.0 µs) ran";
        assert_eq!(of(&two), expected);
        // Idle time is mentioned only if it exceeds all the others together.
        let idle = with(small, Phase::Wait, Occupant::Idle(None), 120);
        assert!(of(&idle).contains("while 10 threads (955 µs"), "{}", of(&idle));
    }

    #[test]
    fn a_thread_that_lost_the_cpu_did_not_keep_interrupts_off() {
        let one = with(cause(90, 2, 2), Phase::Timer, hog(), 40);
        let two = with(one, Phase::Timer, Occupant::Thread(task(5)), 38);
        let expected = "the timer fired 90.0 µs late while hog[9] (40.0 µs) and t5[5] (38.0 µs) ran \
                    on CPU 1";
        assert_eq!(of(&two), expected);
    }

    #[test]
    fn a_late_timer_names_what_its_cpu_did() {
        let late = |who| of(&with(cause(90, 2, 2), Phase::Timer, who, 90));
        assert_eq!(
            late(Occupant::Idle(None)),
            "the timer fired 90.0 µs late (CPU 1 idle in a deep state, or the hypervisor stalled \
             the CPU)"
        );
        assert_eq!(
            late(hog()),
            "the timer fired 90.0 µs late (hog[9] kept interrupts off on CPU 1, or the hypervisor \
             stalled the CPU)"
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
    fn parts_of_similar_size_are_in_the_order_of_time() {
        let both = with(cause(90, 100, 2), Phase::Wait, hog(), 100);
        assert_eq!(of(&both), "the timer fired 90.0 µs late, then waited 100 µs while hog[9] ran");
        let run = with(cause(1, 2, 60), Phase::Run, disk(), 50);
        assert_eq!(
            of(&run),
            "took 60.0 µs from the switch to its next instruction while irq 24 (disk) ran"
        );
        let busy = Cause { was_busy: true, ..cause(0, 0, 60) };
        assert_eq!(of(&busy), "was still busy when it was due, for 60.0 µs");
    }
}
