//! The cost of each of the five delays in launches of a program.
//!
//! | delay | cost |
//! |---|---|
//! | launch | computing that the highest clock would have saved |
//! | swap | waits for pages that came from storage, and the search for pages to evict |
//! | jitter | wake-ups, and waits for a CPU |
//! | lock | waits for locks, whatever their holders did |
//! | ipc | waits for messages, whatever their senders did |
//!
//! The first three count activities, on whichever thread the path was. The last two
//! count ways in which the path left the thread that made the program ready. So a lock
//! holder's wait for a CPU counts as jitter and as lock.

use unjank_measure::record::{Answer, Bound, Quantity};
use unjank_measure::stats::order;
use unjank_measure::{Unit, Verdict};
use unjank_units::Nanos;

use super::about::{About, Remedy};
use super::agreement::Agreement;
use super::launches::Launches;
use super::verdict::WORTH;
use super::what_if::Saving;
use crate::path::{Activity, Way};
use crate::split::{Cell, Split};

/// The source of the largest healthy cost.
const TENTH_SOURCE: &str = "a tenth of the launch, the smallest saving that is worth a change";

/// The cost of one delay in launches of a program.
#[derive(Debug, Clone)]
pub struct DelayCost {
    /// `launch`, `swap`, `jitter`, `lock` or `ipc`.
    pub delay: &'static str,
    /// The question that its row answers.
    pub question: &'static str,
    /// The median cost in nanoseconds, with its 95 % interval from six launches
    /// on; `None` if the machine does not report the data for it.
    pub cost: Option<Quantity>,
    /// The median length of the launches.
    pub total: Nanos,
    /// Its share of the launch and the predicted saving, or why the cost is not known: a
    /// clause each.
    pub notes: Vec<String>,
    /// A command that applies the remedy; `None` if there is none.
    pub next: Option<String>,
}

impl DelayCost {
    /// The row of this delay beside `machine`, the verdict on the machine itself: its
    /// cost for the launch, with that verdict as a part of the reason.
    pub fn beside(&self, machine: &Verdict) -> Verdict {
        let answer = machine.answer.words();
        let probe = match &machine.measured {
            Some(measured) => {
                let show = |value| measured.unit.show(value);
                let bound = machine.healthy.as_ref();
                let bound = bound.map(|bound| format!(", healthy up to {}", show(bound.at_most)));
                let (name, value) = (&measured.name, show(measured.value));
                format!(
                    "the machine itself: {answer}, {name}: {value}{}",
                    bound.unwrap_or_default()
                )
            }
            None => format!("the machine itself: {answer}, {}", machine.reason),
        };
        let reason: Vec<String> = self.notes.iter().cloned().chain([probe]).collect();
        let healthy =
            Bound { at_most: self.total.get() as f64 * WORTH, source: TENTH_SOURCE.to_owned() };
        let answer = self.cost.as_ref().map_or(Answer::NotAvailable, |cost| healthy.judge(cost));
        let own_next = self
            .next
            .as_ref()
            .filter(|next| answer != Answer::Healthy && !next.starts_with("sudo unjank checkup"));
        Verdict {
            question: self.question.to_owned(),
            answer,
            measured: self.cost.clone(),
            healthy: self.cost.is_some().then_some(healthy),
            reason: reason.join("; "),
            next: own_next.or(machine.next.as_ref()).cloned(),
            ..machine.clone()
        }
    }
}

