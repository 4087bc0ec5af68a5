//! Putting changes back: reads the current state and applies the rule.

use std::path::Path;
use std::thread;
use std::time::Duration;

use super::coupled::{Course, Links};
use super::directory::DirectoryPlace;
use super::entry::Entry;
use super::knob_file::{KnobFile, lags, refusal};
use super::ledger::{ABSENT, ADDED, ChangeKind, Held, OFF, ON, PRESENT, REMOVED};
use super::report::{ChangeReport, Obstacle, RestoreOutcome};
use super::rule::{Action, CurrentState, decide};
use super::site::Site;
use super::swap_place::SwapPlace;
use super::zram_place::ZramPlace;
use crate::error::{Error, Result};

/// Whether to put changes back, or only to report what would be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Put changes back.
    Act,
    /// Only report.
    DryRun,
}

/// The number of attempts for something that is busy, and the pause between
/// them. The open files of a killed process in a tracefs instance, and the
/// members of a cgroup, disappear a moment after the process.
const BUSY_RETRIES: (u32, Duration) = (250, Duration::from_millis(20));

/// What the journal should record about a change while it is put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The kernel is about to change it with another knob: until it has ended, no
    /// value that it reads shows that another program wrote it.
    IsReset,
    /// It is done with.
    Ended,
}

impl Progress {
    /// The line of the journal.
    pub(super) fn entry(self, held: &Held) -> Entry {
        match self {
            Self::IsReset => Entry::Set { seq: held.seq, value: held.during.clone() },
            Self::Ended => Entry::Restored { seq: held.seq },
        }
    }
}

/// Puts everything back, newest first, and reports in the order of `held`.
/// Calls `note` for what should be recorded.
///
/// A change that the kernel makes again when another one is put back waits for that
/// one. Failures are tried again after the rest, because knobs can depend on each
/// other in other ways, too: a lower limit may not rise above an upper one.
pub(super) fn put_back_all(
    site: &Site,
    held: &[Held],
    mode: Mode,
    mut note: impl FnMut(Progress, &Held),
) -> Vec<ChangeReport> {
    let mut reports: Vec<Option<ChangeReport>> = vec![None; held.len()];
    let links = Links::of(held);
    let courses = courses(site, held, &links);
    let mut ended: Vec<bool> = courses.iter().map(|course| *course == Course::Leave).collect();
    for (held, course) in held.iter().zip(&courses) {
        match course {
            Course::Leave => note(Progress::Ended, held),
            Course::Again { .. } if held.settled => note(Progress::IsReset, held),
            _ => {}
        }
    }
    let mut waiting: Vec<usize> = (0..held.len()).rev().filter(|&index| !ended[index]).collect();
    let mut retries = BUSY_RETRIES.0;
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut busy = false;
        waiting.retain(|&index| {
            let (change, course) = (&held[index], &courses[index]);
            if *course != Course::ByRule && links.after(index).iter().any(|&first| !ended[first]) {
                return true;
            }
            let report = put_back_by(course, site, change, mode);
            let failed = report.outcome.is_failure();
            busy |=
                matches!(report.outcome, RestoreOutcome::Failed { obstacle: Obstacle::Busy, .. });
            if !failed {
                ended[index] = true;
                note(Progress::Ended, change);
            }
            // An untouched dependant is not reported.
            let untouched =
                matches!(report.outcome, RestoreOutcome::AlreadyBack | RestoreOutcome::Gone);
            reports[index] = (!(untouched && change.dependant)).then_some(report);
            failed
        });
        if waiting.len() < before {
            continue;
        }
        if !busy || retries == 0 || mode == Mode::DryRun {
            break;
        }
        retries -= 1;
        thread::sleep(BUSY_RETRIES.1);
    }
    for index in waiting {
        let first = links.after(index).iter().find(|&&first| !ended[first]);
        if let Some(&first) = first.filter(|_| reports[index].is_none()) {
            let why = format!("{} must be put back first", held[first].path);
            let outcome = RestoreOutcome::failed(why);
            reports[index] = Some(ChangeReport::new(&held[index], None, outcome));
        }
    }
    reports.into_iter().flatten().collect()
}

