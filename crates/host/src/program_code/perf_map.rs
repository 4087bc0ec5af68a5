//! Names of generated code: `/tmp/perf-PID.map`, as in
//! `tools/perf/Documentation/jit-interface.txt` of Linux.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::time::Duration;

use memchr::memchr_iter;
use unjank_units::Nanos;

use super::stabbing_max::StabbingMax;
use crate::clock::Timestamp;
use crate::process::pid;
use crate::root::Root;

/// The longest part of a file that is read, in bytes.
const LARGEST: u64 = 256 << 20;
/// Of a longer line, only the beginning counts.
const LONGEST_LINE: usize = 4_096;
/// The part of a file that is searched for lines at once.
const BLOCK: usize = 1 << 16;
/// Longer names are cut.
const LONGEST_NAME: usize = 200;

/// The names at these addresses of `process`, if it or root has written the
/// map since it began. An older map is that of another process with the same
/// number.
pub(crate) fn names(root: &Root, process: u32, addresses: &[u64]) -> BTreeMap<u64, String> {
    let file = open(root, process);
    let age = file.as_ref().and_then(|_| pid::age(root, process));
    let file = file.filter(|file| age.is_some_and(|age| is_newer(file, age)));
    file.map(|file| search(BufReader::with_capacity(BLOCK, file), addresses)).unwrap_or_default()
}

/// As `names`, of a process that began after `began` and may have ended.
pub(crate) fn names_since(
    root: &Root,
    process: u32,
    addresses: &[u64],
    began: Timestamp,
) -> BTreeMap<u64, String> {
    let file = open(root, process).or_else(|| open_left(root, process));
    let file = file.filter(|file| is_newer(file, Timestamp::now().since(began)));
    file.map(|file| search(BufReader::with_capacity(BLOCK, file), addresses)).unwrap_or_default()
}

/// The file as the process sees it.
fn open(root: &Root, process: u32) -> Option<File> {
    let status = root.read(format!("/proc/{process}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    // The last id is the one in the process's own namespace.
    let own = numbers.and_then(|line| line.split_whitespace().last()?.parse::<u32>().ok());
    let path = format!("/proc/{process}/root/tmp/perf-{}.map", own.unwrap_or(process));
    open_owned(root, &path, pid::user(root, process))
}

/// The file that a process has left behind, which must be root's.
fn open_left(root: &Root, process: u32) -> Option<File> {
    open_owned(root, &format!("/tmp/perf-{process}.map"), None)
}

/// Anybody may write to /tmp, so the file must belong to this user or to root, and
/// must not be another name of a file elsewhere.
fn open_owned(root: &Root, path: &str, user: Option<u32>) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY);
    let file = options.open(root.resolve(path)).ok()?;
    let about = file.metadata().ok()?;
    let is_ours = about.uid() == 0 || Some(about.uid()) == user;
    (about.is_file() && about.nlink() == 1 && is_ours).then_some(file)
}

/// Whether a file was written at most `ago`, and a second for coarse clocks, before
/// now.
fn is_newer(file: &File, ago: Nanos) -> bool {
    let written = file.metadata().and_then(|about| about.modified());
    let age = written.ok().map(|written| written.elapsed().unwrap_or_default());
    age.is_some_and(|age| age <= Duration::from(ago) + Duration::from_secs(1))
}

/// Lines are `START SIZE NAME`, in hexadecimal. The last one that contains an
/// address counts: code may replace other code.
fn search(mut file: impl BufRead + Seek, addresses: &[u64]) -> BTreeMap<u64, String> {
    let mut asked: Vec<u64> = addresses.to_vec();
    asked.sort_unstable();
    asked.dedup();
    let mut last_lines = StabbingMax::of(&asked);
    each_line((&mut file).take(LARGEST), |at, line| {
        if let Some((start, size, _)) = entry(line) {
            last_lines.add(&(start..start.saturating_add(size)), at);
        }
    });
    let mut wanted: Vec<(u64, u64)> =
        last_lines.greatest().map(|(address, at)| (at, address)).collect();
    wanted.sort_unstable();
    let mut found = BTreeMap::new();
    for addresses in wanted.chunk_by(|(at, _), (next, _)| at == next) {
        let Some(name) = name_at(&mut file, addresses[0].0) else { continue };
        found.extend(addresses.iter().map(|(_, address)| (*address, name.clone())));
    }
    found
}

/// Calls `each` with the position of each line, and with the line or the beginning of a long one.
fn each_line(mut file: impl BufRead, mut each: impl FnMut(u64, &[u8])) {
    let (mut at, mut begins) = (0, 0);
    // The part of a line that was in an earlier block.
    let mut line = Vec::new();
    while let Ok(block) = file.fill_buf()
        && !block.is_empty()
    {
        let mut from = 0;
        for end in memchr_iter(b'\n', block) {
            let part = &block[from..end];
            if line.is_empty() {
                each(begins, beginning(part, LONGEST_LINE));
            } else {
                line.extend(beginning(part, LONGEST_LINE - line.len()));
                each(begins, &line);
                line.clear();
            }
            from = end + 1;
            begins = at + from as u64;
        }
        line.extend(beginning(&block[from..], LONGEST_LINE - line.len()));
        let length = block.len();
        at += length as u64;
        file.consume(length);
    }
    if !line.is_empty() {
        each(begins, &line);
    }
}

fn beginning(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[..bytes.len().min(most)]
}

