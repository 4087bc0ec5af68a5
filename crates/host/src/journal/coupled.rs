//! The changes of one journal that are coupled: in which order they are put back,
//! and how each of them is. Pure.

use std::collections::BTreeSet;

use super::couplings::{Couplings, NOT_IN_FORCE, sibling};
use super::ledger::{ChangeKind, Held};
use super::report::RestoreOutcome;
use super::rule::{Action, CurrentState};

/// How a change is put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Course {
    /// By the rule.
    ByRule,
    /// When the changes before it are put back. Its value then does not matter: the
    /// kernel has changed it with them.
    Again {
        /// Whether it is still changed now.
        is_changed: bool,
    },
    /// Another program's value, which the kernel may change with the changes
    /// before it, stays.
    Keep(String),
    /// Not at all: another program has changed the knob that it was announced for,
    /// and with that this one.
    Leave,
}

/// How the changes of a journal depend on each other.
#[derive(Debug)]
pub(super) struct Links {
    /// For each change, those that must be put back before it.
    after: Vec<Vec<usize>>,
    /// For each dependant, the knobs that it was announced for.
    with: Vec<Vec<usize>>,
    /// All knobs that dependants were announced for.
    knobs: BTreeSet<usize>,
}

impl Links {
    pub(super) fn of(held: &[Held]) -> Self {
        let none = vec![Vec::new(); held.len()];
        let mut links = Self { after: none.clone(), with: none, knobs: BTreeSet::new() };
        for (index, knob) in held.iter().enumerate().filter(|(_, knob)| is_file(knob)) {
            let couplings = Couplings::of(&knob.path, &knob.before);
            if couplings.is_empty() {
                continue;
            }
            for (other, changed) in held.iter().enumerate().filter(|(_, other)| is_file(other)) {
                if couplings.effect_on(&changed.path).is_none() {
                    continue;
                }
                if changed.dependant && !knob.dependant {
                    links.with[other].push(index);
                    links.knobs.insert(index);
                }
                if comes_first(knob, changed) {
                    links.after[other].push(index);
                }
            }
        }
        links
    }

    /// The changes that must be put back before this one.
    pub(super) fn after(&self, index: usize) -> &[usize] {
        &self.after[index]
    }

    /// Whether any course depends on how this change is now.
    pub(super) fn is_coupled(&self, index: usize) -> bool {
        !self.after[index].is_empty() || !self.with[index].is_empty() || self.knobs.contains(&index)
    }

    /// How a change is put back. `now` has the states of coupled changes before any
    /// of them is put back, and what the rule says to them.
    pub(super) fn course(&self, index: usize, now: &[Option<(CurrentState, Action)>]) -> Course {
        let is_left = |index: &usize| {
            matches!(now.get(*index), Some(Some((_, Action::Leave(RestoreOutcome::LeftToOthers)))))
        };
        if !self.with[index].is_empty() && self.with[index].iter().all(is_left) {
            return Course::Leave;
        }
        if self.after[index].is_empty() {
            return Course::ByRule;
        }
        match now.get(index) {
            Some(Some((_, Action::Undo))) => Course::Again { is_changed: true },
            Some(Some((_, Action::Leave(RestoreOutcome::AlreadyBack | RestoreOutcome::Gone)))) => {
                Course::Again { is_changed: false }
            }
            Some(Some((
                CurrentState::Reads(value),
                Action::Leave(RestoreOutcome::LeftToOthers),
            ))) => Course::Keep(value.clone()),
            _ => Course::ByRule,
        }
    }
}

/// Whether `knob` is put back before `changed`, which changes with it. Of a pair,
/// the member that was in force comes first.
fn comes_first(knob: &Held, changed: &Held) -> bool {
    sibling(&knob.path) != Some(&changed.path)
        || knob.before != NOT_IN_FORCE && changed.before == NOT_IN_FORCE
}

fn is_file(held: &Held) -> bool {
    held.kind == ChangeKind::File
}