/// The costs of launch, swap, jitter, lock and ipc, in this order; empty without launches.
pub fn delays(launches: &Launches, about: &About) -> Vec<DelayCost> {
    let savings = launches.savings();
    let shown = launches.typical_summary();
    let launches = launches.all();
    let agree = shown.is_none_or(|shown| Agreement::of(shown, launches).suffices());
    let mut totals: Vec<f64> = launches.iter().map(|launch| launch.total().get() as f64).collect();
    let Some((total, _)) = order::median(&mut totals) else { return Vec::new() };
    let of = |delay: Delay| {
        let without = launches.iter().map(|it| it.no_clocks.as_deref()).min().flatten();
        let unknown = without.filter(|_| delay.name == "launch");
        let mut costs: Vec<f64> =
            launches.iter().map(|launch| (delay.cost)(&launch.split).get() as f64).collect();
        let (value, interval) = order::median(&mut costs).filter(|_| unknown.is_none()).unzip();
        let saving = savings
            .iter()
            .rev()
            .filter(|saving| delay.remedies.contains(&saving.remedy))
            .max_by(|a, b| a.share.total_cmp(&b.share));
        let cost = value.map(|value| Quantity {
            name: format!("of the {} of {}", Nanos(total as u64), about.subject()),
            value,
            unit: Unit::Nanoseconds,
            interval: interval.flatten(),
            at_least: None,
            n: launches.len() as u64,
        });
        DelayCost {
            delay: delay.name,
            question: delay.question,
            total: Nanos(total as u64),
            notes: match (&cost, unknown) {
                (Some(cost), _) => notes(cost, total, saving.filter(|_| agree)),
                (None, reason) => reason.map(str::to_owned).into_iter().collect(),
            },
            cost,
            next: saving.and_then(|saving| about.next(saving.remedy)),
        }
    };
    DELAYS.into_iter().map(of).collect()
}

/// A delay, with its remedy and its part of a split.
struct Delay {
    name: &'static str,
    question: &'static str,
    /// Those that take it back; the one that saves most counts.
    remedies: &'static [Remedy],
    cost: fn(&Split) -> Nanos,
}

const DELAYS: [Delay; 5] = [
    Delay {
        name: "launch",
        question: "Did a slow clock delay the launch?",
        remedies: &[Remedy::HighestClock],
        cost: |split| split.of_cell(Cell::SlowClock),
    },
    Delay {
        name: "swap",
        question: "Did pages that were not in memory delay the launch?",
        remedies: &[Remedy::Cached, Remedy::EnoughMemory],
        cost: |split| {
            let of = |activity| split.of_cell(Cell::Of(activity));
            of(Activity::PageIn) + of(Activity::Reclaim)
        },
    },
    Delay {
        name: "jitter",
        question: "Did waits for a CPU delay the launch?",
        remedies: &[Remedy::ProgramFirst],
        cost: |split| {
            let of = |activity| split.of_cell(Cell::Of(activity));
            of(Activity::Waking) + of(Activity::RunQueue)
        },
    },
    Delay {
        name: "lock",
        question: "Did waits for locks delay the launch?",
        remedies: &[Remedy::SpunLocks],
        cost: |split| split.of_way(Way::Lock),
    },
    Delay {
        name: "ipc",
        question: "Did waits for messages of other threads delay the launch?",
        remedies: &[Remedy::ServersFirst],
        cost: |split| split.of_way(Way::Ipc),
    },
];

fn notes(cost: &Quantity, total: f64, saving: Option<&Saving>) -> Vec<String> {
    let share = format!("{} of the launch", Unit::Ratio.show(cost.value / total.max(1.0)));
    let saved = saving.filter(|saving| saving.share >= 0.01).map(|saving| {
        let after = Nanos((total * (1.0 - saving.share)).round() as u64);
        format!("{} it would take {after}", saving.remedy.condition())
    });
    std::iter::once(share).chain(saved).collect()
}

#[cfg(test)]
mod tests {
    use unjank_host::Bytes;
    use unjank_host::tracefs::script::Script;

    use super::super::scripted::explained_with;
    use super::super::{Clocks, Explained};
    use super::*;

    fn launch(wait: u64, clocks: Clocks) -> Explained {
        let script = Script::new().runs(0, 0, 9, 7).runs(0, 100, 7, 9).runs(0, 100 + wait, 9, 7);
        let end = 200 + wait;
        explained_with(&script.sleeps(0, end, 7, 0), end, clocks)
    }