/// How each change is put back, from what coupled ones read before the first write.
fn courses(site: &Site, held: &[Held], links: &Links) -> Vec<Course> {
    let look_first = |(index, held): (usize, &Held)| {
        links.is_coupled(index).then(|| {
            let seen = look(site, held);
            let action = decide(held, &seen);
            (seen, action)
        })
    };
    let now: Vec<_> = held.iter().enumerate().map(look_first).collect();
    (0..held.len()).map(|index| links.course(index, &now)).collect()
}

fn put_back_by(course: &Course, site: &Site, held: &Held, mode: Mode) -> ChangeReport {
    // Not settled: the kernel chose its present value.
    let put_back_to = |before: &str| {
        let before = before.to_owned();
        put_back(site, &Held { before, settled: false, doubtful: false, ..held.clone() }, mode)
    };
    match course {
        Course::Again { is_changed } if mode == Mode::Act => {
            let mut report = put_back_to(&held.before);
            if *is_changed && report.outcome == RestoreOutcome::AlreadyBack {
                report.outcome = RestoreOutcome::PutBack;
            }
            report
        }
        Course::Keep(value) if mode == Mode::Act => {
            let now = put_back_to(value).after;
            ChangeReport::new(held, now, RestoreOutcome::LeftToOthers)
        }
        _ => put_back(site, held, mode),
    }
}

/// Reads the current state of a change.
pub(super) fn look(site: &Site, held: &Held) -> CurrentState {
    if let Some(why) = site.why_another(&held.path) {
        return CurrentState::Hidden(why);
    }
    let path = Path::new(&held.path);
    let seen = match held.kind {
        ChangeKind::File => {
            KnobFile::open(site, path).and_then(|knob| knob.read()).map(CurrentState::Reads)
        }
        ChangeKind::Directory => DirectoryPlace::open(site, path).and_then(|place| place.look()),
        ChangeKind::SwapArea => SwapPlace::open(site, path).and_then(|place| place.look()),
        ChangeKind::Zram => ZramPlace::open(site, path).and_then(|place| place.look(held.settled)),
    };
    let seen = seen.unwrap_or_else(|error| {
        if means_gone(&error) {
            CurrentState::Missing
        } else {
            CurrentState::Unreadable(RestoreOutcome::from_error(&error))
        }
    });
    match seen {
        CurrentState::Missing => nothing(site, held),
        seen => seen,
    }
}

/// Decides whether a missing file or directory is missing or hidden.
fn nothing(site: &Site, held: &Held) -> CurrentState {
    // Swap areas and tracefs are found without going through /dev and /sys, and a place of zram has
    // looked at /sys itself.
    let by_other_means = matches!(held.kind, ChangeKind::SwapArea | ChangeKind::Zram)
        || held.kind == ChangeKind::Directory && DirectoryPlace::is_in_tracefs(site, &held.path);
    match site.why_hidden(&held.path) {
        Some(why) if !by_other_means => CurrentState::Hidden(why),
        _ => CurrentState::Missing,
    }
}

/// The outcome of an attempt that found nothing.
fn gone(site: &Site, held: &Held) -> RestoreOutcome {
    match nothing(site, held) {
        CurrentState::Hidden(why) => RestoreOutcome::hidden(&why),
        _ => RestoreOutcome::Gone,
    }
}

