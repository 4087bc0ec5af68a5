//! The rule for putting back one change that is still in a journal. It is
//! pure, and the same at the normal end, in the keeper and in
//! `unjank restore`.

use super::ledger::{ChangeKind, Held};
use super::report::RestoreOutcome;

/// The current state of a changed file, directory, swap area or zram device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurrentState {
    /// It does not exist.
    Missing,
    /// A file with this value.
    Reads(String),
    /// It cannot be read. The outcome applies unless the rule writes anyway.
    Unreadable(RestoreOutcome),
    /// It is missing, but the kernel's own file system is not visible here, for
    /// this reason.
    Hidden(String),
    /// A directory, whatever it holds.
    Directory,
    /// A swap area that is in use.
    SwapArea,
    /// A zram device that unjank has set up.
    Zram,
}

/// What to do about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Write the old value, remove the directory or the zram device, or turn the swap area off.
    Undo,
    /// Leave it unchanged, with this outcome.
    Leave(RestoreOutcome),
}

/// Decides from the journal and the current state:
///
/// | now | last write settled | last write not settled |
/// |---|---|---|
/// | reads its old value | already back | already back |
/// | reads a value that unjank wrote | undo | undo |
/// | reads anything else | left to the program that wrote it | undo |
/// | cannot be read | failed | undo |
/// | does not exist | gone | gone |
/// | is hidden | failed | failed |
///
/// If a damaged line may have recorded more about the change, a value that is
/// neither the old one nor known as unjank's may still be unjank's. The change
/// is then neither undone nor given up: failed.
///
/// An existing directory and a zram device are removed, and an active swap area
/// is turned off. Otherwise they are already back.
///
/// An unsettled write may have been made, and the kernel may spell its value
/// differently. So another value does not show that another program wrote it.
pub fn decide(held: &Held, seen: &CurrentState) -> Action {
    match (held.kind, seen) {
        (ChangeKind::Directory, CurrentState::Directory)
        | (ChangeKind::SwapArea, CurrentState::SwapArea)
        | (ChangeKind::Zram, CurrentState::Zram) => Action::Undo,
        (
            ChangeKind::Directory | ChangeKind::SwapArea | ChangeKind::Zram,
            CurrentState::Missing,
        ) => Action::Leave(RestoreOutcome::AlreadyBack),
        (ChangeKind::File, CurrentState::Missing) => Action::Leave(RestoreOutcome::Gone),
        (_, CurrentState::Hidden(why)) => Action::Leave(RestoreOutcome::hidden(why)),
        (ChangeKind::File, CurrentState::Reads(value)) if *value == held.before => {
            Action::Leave(RestoreOutcome::AlreadyBack)
        }
        (ChangeKind::File, CurrentState::Reads(value)) if held.ours.contains(value) => Action::Undo,
        (ChangeKind::File, CurrentState::Reads(value)) if held.doubtful => {
            Action::Leave(RestoreOutcome::failed(format!(
                "it reads {value:?}; a damaged line of the journal may say who wrote it"
            )))
        }
        (ChangeKind::File, CurrentState::Reads(_) | CurrentState::Unreadable(_))
            if !held.settled && !held.doubtful =>
        {
            Action::Undo
        }
        (_, CurrentState::Unreadable(outcome)) => Action::Leave(outcome.clone()),
        (
            _,
            CurrentState::Reads(_)
            | CurrentState::Directory
            | CurrentState::SwapArea
            | CurrentState::Zram,
        ) => Action::Leave(RestoreOutcome::LeftToOthers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(kind: ChangeKind, settled: bool) -> Held {
        Held {
            seq: 1,
            path: "/sys/knob".to_owned(),
            kind,
            before: "60".to_owned(),
            during: "10".to_owned(),
            ours: ["010", "10"].map(str::to_owned).into(),
            settled,
            doubtful: false,
            dependant: false,
        }
    }

    fn reads(value: &str) -> CurrentState {
        CurrentState::Reads(value.to_owned())
    }

    #[test]
    fn a_settled_file_is_put_back_only_if_it_still_has_our_value() {
        let held = held(ChangeKind::File, true);
        assert_eq!(decide(&held, &reads("10")), Action::Undo);
        assert_eq!(decide(&held, &reads("010")), Action::Undo);
        assert_eq!(decide(&held, &reads("60")), Action::Leave(RestoreOutcome::AlreadyBack));
        assert_eq!(decide(&held, &reads("30")), Action::Leave(RestoreOutcome::LeftToOthers));
        assert_eq!(decide(&held, &CurrentState::Missing), Action::Leave(RestoreOutcome::Gone));
        assert_eq!(
            decide(&held, &CurrentState::Directory),
            Action::Leave(RestoreOutcome::LeftToOthers)
        );
        let unreadable = CurrentState::Unreadable(RestoreOutcome::failed("no"));
        assert_eq!(decide(&held, &unreadable), Action::Leave(RestoreOutcome::failed("no")));
    }

    #[test]
    fn an_unsettled_file_is_put_back_whatever_it_reads() {
        let held = held(ChangeKind::File, false);
        for seen in
            [reads("10"), reads("30"), CurrentState::Unreadable(RestoreOutcome::failed("no"))]
        {
            assert_eq!(decide(&held, &seen), Action::Undo, "{seen:?}");
        }
        assert_eq!(decide(&held, &reads("60")), Action::Leave(RestoreOutcome::AlreadyBack));
        assert_eq!(decide(&held, &CurrentState::Missing), Action::Leave(RestoreOutcome::Gone));
        assert_eq!(
            decide(&held, &CurrentState::Directory),
            Action::Leave(RestoreOutcome::LeftToOthers)
        );
    }

    #[test]
    fn a_hidden_change_is_neither_gone_nor_back() {
        for kind in [ChangeKind::File, ChangeKind::Directory, ChangeKind::SwapArea] {
            let action = decide(&held(kind, false), &CurrentState::Hidden("no /sys".to_owned()));
            assert_eq!(action, Action::Leave(RestoreOutcome::hidden("no /sys")), "{kind:?}");
        }
    }

    #[test]
    fn with_a_damaged_line_only_our_values_are_put_back_and_no_change_is_given_up() {
        for settled in [false, true] {
            let held = Held { doubtful: true, ..held(ChangeKind::File, settled) };
            assert_eq!(decide(&held, &reads("10")), Action::Undo);
            assert_eq!(decide(&held, &reads("60")), Action::Leave(RestoreOutcome::AlreadyBack));
            let Action::Leave(outcome) = decide(&held, &reads("30")) else { panic!("it is left") };
            assert!(outcome.is_failure(), "{outcome:?}");
            let unreadable = CurrentState::Unreadable(RestoreOutcome::failed("no"));
            assert_eq!(decide(&held, &unreadable), Action::Leave(RestoreOutcome::failed("no")));
        }
    }

    #[test]
    fn a_directory_is_removed_if_it_is_there() {
        for settled in [false, true] {
            let held = held(ChangeKind::Directory, settled);
            assert_eq!(decide(&held, &CurrentState::Directory), Action::Undo);
            assert_eq!(
                decide(&held, &CurrentState::Missing),
                Action::Leave(RestoreOutcome::AlreadyBack)
            );
            assert_eq!(decide(&held, &reads("60")), Action::Leave(RestoreOutcome::LeftToOthers));
            let unreadable = CurrentState::Unreadable(RestoreOutcome::failed("no"));
            assert_eq!(decide(&held, &unreadable), Action::Leave(RestoreOutcome::failed("no")));
        }
    }

    #[test]
    fn a_swap_area_is_turned_off_if_it_is_on() {
        for settled in [false, true] {
            let held = held(ChangeKind::SwapArea, settled);
            assert_eq!(decide(&held, &CurrentState::SwapArea), Action::Undo);
            assert_eq!(
                decide(&held, &CurrentState::Missing),
                Action::Leave(RestoreOutcome::AlreadyBack)
            );
            assert_eq!(
                decide(&held, &reads("another")),
                Action::Leave(RestoreOutcome::LeftToOthers)
            );
            assert_eq!(
                decide(&held, &CurrentState::Directory),
                Action::Leave(RestoreOutcome::LeftToOthers)
            );
        }
    }
}
