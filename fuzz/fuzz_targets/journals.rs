//! Journals that `unjank restore`, as root, finds in its directory.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use unjank_host::journal::Journal;

fuzz_target!(|file: &[u8]| {
    let _journal_or_why_not = Journal::parse(Path::new("a fuzzed journal"), file);
});
