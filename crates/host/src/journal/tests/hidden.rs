//! A machine whose files are hidden: a missing file is not taken for gone.

use super::*;
use crate::journal::Obstacle;

fn hide(bench: &Bench, name: &str) {
    fs::rename(bench.dir.path().join(name), bench.dir.path().join("hidden")).unwrap();
}

fn show(bench: &Bench, name: &str) {
    fs::rename(bench.dir.path().join("hidden"), bench.dir.path().join(name)).unwrap();
}

fn are_hidden(found: &[FoundJournal]) -> bool {
    let changes = found.iter().flat_map(|journal| &journal.changes);
    changes.map(|change| change.outcome.obstacle()).all(|seen| seen == Some(Obstacle::Hidden))
}

#[test]
fn a_journal_is_kept_where_the_kernels_files_are_hidden() {
    for name in ["sys", "proc"] {
        let bench = Bench::new(&[("a", "0")]);
        let session = bench.open();
        let held = (
            session.change("/sys/a", "1").unwrap(),
            session.make_directory("/sys/kernel/unjank-1").unwrap(),
        );
        crate::journal::failpoint::kill_after(0);
        drop((held, session));
        crate::journal::failpoint::disarm();
        hide(&bench, name);
        for mode in [Mode::DryRun, Mode::Act] {
            let found = restore(&bench.root(), &bench.state_dir(), mode).unwrap();
            assert_eq!(found[0].changes.len(), 2);
            assert!(are_hidden(&found), "{name}: {found:?}");
        }
        // A session of something else looks at it as well.
        let unrelated = bench.open();
        assert!(are_hidden(unrelated.recovered()), "{name}");
        drop(unrelated);
        assert_eq!(bench.journals().len(), 1, "{name}");
        show(&bench, name);
        assert_eq!(
            outcomes(&bench.restore()[0].changes),
            [&RestoreOutcome::PutBack, &RestoreOutcome::PutBack],
            "{name}"
        );
        assert_eq!((bench.read("a"), bench.journals().len()), ("0".to_owned(), 0));
    }
}

#[test]
fn control_groups_of_another_namespace_are_not_touched() {
    let bench = Bench::new(&[("a", "0")]);
    let groups = bench.dir.path().join("sys/fs/cgroup");
    fs::create_dir_all(&groups).unwrap();
    fs::create_dir_all(bench.dir.path().join("proc/self/ns")).unwrap();
    let enter = |number| {
        let link = bench.dir.path().join("proc/self/ns/cgroup");
        let _none = fs::remove_file(&link);
        std::os::unix::fs::symlink(format!("cgroup:[{number}]"), link).unwrap();
    };
    enter(1);
    let session = bench.open();
    let held = (
        session.change("/sys/a", "1").unwrap(),
        session.make_directory("/sys/fs/cgroup/unjank-1").unwrap(),
    );
    crate::journal::failpoint::kill_after(0);
    drop((held, session));
    crate::journal::failpoint::disarm();
    enter(2);
    let found = bench.restore();
    let hidden: Vec<_> = found[0].changes.iter().map(|each| each.outcome.obstacle()).collect();
    assert_eq!(hidden, [None, Some(Obstacle::Hidden)], "all namespaces share the knob");
    assert!(groups.join("unjank-1").exists() && bench.journals().len() == 1);
    enter(1);
    assert_eq!(outcomes(&bench.restore()[0].changes), [&RestoreOutcome::PutBack]);
    assert!(!groups.join("unjank-1").exists() && bench.journals().is_empty());
}

#[test]
fn an_announced_change_that_is_hidden_is_not_taken_for_gone() {
    let bench = Bench::new(&[("a", "0")]);
    let session = bench.open();
    // Killed between the announcement and the note that it was made.
    crate::journal::failpoint::kill_after(5);
    assert!(session.change("/sys/a", "1").is_err());
    drop(session);
    assert!(crate::journal::failpoint::disarm());
    bench.write("a", "1");
    hide(&bench, "sys");
    assert!(are_hidden(&bench.restore()));
    show(&bench, "sys");
    assert_eq!(outcomes(&bench.restore()[0].changes), [&RestoreOutcome::PutBack]);
    assert_eq!(bench.read("a"), "0");
}
