//! Puts changes back: looks at what is there, asks the rule, does it.

use std::path::Path;
use std::thread;
use std::time::Duration;

use super::dependants;
use super::directory::DirectoryPlace;
use super::knob_file::{KnobFile, lags, refusal};
use super::ledger::{ABSENT, Held, Kind, OFF, ON, PRESENT};
use super::report::{ChangeReport, Obstacle, Outcome};
use super::rule::{Action, Seen, decide};
use super::site::Site;
use super::swap_place::SwapPlace;
use crate::error::{Error, Result};

/// Whether to act, or only to say what would be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Put things back.
    Act,
    /// Only look.
    DryRun,
}

/// How often something busy is tried again, and how long to wait for it. The
/// files that a killed process had open in a tracefs instance, and the
/// members of a cgroup, are gone a moment after the process.
const PATIENCE: (u32, Duration) = (250, Duration::from_millis(20));

/// Puts everything back, newest first, and reports in the order of `held`.
/// `ended` hears of each that needs no more care.
///
/// What fails is tried again after the rest, because knobs can depend on each
/// other: a lower limit may not rise above an upper one.
pub(super) fn put_back_all(
    site: &Site,
    held: &[Held],
    mode: Mode,
    mut ended: impl FnMut(&Held),
) -> Vec<ChangeReport> {
    let mut reports: Vec<Option<ChangeReport>> = vec![None; held.len()];
    let mut waiting: Vec<usize> = (0..held.len()).rev().collect();
    let mut patience = PATIENCE.0;
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut busy = false;
        waiting.retain(|&index| {
            let report = put_back(site, &held[index], mode);
            let failed = report.outcome.is_failure();
            busy |= matches!(report.outcome, Outcome::Failed { obstacle: Obstacle::Busy, .. });
            if !failed {
                ended(&held[index]);
            }
            // A dependant that was not touched is none of anybody's business.
            let untouched = matches!(report.outcome, Outcome::AlreadyBack | Outcome::Gone);
            reports[index] = (!(untouched && dependants::is_one(&held[index]))).then_some(report);
            failed
        });
        if waiting.len() < before {
            continue;
        }
        if !busy || patience == 0 || mode == Mode::DryRun {
            break;
        }
        patience -= 1;
        thread::sleep(PATIENCE.1);
    }
    reports.into_iter().flatten().collect()
}

/// What stands at the place of a change now.
pub(super) fn look(site: &Site, held: &Held) -> Seen {
    if let Some(why) = site.why_another(&held.path) {
        return Seen::Hidden(why);
    }
    let path = Path::new(&held.path);
    let seen = match held.kind {
        Kind::File => KnobFile::open(site, path).and_then(|knob| knob.read()).map(Seen::Reads),
        Kind::Directory => DirectoryPlace::open(site, path).and_then(|place| place.look()),
        Kind::SwapArea => SwapPlace::open(site, path).and_then(|place| place.look()),
    };
    let seen = seen.unwrap_or_else(|error| {
        if says_gone(&error) {
            Seen::Nothing
        } else {
            Seen::Unreadable(Outcome::from_error(&error))
        }
    });
    match seen {
        Seen::Nothing => nothing(site, held),
        seen => seen,
    }
}

/// Nothing is seen there: is there nothing?
fn nothing(site: &Site, held: &Held) -> Seen {
    // Areas and tracefs are looked for without a way through /dev and /sys.
    let by_other_means = held.kind == Kind::SwapArea
        || held.kind == Kind::Directory && DirectoryPlace::is_in_tracefs(site, &held.path);
    match site.why_hidden(&held.path) {
        Some(why) if !by_other_means => Seen::Hidden(why),
        _ => Seen::Nothing,
    }
}

/// What an attempt has come to that found nothing there.
fn gone(site: &Site, held: &Held) -> Outcome {
    match nothing(site, held) {
        Seen::Hidden(why) => Outcome::hidden(&why),
        _ => Outcome::Gone,
    }
}