fn put_back(site: &Site, held: &Held, mode: Mode) -> ChangeReport {
    let seen = look(site, held);
    let outcome = match (decide(held, &seen), mode) {
        // The old value may be read because an earlier write is still pending,
        // and that write would be applied later.
        (Action::Leave(RestoreOutcome::AlreadyBack), Mode::Act) if lags(&held.path) => {
            match undo(site, held) {
                Ok(now) => match ending(held, now) {
                    RestoreOutcome::PutBack => RestoreOutcome::AlreadyBack,
                    failed => failed,
                },
                Err(error) if means_gone(&error) => gone(site, held),
                Err(error) => RestoreOutcome::from_error(&error),
            }
        }
        (Action::Leave(outcome), _) => outcome,
        (Action::Undo, Mode::DryRun) => RestoreOutcome::WouldPutBack,
        (Action::Undo, Mode::Act) => match undo(site, held) {
            Ok(now) => return ChangeReport::new(held, value_of(held, &now), ending(held, now)),
            Err(error) if means_gone(&error) => gone(site, held),
            Err(error) => RestoreOutcome::from_error(&error),
        },
    };
    ChangeReport::new(held, value_of(held, &seen), outcome)
}

/// Writes the old value, removes the directory or turns the swap area off.
/// Returns the state after that.
fn undo(site: &Site, held: &Held) -> Result<CurrentState> {
    let path = Path::new(&held.path);
    match held.kind {
        ChangeKind::File => {
            let knob = KnobFile::open(site, path)?;
            knob.write(&held.before).map_err(|source| refusal(&held.path, &held.before, source))?;
            knob.read_after(&held.before).map(CurrentState::Reads)
        }
        ChangeKind::Directory => {
            DirectoryPlace::open(site, path)?.remove()?;
            Ok(CurrentState::Missing)
        }
        ChangeKind::SwapArea => {
            SwapPlace::open(site, path)?.turn_off()?;
            Ok(CurrentState::Missing)
        }
        ChangeKind::Zram => {
            ZramPlace::open(site, path)?.remove()?;
            Ok(CurrentState::Missing)
        }
    }
}

fn ending(held: &Held, now: CurrentState) -> RestoreOutcome {
    match now {
        CurrentState::Reads(value) if value != held.before => {
            RestoreOutcome::failed(format!("it reads {value:?} after the old value was written"))
        }
        _ => RestoreOutcome::PutBack,
    }
}

fn value_of(held: &Held, seen: &CurrentState) -> Option<String> {
    match seen {
        CurrentState::Reads(value) => Some(value.clone()),
        CurrentState::Directory => Some(PRESENT.to_owned()),
        CurrentState::SwapArea => Some(ON.to_owned()),
        CurrentState::Zram => Some(ADDED.to_owned()),
        CurrentState::Missing if held.kind == ChangeKind::SwapArea => Some(OFF.to_owned()),
        CurrentState::Missing if held.kind == ChangeKind::Zram => Some(REMOVED.to_owned()),
        CurrentState::Missing => Some(ABSENT.to_owned()),
        CurrentState::Hidden(_) | CurrentState::Unreadable(_) => None,
    }
}