    fn cost(all: &[DelayCost], delay: &str) -> (Option<f64>, Option<[f64; 2]>) {
        let found = all.iter().find(|it| it.delay == delay).unwrap();
        let cost = found.cost.as_ref();
        (cost.map(|cost| cost.value), cost.and_then(|cost| cost.interval))
    }

    #[test]
    fn each_delay_has_its_part_of_the_launch() {
        let clocks = Clocks {
            highest: [(0, 2_000)].into(),
            at_start: [(0, 1_000)].into(),
            ..Clocks::default()
        };
        let about = About { command: vec!["git".into()], ..About::default() };
        let mut launches = Launches::new(Bytes::default(), &about);
        for wait in 1..=6 {
            launches.add(launch(wait * 100, clocks.clone()), Bytes::default());
        }
        let all = delays(&launches, &about);
        assert_eq!(all.iter().map(|it| it.delay).collect::<Vec<_>>().len(), 5);
        assert_eq!(cost(&all, "jitter"), (Some(350.0), Some([100.0, 600.0])));
        // Half of the time that it had a CPU.
        assert_eq!(cost(&all, "launch"), (Some(100.0), Some([100.0, 100.0])));
        assert_eq!(cost(&all, "lock"), (Some(0.0), Some([0.0, 0.0])));
        let jitter = &all[2];
        assert_eq!(jitter.cost.as_ref().unwrap().name, "of the 550 ns of git");
        assert!(jitter.notes[1].starts_with("with a CPU before"), "{:?}", jitter.notes);
        assert!(jitter.next.as_ref().unwrap().ends_with("why --prove=cpu -- git"));
    }

    fn quantity(value: f64, interval: Option<[f64; 2]>) -> Quantity {
        let name = "p99 of something".to_owned();
        Quantity { name, value, unit: Unit::Nanoseconds, interval, at_least: None, n: 9 }
    }

    fn machine() -> Verdict {
        let bound = Bound { at_most: 1e6, source: "a test".to_owned() };
        let measured = Some(quantity(3e5, Some([2e5, 4e5])));
        Verdict::of_health("jitter", "?", bound, measured, "it is".to_owned(), "next")
    }

    fn costing(cost: Option<Quantity>) -> DelayCost {
        DelayCost {
            delay: "jitter",
            question: "Did waits delay it?",
            cost,
            total: Nanos::from_millis(100),
            notes: vec!["20 % of the launch".to_owned()],
            next: Some("sudo unjank why -- true".to_owned()),
        }
    }

    #[test]
    fn a_row_says_what_the_delay_cost_beside_what_the_machine_can_do() {
        let row = costing(Some(quantity(2e7, Some([1.5e7, 3e7])))).beside(&machine());
        assert_eq!(row.answer, Answer::Slow);
        assert_eq!(
            row.reason,
            "20 % of the launch; the machine itself: healthy, p99 of something: 300 µs, healthy up \
             to 1.00 ms"
        );
        assert_eq!(row.next.as_deref(), Some("sudo unjank why -- true"));
        let few = costing(Some(quantity(2e7, None))).beside(&machine());
        assert_eq!(few.answer, Answer::CannotTell, "without an interval");
        let none = costing(None).beside(&machine());
        assert_eq!((none.answer, none.healthy), (Answer::NotAvailable, None));
        let little = costing(Some(quantity(1e5, Some([0.0, 2e5])))).beside(&machine());
        assert_eq!((little.answer, little.next), (Answer::Healthy, None));
    }

    #[test]
    fn without_frequencies_the_cost_of_the_clock_is_not_known() {
        let about = About::default();
        let one = Launches::single(launch(100, Clocks::default()), &about);
        let all = delays(&one, &about);
        assert_eq!(cost(&all, "launch"), (None, None));
        assert_eq!(cost(&all, "jitter"), (Some(100.0), None));
        assert!(delays(&Launches::default(), &about).is_empty());
    }
}
