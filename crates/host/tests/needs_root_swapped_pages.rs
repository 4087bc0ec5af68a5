//! Finds the pages of a process in swap, by what lies at their place in the area. The process that
//! has the pages is another start of this test program, as is the keeper of the swap area.

// Tests print why they are skipped.
#![allow(clippy::print_stdout)]
#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{Advice, fadvise};
use unjank_host::journal::Session;
use unjank_host::memory::Mapping;
use unjank_host::process::HelperCommand;
use unjank_host::swapped_pages::{SwappedPage, SwappedPages};
use unjank_host::{Bytes, Root, Support, keeper, temporary_swap};
use unjank_needs::wait::until;

const ROLE: &str = "UNJANK_TEST_ROLE";
const PAGES: usize = 64;
/// How often pages are paged out before they are read again.
const ATTEMPTS: usize = 50;
/// The first word of the first page; no other memory has it.
const WORD: u64 = 0x7a3f_91c4_0e55_d200;

fn is_role(role: &str) -> bool {
    std::env::var(ROLE).as_deref() == Ok(role)
}

fn this_program_as(role: &str) -> [String; 5] {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    [format!("{ROLE}={role}"), program, role.to_owned(), "--exact".into(), "--nocapture".into()]
}

#[test]
fn keeper_role() {
    if is_role("keeper_role") {
        keeper::run(std::io::stdin().as_fd().try_clone_to_owned().unwrap()).unwrap();
    }
}

/// Has pages that are paged out until it is killed.
#[test]
fn owner_role() {
    if !is_role("owner_role") {
        return;
    }
    let mut pages = Mapping::anonymous(PAGES).unwrap();
    for page in 0..PAGES {
        pages.fill(page, || WORD + page as u64);
    }
    println!("there");
    loop {
        // Not all pages are paged out at the first attempt.
        for _ in 0..ATTEMPTS {
            pages.page_out().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        // One that has a slot but was not written is only tried again after it was used.
        for page in 0..PAGES {
            assert_eq!(pages.read(page, 0), WORD + page as u64);
        }
    }
}

#[test]
fn pages_in_swap_are_found_at_their_place_in_the_area() {
    if !unjank_needs::root() {
        return;
    }
    let finders = [SwappedPages::new, SwappedPages::by_maps].map(|make| make(&Root::system()));
    let mut finders = Vec::from(finders.map(|finder| finder.unwrap()));
    if let Some(Support::No(reason)) = finders.iter().find(|it| matches!(it, Support::No(_))) {
        return unjank_needs::skip(reason.clone());
    }
    let mut finders: Vec<SwappedPages> = finders.drain(..).filter_map(Support::yes).collect();
    // Pages would go to the areas of other tests, and theirs to this one.
    let _turn = unjank_needs::turns::swap();
    let dir = tempfile::tempdir().unwrap();
    let keeper = HelperCommand::new("/usr/bin/env", this_program_as("keeper_role"));
    let session = Session::open(&Root::system(), &dir.path().join("state"), keeper).unwrap();
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let area = match temporary_swap::make(&session, place, Bytes(16 << 20)).unwrap() {
        Support::Yes(area) => area,
        Support::No(reason) => return unjank_needs::skip(reason),
    };
    let mut owner = Command::new("/usr/bin/env")
        .args(this_program_as("owner_role"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("there")), "no pages");
    let device = File::open(area.path()).unwrap();
    let word_at = |page: &SwappedPage| {
        let mut word = [0; 8];
        let read = device.read_exact_at(&mut word, page.slot * 4096);
        read.ok().map(|()| u64::from_ne_bytes(word))
    };
    for finder in &mut finders {
        let mut found = BTreeMap::new();
        // A page that is under way to the device is not found there yet.
        until("all pages are found", || {
            assert_eq!(owner.try_wait().unwrap(), None, "the process has ended");
            found.clear();
            // Swap writes past the cache of the device, which may hold what was there before.
            fadvise(&device, 0, None, Advice::DontNeed).unwrap();
            let mut seen = Vec::new();
            finder.visit(|page| seen.push(page)).unwrap();
            for page in seen.into_iter().filter(|page| page.process == owner.id()) {
                if let Some(word) = word_at(&page).filter(|it| (WORD..WORD + 64).contains(it)) {
                    found.insert(word, page);
                }
            }
            found.len() == PAGES
        });
        let first = found[&WORD];
        for (word, page) in &found {
            let at = first.address + (word - WORD) * 4096;
            assert_eq!((page.address, page.area), (at, first.area), "{page:?}");
        }
    }
    owner.kill().unwrap();
    owner.wait().unwrap();
    for finder in &mut finders {
        finder.visit(|page| assert_ne!(page.process, owner.id())).unwrap();
    }
    drop(area);
    drop(session.finish());
}