#[cfg(test)]
mod tests {
    use super::super::rule::decide;
    use super::*;

    const BYTES: &str = "/proc/sys/vm/dirty_bytes";
    const RATIO: &str = "/proc/sys/vm/dirty_ratio";
    const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    const MIN_FREE: &str = "/proc/sys/vm/min_free_kbytes";

    /// A settled change from `before` to `during`.
    fn held(path: &str, before: &str, during: &str, dependant: bool) -> Held {
        Held {
            seq: 1,
            path: path.to_owned(),
            kind: ChangeKind::File,
            before: before.to_owned(),
            during: during.to_owned(),
            ours: [during.to_owned()].into(),
            settled: true,
            doubtful: false,
            dependant,
        }
    }

    /// The courses of changes that read `values` now.
    fn courses(held: &[Held], values: &[&str]) -> Vec<Course> {
        let links = Links::of(held);
        let now: Vec<_> = held
            .iter()
            .zip(values)
            .map(|(held, value)| {
                let seen = CurrentState::Reads((*value).to_owned());
                let action = decide(held, &seen);
                Some((seen, action))
            })
            .collect();
        (0..held.len()).map(|index| links.course(index, &now)).collect()
    }

    #[test]
    fn of_a_pair_the_member_that_was_in_force_comes_first() {
        for [knob, in_force] in [[RATIO, BYTES], [BYTES, RATIO]] {
            let all = [held(in_force, "400", "0", true), held(knob, "0", "30", false)];
            let links = Links::of(&all);
            assert_eq!((links.after(0), links.after(1)), (&[][..], &[0][..]));
            let again = Course::Again { is_changed: true };
            assert_eq!(courses(&all, &["0", "30"]), [Course::ByRule, again]);
        }
    }

    #[test]
    fn a_pair_that_another_program_has_set_is_left_to_it() {
        let all = [held(BYTES, "400", "0", true), held(RATIO, "0", "30", false)];
        // It wrote the knob, or the other member.
        assert_eq!(courses(&all, &["0", "40"]), [Course::Leave, Course::Keep("40".to_owned())]);
        let back = Course::Again { is_changed: false };
        assert_eq!(courses(&all, &["500", "0"]), [Course::ByRule, back]);
    }

    #[test]
    fn a_dependant_is_put_back_after_its_knob() {
        let all = [held(MIN_FREE, "30", "67", true), held(THP, "madvise", "never", false)];
        let links = Links::of(&all);
        assert_eq!((links.after(0), links.after(1)), (&[1][..], &[][..]));
        assert!(links.is_coupled(0) && links.is_coupled(1));
        let again = |is_changed| Course::Again { is_changed };
        assert_eq!(courses(&all, &["67", "never"]), [again(true), Course::ByRule]);
        assert_eq!(courses(&all, &["30", "never"]), [again(false), Course::ByRule]);
    }

    #[test]
    fn what_another_program_wrote_meanwhile_is_kept() {
        let all = [held(MIN_FREE, "30", "67", true), held(THP, "madvise", "never", false)];
        assert_eq!(courses(&all, &["99", "never"])[0], Course::Keep("99".to_owned()));
        assert_eq!(courses(&all, &["67", "always"])[0], Course::Leave);
        // A knob of its own is not given up with the other one.
        let all = [held(MIN_FREE, "30", "50", false), held(THP, "madvise", "never", false)];
        assert_eq!(courses(&all, &["50", "always"])[0], Course::Again { is_changed: true });
    }

    #[test]
    fn uncoupled_changes_are_not_looked_at_twice() {
        let all = [held("/sys/a", "0", "1", false), held(RATIO, "20", "30", false)];
        let links = Links::of(&all);
        assert!(!links.is_coupled(0) && !links.is_coupled(1));
        assert_eq!(courses(&all, &["1", "30"]), [Course::ByRule, Course::ByRule]);
    }
}