/// The name in the line at this position.
fn name_at(file: &mut (impl BufRead + Seek), at: u64) -> Option<String> {
    let mut line = Vec::new();
    file.seek(SeekFrom::Start(at)).ok()?;
    file.take(LONGEST_LINE as u64).read_until(b'\n', &mut line).ok()?;
    let (_, _, name) = entry(&line)?;
    Some(String::from_utf8_lossy(name).chars().take(LONGEST_NAME).collect())
}

fn entry(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let mut number = || {
        let word = std::str::from_utf8(words.next()?).ok()?;
        u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
    };
    let (start, size) = (number()?, number()?);
    let name = words.next()?.trim_ascii();
    (!name.is_empty()).then_some((start, size, name))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_last_name_of_an_address_counts() {
        let text =
            "1000 20 first\nnonsense\n0x2000 10 Lpkg/Class;::method with spaces\n1010 8 later\n";
        let found = search(Cursor::new(text), &[0x2005, 0xfff, 0x1015, 0x1018, 0x1020]);
        let found: Vec<_> = found.iter().map(|(at, name)| (*at, name.as_str())).collect();
        let method = "Lpkg/Class;::method with spaces";
        assert_eq!(found, [(0x1015, "later"), (0x1018, "first"), (0x2005, method)]);
    }

    #[test]
    fn long_lines_and_names_are_bounded() {
        let text = format!("1 1 {}\n5 1 b", "a".repeat(10_000));
        for block in [1, 3, 7, BLOCK] {
            let text = BufReader::with_capacity(block, Cursor::new(&text));
            let found = search(text, &[1, 5]);
            assert_eq!((found[&1].len(), found[&5].as_str()), (LONGEST_NAME, "b"));
        }
    }

    /// Each line for each address would be 10¹⁰ names: hours.
    #[test]
    fn many_lines_may_contain_every_address() {
        let addresses: Vec<u64> = (0..50_000).collect();
        let text = "0 7fffffffffffffff A\n".repeat(200_000) + "7 1 B\n";
        let found = search(Cursor::new(text), &addresses);
        assert_eq!(found.len(), addresses.len());
        assert!(found.iter().all(|(at, name)| name == if *at == 7 { "B" } else { "A" }));
    }

    #[test]
    fn only_a_regular_file_of_the_processs_user_counts() {
        let top = tempfile::tempdir().unwrap();
        let (root, tmp) = (Root::at(top.path()), top.path().join("proc/7/root/tmp"));
        std::fs::create_dir_all(&tmp).unwrap();
        std::fs::write(top.path().join("proc/7/status"), "Name:\ta\nNSpid:\t7\t3\n").unwrap();
        std::fs::copy("/proc/self/stat", top.path().join("proc/7/stat")).unwrap();
        let (file, map) = (tmp.join("there"), tmp.join("perf-3.map"));
        std::fs::write(&file, "10 10 it\n").unwrap();
        assert!(names(&root, 7, &[0x10]).is_empty());
        symlink(&file, &map).unwrap();
        assert!(names(&root, 7, &[0x10]).is_empty(), "a link");
        std::fs::rename(&file, &map).unwrap();
        assert_eq!(names(&root, 7, &[0x10])[&0x10], "it");
        std::fs::hard_link(&map, &file).unwrap();
        assert!(names(&root, 7, &[0x10]).is_empty(), "it has another name");
        std::fs::remove_file(&file).unwrap();
        let before = std::time::SystemTime::now() - Duration::from_secs(40 * 365 * 86_400);
        File::options().write(true).open(&map).unwrap().set_modified(before).unwrap();
        assert!(names(&root, 7, &[0x10]).is_empty(), "it is older than the process");
    }

    #[test]
    fn a_map_that_was_left_behind_is_roots_and_newer_than_the_process() {
        let top = tempfile::tempdir().unwrap();
        let (root, tmp) = (Root::at(top.path()), top.path().join("tmp"));
        std::fs::create_dir(&tmp).unwrap();
        let map = tmp.join("perf-7.map");
        std::fs::write(&map, "10 10 it\n").unwrap();
        let is_roots = std::fs::metadata(&map).unwrap().uid() == 0;
        let now = Timestamp::now();
        assert_eq!(names_since(&root, 7, &[0x10], now).len(), usize::from(is_roots));
        assert!(names(&root, 7, &[0x10]).is_empty(), "there is no process");
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        File::options().write(true).open(&map).unwrap().set_modified(old).unwrap();
        assert!(names_since(&root, 7, &[0x10], now).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_parsed(bytes in proptest::collection::vec(0_u8.., 0..300)) {
            let _either = search(Cursor::new(&bytes), &[0, 1, u64::MAX]);
        }

        #[test]
        fn lines_are_found_across_blocks(lines in proptest::collection::vec("[a-c]{0,9}", 0..20)) {
            let text = lines.join("\n");
            let mut found: Vec<(u64, String)> = Vec::new();
            each_line(BufReader::with_capacity(4, text.as_bytes()), |at, line| {
                found.push((at, String::from_utf8(line.to_vec()).unwrap()));
            });
            let starts = lines.iter().scan(0, |at, line| {
                let start = *at;
                *at += line.len() as u64 + 1;
                Some((start, line.clone()))
            });
            let mut expected: Vec<(u64, String)> = starts.collect();
            if expected.last().is_some_and(|(_, line)| line.is_empty()) {
                expected.pop();
            }
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
