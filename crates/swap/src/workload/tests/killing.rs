//! Memory without swap, from traces as text.

use unjank_cachesim::Space;
use unjank_cachesim::killing::{Killing, Rules};

use super::workload;

fn run(csv: &str, capacity: u64, rules: Rules) -> Killing {
    let workload = workload(csv);
    let space = Space::new(capacity, workload.pages.footprint().into()).unwrap();
    Killing::run(&workload, space, rules)
}

/// Two apps of three anonymous pages and one of a file, in turn.
fn two_apps() -> String {
    let launch = |app: &str, at: u32| {
        format!(
            "{at},{app},,0,launch,unknown\n{at},{app},{app} code,0,read,file\n\
             {at},{app},{app} heap,0,write,anonymous\n{at},{app},{app} heap,1,write,anonymous\n\
             {at},{app},{app} heap,2,write,anonymous\n"
        )
    };
    launch("a", 0) + &launch("b", 1) + &launch("a", 2) + &launch("a", 3)
}

#[test]
fn the_app_that_was_launched_longest_ago_is_killed_and_starts_again() {
    let rules = Rules { minfree: 1, pinned: 0 };
    let killing = run(&two_apps(), 6, rules);
    assert_eq!((killing.kills, killing.restarts), (2, 1));
    let launches: Vec<_> =
        killing.launches.iter().map(|(_, starts, waits)| (*starts, waits.storage)).collect();
    // The file page of a was dropped for pages of b.
    assert_eq!(launches, [(true, 1), (true, 1), (true, 1), (false, 0)]);
    assert_eq!(killing.traffic.storage_ios(), 3);
}

#[test]
fn nothing_is_killed_if_everything_fits() {
    let killing = run(&two_apps(), 8, Rules { minfree: 2, pinned: 0 });
    assert_eq!((killing.kills, killing.restarts), (0, 0));
    let pinned = run(&two_apps(), 8, Rules { minfree: 2, pinned: 1 });
    assert_eq!(pinned.kills, 2);
}

#[test]
fn a_dead_app_does_nothing_in_the_background() {
    let csv = two_apps()
        .replace("2,a,,0,launch", "2,c,,0,launch")
        .replace("3,a,,0,launch", "3,c,,0,launch");
    let killing = run(&csv, 6, Rules { minfree: 1, pinned: 0 });
    assert_eq!(killing.kills, 1, "a creates no pages after it was killed");
}

#[test]
fn the_last_app_is_never_killed_and_one_page_of_files_fits() {
    let killing = run(&two_apps(), 1, Rules { minfree: 100, pinned: 100 });
    assert_eq!(killing.kills, 2);
    assert_eq!(killing.traffic.storage_reads, 3, "an app that starts reads its file");
}
