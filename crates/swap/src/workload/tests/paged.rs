//! Memory with swap, from traces as text.

use unjank_cachesim::memory::{MemoryPolicy, Readahead};
use unjank_cachesim::paged::{Paged, PagedLaunch};
use unjank_cachesim::{Page, Space};

use super::workload;

/// The requests of a memory with this capacity, as text and as they are.
fn page(csv: &str, capacity: u64, readahead: u32, pinned: u32) -> (Vec<String>, Paged) {
    let workload = workload(csv);
    let space = Space::new(capacity, workload.pages.footprint().into()).unwrap();
    let readahead = Readahead::new(readahead);
    let paged = MemoryPolicy::Lru.page(&workload, space, readahead, pinned);
    (paged.stream.iter().map(|paging| format!("{paging:?}")).collect(), paged)
}

#[test]
fn a_page_goes_out_for_another_and_comes_back() {
    let (stream, paged) = page(
        "0,a,heap,0,write,anonymous\n\
         1,a,lib,0,read,file\n\
         2,a,heap,0,read,anonymous\n\
         3,a,lib,0,read,file\n",
        1,
        0,
        0,
    );
    let expected = ["PageIn 1", "PageOut 0", "PageIn 0", "CleanDrop 1", "PageIn 1", "CleanDrop 0"];
    assert_eq!(stream, expected);
    assert_eq!(paged.footprint, 2);
}

#[test]
fn a_page_is_gone_after_a_first_touch_or_the_end_of_its_process() {
    let (stream, _) = page(
        "0,a,heap,0,write,anonymous\n\
         1,b,heap,1,write,anonymous\n\
         2,a,heap,0,first-touch,anonymous\n\
         3,b,,0,exit,unknown\n\
         4,b,heap,1,read,anonymous\n",
        1,
        0,
        0,
    );
    // Page 1 is in storage when its process ends; afterwards it is a new page.
    let expected = ["PageOut 0", "Gone 0", "PageOut 1", "Gone 1", "PageOut 0"];
    assert_eq!(stream, expected);
}

#[test]
fn a_written_file_is_in_storage_at_once() {
    let (stream, paged) =
        page("0,a,data,0,write,file\n1,a,data,0,read,file\n2,a,data,1,write,file\n", 1, 0, 0);
    assert_eq!(stream, ["CleanDrop 0"]);
    assert_eq!(paged.written, [Page(0), Page(1)]);
}

#[test]
fn nobody_waits_for_readahead() {
    let (stream, paged) =
        page("0,a,lib,0,read,file\n1,a,lib,1,read,file\n2,a,lib,2,read,file\n", 3, 2, 0);
    assert_eq!(stream, ["PageIn 0", "PageIn 1", "PageIn 2"]);
    assert_eq!(paged.prefetched, [1, 2]);
}

#[test]
fn apps_that_are_alive_take_room() {
    let lines = (0..200).map(|page| format!("{page},a,heap,{page},write,anonymous"));
    let csv = lines.collect::<Vec<_>>().join("\n") + "\n";
    let launch = "300,a,,0,launch,unknown\n301,a,heap,199,read,anonymous\n";
    let (stream, paged) = page(&(csv + launch), 200, 0, 50);
    assert_eq!(stream.len(), 50, "pages that do not fit beside the pinned ones");
    assert_eq!(paged.launches, [PagedLaunch { app: 0, round: 0, starts: true }]);
}