fn means_gone(error: &Error) -> bool {
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

    fn held(seq: u64, path: &str, kind: ChangeKind) -> Held {
        Held {
            seq,
            path: path.to_owned(),
            kind,
            before: "60".to_owned(),
            during: "10".to_owned(),
            ours: ["10".to_owned()].into(),
            settled: true,
            doubtful: false,
            dependant: false,
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

    fn outcomes(reports: &[ChangeReport]) -> Vec<&RestoreOutcome> {
        reports.iter().map(|report| &report.outcome).collect()
    }

    #[test]
    fn the_newest_goes_first_and_the_report_keeps_the_order() {
        let (dir, site) = machine(&[("a", "10"), ("b", "10"), ("c", "30")]);
        let all =
            ["/sys/a", "/sys/b", "/sys/c", "/sys/d"].map(|path| held(1, path, ChangeKind::File));
        let mut order = Vec::new();
        let reports = put_back_all(&site, &all, Mode::Act, |_, held| order.push(held.path.clone()));
        assert_eq!(order, ["/sys/d", "/sys/c", "/sys/b", "/sys/a"]);
        assert_eq!(
            outcomes(&reports),
            [
                &RestoreOutcome::PutBack,
                &RestoreOutcome::PutBack,
                &RestoreOutcome::LeftToOthers,
                &RestoreOutcome::Gone
            ]
        );
        assert_eq!(reports[0].after.as_deref(), Some("60"));
        assert_eq!(reports[2].after.as_deref(), Some("30"));
        assert_eq!(fs::read_to_string(dir.path().join("sys/a")).unwrap(), "60\n");
    }

    #[test]
    fn a_knob_that_lags_is_written_though_it_reads_its_old_value() {
        let (dir, site) = machine(&[("scaling_min_freq", "60"), ("a", "60")]);
        let all = ["/sys/scaling_min_freq", "/sys/a"].map(|path| held(1, path, ChangeKind::File));
        let reports = put_back_all(&site, &all, Mode::Act, |_, _| {});
        assert_eq!(
            outcomes(&reports),
            [&RestoreOutcome::AlreadyBack, &RestoreOutcome::AlreadyBack]
        );
        let content = |name| fs::read_to_string(dir.path().join("sys").join(name)).unwrap();
        // A write ends with a line end.
        assert_eq!((content("scaling_min_freq").as_str(), content("a").as_str()), ("60\n", "60"));
    }

    #[test]
    fn a_dry_run_reports_and_changes_nothing() {
        let (dir, site) = machine(&[("a", "10"), ("b", "60")]);
        fs::create_dir(dir.path().join("sys/made")).unwrap();
        let all = [
            held(1, "/sys/a", ChangeKind::File),
            held(2, "/sys/b", ChangeKind::File),
            held(3, "/sys/made", ChangeKind::Directory),
        ];
        let reports = put_back_all(&site, &all, Mode::DryRun, |_, _| {});
        assert_eq!(
            outcomes(&reports),
            [
                &RestoreOutcome::WouldPutBack,
                &RestoreOutcome::AlreadyBack,
                &RestoreOutcome::WouldPutBack
            ]
        );
        assert_eq!(fs::read_to_string(dir.path().join("sys/a")).unwrap(), "10");
        assert!(dir.path().join("sys/made").is_dir());
    }

    #[test]
    fn a_blocked_change_is_tried_again_after_the_rest() {
        // The inner directory was made last; made to look older, it blocks
        // the outer one in the first round.
        let (dir, site) = machine(&[]);
        fs::create_dir_all(dir.path().join("sys/outer/inner")).unwrap();
        let all = [
            held(1, "/sys/outer/inner", ChangeKind::Directory),
            held(2, "/sys/outer", ChangeKind::Directory),
        ];
        let reports = put_back_all(&site, &all, Mode::Act, |_, _| {});
        assert_eq!(outcomes(&reports), [&RestoreOutcome::PutBack, &RestoreOutcome::PutBack]);
        assert!(!dir.path().join("sys/outer").exists());
    }

    #[test]
    fn a_path_that_is_not_a_knob_is_never_written() {
        let (dir, site) = machine(&[]);
        fs::create_dir(dir.path().join("etc")).unwrap();
        fs::write(dir.path().join("etc/shadow"), "10").unwrap();
        symlink("../etc/shadow", dir.path().join("sys/link")).unwrap();
        for path in ["/etc/shadow", "/../etc/shadow", "/sys/link", "/sys", "etc/shadow", ""] {
            let forged = Held { settled: false, ..held(1, path, ChangeKind::File) };
            let reports = put_back_all(&site, &[forged], Mode::Act, |_, _| panic!("it ended"));
            assert!(reports[0].outcome.is_failure(), "{path}");
        }
        assert_eq!(fs::read_to_string(dir.path().join("etc/shadow")).unwrap(), "10");
    }
}