fn put_back(site: &Site, held: &Held, mode: Mode) -> ChangeReport {
    let seen = look(site, held);
    let outcome = match (decide(held, &seen), mode) {
        // What it reads may be what it read before a write that is still to be
        // applied; then that one would come after all.
        (Action::Leave(Outcome::AlreadyBack), Mode::Act) if lags(&held.path) => {
            match undo(site, held) {
                Ok(now) => match ending(held, now) {
                    Outcome::PutBack => Outcome::AlreadyBack,
                    failed => failed,
                },
                Err(error) if says_gone(&error) => gone(site, held),
                Err(error) => Outcome::from_error(&error),
            }
        }
        (Action::Leave(outcome), _) => outcome,
        (Action::Undo, Mode::DryRun) => Outcome::WouldPutBack,
        (Action::Undo, Mode::Act) => match undo(site, held) {
            Ok(now) => return ChangeReport::new(held, value_of(held, &now), ending(held, now)),
            Err(error) if says_gone(&error) => gone(site, held),
            Err(error) => Outcome::from_error(&error),
        },
    };
    ChangeReport::new(held, value_of(held, &seen), outcome)
}

/// Writes the old value, removes the directory or turns the swap area off; returns what is there then.
fn undo(site: &Site, held: &Held) -> Result<Seen> {
    let path = Path::new(&held.path);
    match held.kind {
        Kind::File => {
            let knob = KnobFile::open(site, path)?;
            knob.write(&held.before).map_err(|source| refusal(&held.path, &held.before, source))?;
            knob.read_after(&held.before).map(Seen::Reads)
        }
        Kind::Directory => {
            DirectoryPlace::open(site, path)?.remove()?;
            Ok(Seen::Nothing)
        }
        Kind::SwapArea => {
            SwapPlace::open(site, path)?.turn_off()?;
            Ok(Seen::Nothing)
        }
    }
}

fn ending(held: &Held, now: Seen) -> Outcome {
    match now {
        Seen::Reads(value) if value != held.before => {
            Outcome::failed(format!("it reads {value:?} after that was written"))
        }
        _ => Outcome::PutBack,
    }
}

fn value_of(held: &Held, seen: &Seen) -> Option<String> {
    match seen {
        Seen::Reads(value) => Some(value.clone()),
        Seen::Directory => Some(PRESENT.to_owned()),
        Seen::SwapArea => Some(ON.to_owned()),
        Seen::Nothing if held.kind == Kind::SwapArea => Some(OFF.to_owned()),
        Seen::Nothing => Some(ABSENT.to_owned()),
        Seen::Hidden(_) | Seen::Unreadable(_) => None,
    }
}

