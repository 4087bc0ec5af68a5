//! The rule of restoration: what to do about one change that is still in a
//! journal. Pure, and the same at the normal end, for the keeper and for
//! `unjank restore`.

use super::ledger::{Held, Kind};
use super::report::Outcome;

/// What stands at the place of a change now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Nothing.
    Nothing,
    /// A file that reads so.
    Reads(String),
    /// Something that cannot be looked at: the failure that this is, unless
    /// the rule says to write all the same.
    Unreadable(Outcome),
    /// Nothing, and the kernel's own files are not what is seen here: why.
    Hidden(String),
    /// A directory.
    Directory,
    /// A swap area that is in use.
    SwapArea,
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Write the old value, or remove the directory.
    Undo,
    /// Leave it as it is; the outcome says why.
    Leave(Outcome),
}

/// Decides from what the journal says and what is there now:
///
/// | now | last write settled | last write not settled |
/// |---|---|---|
/// | reads its old value | already back | already back |
/// | reads a value of ours | undo | undo |
/// | reads anything else | left to whoever wrote it | undo |
/// | cannot be read | failed | undo |
/// | is not there | gone | gone |
/// | is hidden | failed | failed |
///
/// Where a damaged line of the journal may have said more about it, a value
/// that is neither the old one nor one of ours may still be of our making, so
/// the change is neither undone nor given up: failed.
///
/// A directory that is there is removed, a swap area that is on is turned off; one that is
/// not is back already.
///
/// An unsettled write may have been made, and the kernel may have spelled its
/// value differently, so what the file reads then proves nothing about others.
pub fn decide(held: &Held, seen: &Seen) -> Action {
    match (held.kind, seen) {
        (Kind::Directory, Seen::Directory) | (Kind::SwapArea, Seen::SwapArea) => Action::Undo,
        (Kind::Directory | Kind::SwapArea, Seen::Nothing) => Action::Leave(Outcome::AlreadyBack),
        (Kind::File, Seen::Nothing) => Action::Leave(Outcome::Gone),
        (_, Seen::Hidden(why)) => Action::Leave(Outcome::hidden(why)),
        (Kind::File, Seen::Reads(value)) if *value == held.before => {
            Action::Leave(Outcome::AlreadyBack)
        }
        (Kind::File, Seen::Reads(value)) if held.ours.contains(value) => Action::Undo,
        (Kind::File, Seen::Reads(value)) if held.doubtful => {
            Action::Leave(Outcome::failed(format!(
                "it reads {value:?}, and the journal is damaged where it may say whose that is"
            )))
        }
        (Kind::File, Seen::Reads(_) | Seen::Unreadable(_)) if !held.settled && !held.doubtful => {
            Action::Undo
        }
        (_, Seen::Unreadable(outcome)) => Action::Leave(outcome.clone()),
        (_, Seen::Reads(_) | Seen::Directory | Seen::SwapArea) => {
            Action::Leave(Outcome::LeftToOthers)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(kind: Kind, settled: bool) -> Held {
        Held {
            seq: 1,
            path: "/sys/knob".to_owned(),
            kind,
            before: "60".to_owned(),
            during: "10".to_owned(),
            ours: ["010", "10"].map(str::to_owned).into(),
            settled,
            doubtful: false,
        }
    }

    fn reads(value: &str) -> Seen {
        Seen::Reads(value.to_owned())
    }

    #[test]
    fn a_settled_file_is_put_back_only_if_it_is_as_we_left_it() {
        let held = held(Kind::File, true);
        assert_eq!(decide(&held, &reads("10")), Action::Undo);
        assert_eq!(decide(&held, &reads("010")), Action::Undo);
        assert_eq!(decide(&held, &reads("60")), Action::Leave(Outcome::AlreadyBack));
        assert_eq!(decide(&held, &reads("30")), Action::Leave(Outcome::LeftToOthers));
        assert_eq!(decide(&held, &Seen::Nothing), Action::Leave(Outcome::Gone));
        assert_eq!(decide(&held, &Seen::Directory), Action::Leave(Outcome::LeftToOthers));
        let unreadable = Seen::Unreadable(Outcome::failed("no"));
        assert_eq!(decide(&held, &unreadable), Action::Leave(Outcome::failed("no")));
    }

    #[test]
    fn an_unsettled_file_is_put_back_whatever_it_reads() {
        let held = held(Kind::File, false);
        for seen in [reads("10"), reads("30"), Seen::Unreadable(Outcome::failed("no"))] {
            assert_eq!(decide(&held, &seen), Action::Undo, "{seen:?}");
        }
        assert_eq!(decide(&held, &reads("60")), Action::Leave(Outcome::AlreadyBack));
        assert_eq!(decide(&held, &Seen::Nothing), Action::Leave(Outcome::Gone));
        assert_eq!(decide(&held, &Seen::Directory), Action::Leave(Outcome::LeftToOthers));
    }

    #[test]
    fn what_is_hidden_is_neither_gone_nor_back() {
        for kind in [Kind::File, Kind::Directory, Kind::SwapArea] {
            let action = decide(&held(kind, false), &Seen::Hidden("no /sys".to_owned()));
            assert_eq!(action, Action::Leave(Outcome::hidden("no /sys")), "{kind:?}");
        }
    }

    #[test]
    fn in_doubt_only_a_value_of_ours_is_put_back_and_no_other_is_given_up() {
        for settled in [false, true] {
            let held = Held { doubtful: true, ..held(Kind::File, settled) };
            assert_eq!(decide(&held, &reads("10")), Action::Undo);
            assert_eq!(decide(&held, &reads("60")), Action::Leave(Outcome::AlreadyBack));
            let Action::Leave(outcome) = decide(&held, &reads("30")) else { panic!("it is left") };
            assert!(outcome.is_failure(), "{outcome:?}");
            let unreadable = Seen::Unreadable(Outcome::failed("no"));
            assert_eq!(decide(&held, &unreadable), Action::Leave(Outcome::failed("no")));
        }
    }

    #[test]
    fn a_directory_is_removed_if_it_is_there() {
        for settled in [false, true] {
            let held = held(Kind::Directory, settled);
            assert_eq!(decide(&held, &Seen::Directory), Action::Undo);
            assert_eq!(decide(&held, &Seen::Nothing), Action::Leave(Outcome::AlreadyBack));
            assert_eq!(decide(&held, &reads("60")), Action::Leave(Outcome::LeftToOthers));
            let unreadable = Seen::Unreadable(Outcome::failed("no"));
            assert_eq!(decide(&held, &unreadable), Action::Leave(Outcome::failed("no")));
        }
    }

    #[test]
    fn a_swap_area_is_turned_off_if_it_is_on() {
        for settled in [false, true] {
            let held = held(Kind::SwapArea, settled);
            assert_eq!(decide(&held, &Seen::SwapArea), Action::Undo);
            assert_eq!(decide(&held, &Seen::Nothing), Action::Leave(Outcome::AlreadyBack));
            assert_eq!(decide(&held, &reads("another")), Action::Leave(Outcome::LeftToOthers));
            assert_eq!(decide(&held, &Seen::Directory), Action::Leave(Outcome::LeftToOthers));
        }
    }
}