fn says_gone(error: &Error) -> bool {
    error.is_not_found()
        || matches!(error, Error::File { source, .. }
            if matches!(source.raw_os_error(), Some(libc::ENODEV | libc::ENXIO)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::root::Root;

    fn held(seq: u64, path: &str, kind: Kind) -> Held {
        Held {
            seq,
            path: path.to_owned(),
            kind,
            before: "60".to_owned(),
            during: "10".to_owned(),
            ours: ["10".to_owned()].into(),
            settled: true,
            doubtful: false,
        }
    }

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Site) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sys")).unwrap();
        for (name, value) in files {
            fs::write(dir.path().join("sys").join(name), value).unwrap();
        }
        let site = Site::of(&Root::at(dir.path())).unwrap();
        (dir, site)
    }

    fn outcomes(reports: &[ChangeReport]) -> Vec<&Outcome> {
        reports.iter().map(|report| &report.outcome).collect()
    }

    #[test]
    fn the_newest_goes_first_and_the_report_keeps_the_order() {
        let (dir, site) = machine(&[("a", "10"), ("b", "10"), ("c", "30")]);
        let all = ["/sys/a", "/sys/b", "/sys/c", "/sys/d"].map(|path| held(1, path, Kind::File));
        let mut order = Vec::new();
        let reports = put_back_all(&site, &all, Mode::Act, |held| order.push(held.path.clone()));
        assert_eq!(order, ["/sys/d", "/sys/c", "/sys/b", "/sys/a"]);
        assert_eq!(
            outcomes(&reports),
            [&Outcome::PutBack, &Outcome::PutBack, &Outcome::LeftToOthers, &Outcome::Gone]
        );
        assert_eq!(reports[0].after.as_deref(), Some("60"));
        assert_eq!(reports[2].after.as_deref(), Some("30"));
        assert_eq!(fs::read_to_string(dir.path().join("sys/a")).unwrap(), "60\n");
    }

    #[test]
    fn a_knob_that_lags_is_written_though_it_reads_its_old_value() {
        let (dir, site) = machine(&[("scaling_min_freq", "60"), ("a", "60")]);
        let all = ["/sys/scaling_min_freq", "/sys/a"].map(|path| held(1, path, Kind::File));
        let reports = put_back_all(&site, &all, Mode::Act, |_| {});
        assert_eq!(outcomes(&reports), [&Outcome::AlreadyBack, &Outcome::AlreadyBack]);
        let content = |name| fs::read_to_string(dir.path().join("sys").join(name)).unwrap();
        // A write ends with a line end.
        assert_eq!((content("scaling_min_freq").as_str(), content("a").as_str()), ("60\n", "60"));
    }

    #[test]
    fn a_dry_run_says_what_it_would_do_and_does_not() {
        let (dir, site) = machine(&[("a", "10"), ("b", "60")]);
        fs::create_dir(dir.path().join("sys/made")).unwrap();
        let all = [
            held(1, "/sys/a", Kind::File),
            held(2, "/sys/b", Kind::File),
            held(3, "/sys/made", Kind::Directory),
        ];
        let reports = put_back_all(&site, &all, Mode::DryRun, |_| {});
        assert_eq!(
            outcomes(&reports),
            [&Outcome::WouldPutBack, &Outcome::AlreadyBack, &Outcome::WouldPutBack]
        );
        assert_eq!(fs::read_to_string(dir.path().join("sys/a")).unwrap(), "10");
        assert!(dir.path().join("sys/made").is_dir());
    }

    #[test]
    fn what_is_in_the_way_is_tried_again_after_the_rest() {
        // The inner directory was made last; made to look older, it blocks
        // the outer one in the first round.
        let (dir, site) = machine(&[]);
        fs::create_dir_all(dir.path().join("sys/outer/inner")).unwrap();
        let all =
            [held(1, "/sys/outer/inner", Kind::Directory), held(2, "/sys/outer", Kind::Directory)];
        let reports = put_back_all(&site, &all, Mode::Act, |_| {});
        assert_eq!(outcomes(&reports), [&Outcome::PutBack, &Outcome::PutBack]);
        assert!(!dir.path().join("sys/outer").exists());
    }

    #[test]
    fn a_path_that_is_no_knob_is_never_written() {
        let (dir, site) = machine(&[]);
        fs::create_dir(dir.path().join("etc")).unwrap();
        fs::write(dir.path().join("etc/shadow"), "10").unwrap();
        symlink("../etc/shadow", dir.path().join("sys/link")).unwrap();
        for path in ["/etc/shadow", "/../etc/shadow", "/sys/link", "/sys", "etc/shadow", ""] {
            let forged = Held { settled: false, ..held(1, path, Kind::File) };
            let reports = put_back_all(&site, &[forged], Mode::Act, |_| panic!("it ended"));
            assert!(reports[0].outcome.is_failure(), "{path}");
        }
        assert_eq!(fs::read_to_string(dir.path().join("etc/shadow")).unwrap(), "10");
    }
}
