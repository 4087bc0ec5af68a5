//! Slices: spans that programs name themselves, by lines in `trace_marker` or by events of
//! Perfetto's library. Android's atrace writes such lines (`system/core/libcutils/trace-dev.cpp`),
//! and so do browsers and game engines.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::clock::Timestamp;
use crate::sched::ThreadId;

/// A span that a program named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Its name.
    pub name: Arc<str>,
    /// The process that it belongs to, as the program says; 0 if it does not.
    pub process: u32,
    /// The thread that wrote its beginning; `None` if the trace has only the process.
    pub thread: Option<ThreadId>,
    /// Whether it may end on another thread, or overlap others of its thread.
    pub is_async: bool,
    /// Its beginning.
    pub from: Timestamp,
    /// Its end; equal to `from` for a moment, `None` if the trace does not have it.
    pub to: Option<Timestamp>,
}

/// A line in `trace_marker`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark<'a> {
    /// `B|PROCESS|NAME`: a slice of this thread begins.
    Begin(u32, &'a str),
    /// `E|PROCESS`, `E`: the last slice of this thread that has not ended ends.
    End,
    /// `S|PROCESS|NAME|COOKIE`: a slice begins that may end on another thread.
    AsyncBegin(u32, &'a str, i64),
    /// `F|PROCESS|NAME|COOKIE`: it ends.
    AsyncEnd(u32, &'a str, i64),
    /// `G|PROCESS|TRACK|NAME|COOKIE`: a slice begins on a track.
    TrackBegin(u32, &'a str, &'a str, i64),
    /// `H|PROCESS|TRACK|COOKIE`: it ends.
    TrackEnd(u32, &'a str, i64),
    /// `I|PROCESS|NAME`, `N|PROCESS|TRACK|NAME`: a moment.
    Instant(u32, &'a str),
}

impl<'a> Mark<'a> {
    /// Parses a line; `None` for counters and other texts.
    fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim_end_matches(['\n', '\0']);
        let (kind, rest) = line.split_once('|').unwrap_or((line, ""));
        if kind == "E" {
            return Some(Self::End);
        }
        let (process, rest) = rest.split_once('|')?;
        let process = process.parse().ok()?;
        match kind {
            // The name may contain the separator.
            "B" => Some(Self::Begin(process, rest)),
            "S" | "F" => {
                let (name, cookie) = rest.rsplit_once('|')?;
                Self::of_async(kind == "S", process, name, cookie)
            }
            "I" => Some(Self::Instant(process, rest)),
            "N" => Some(Self::Instant(process, rest.split_once('|')?.1)),
            // On a track that has a name: `G|PROCESS|TRACK|NAME|COOKIE`, `H|PROCESS|TRACK|COOKIE`,
            // which may have the name as well.
            "G" => {
                let (rest, cookie) = rest.rsplit_once('|')?;
                let (track, name) = rest.split_once('|')?;
                Some(Self::TrackBegin(process, track, name, cookie.parse().ok()?))
            }
            "H" => {
                let (rest, cookie) = rest.rsplit_once('|')?;
                let track = rest.split_once('|').map_or(rest, |(track, _)| track);
                Some(Self::TrackEnd(process, track, cookie.parse().ok()?))
            }
            _ => None,
        }
    }

    fn of_async(begins: bool, process: u32, name: &'a str, cookie: &str) -> Option<Self> {
        let cookie = cookie.parse().ok()?;
        Some(if begins {
            Self::AsyncBegin(process, name, cookie)
        } else {
            Self::AsyncEnd(process, name, cookie)
        })
    }
}

/// The place of a slice: slices of one lane are nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// The lines of a thread.
    Thread(ThreadId),
    /// A track of Perfetto's library, by its number.
    Track(u64),
    /// The events of a writer without a track, by its number.
    Writer(u64),
}

/// The owner of a slice, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceOwner {
    /// The process; 0 if it is not known.
    pub process: u32,
    /// The thread.
    pub thread: Option<ThreadId>,
}

/// A mark with its place, and its name as a number.
#[derive(Debug, Clone, Copy)]
struct Marked {
    at: Timestamp,
    lane: Lane,
    thread: Option<ThreadId>,
    process: u32,
    name: u32,
    /// By what an asynchronous slice is found again: its name, or its track.
    key: u32,
    cookie: i64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Begin,
    End,
    AsyncBegin,
    AsyncEnd,
    Instant,
}

/// Collects marks in any order, and joins beginnings and ends.
#[derive(Debug, Default)]
pub struct SliceReader {
    marks: Vec<Marked>,
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32, RandomState>,
    /// The sum of the lengths of `names`.
    named: usize,
    dropped: u64,
}

/// The most marks that are kept. Each takes 64 bytes.
const MOST_MARKS: usize = 10_000_000;
/// The longest sum of all names, in bytes.
const MOST_NAMED: usize = 64 << 20;

impl SliceReader {
    /// Adds a line that a thread wrote.
    pub fn line(&mut self, at: Timestamp, thread: ThreadId, line: &str) {
        let Some(mark) = Mark::parse(line) else { return };
        let (kind, process, [name, key], cookie) = match mark {
            Mark::Begin(process, name) => (Kind::Begin, process, [name; 2], 0),
            Mark::End => (Kind::End, 0, [""; 2], 0),
            Mark::AsyncBegin(process, name, cookie) => {
                (Kind::AsyncBegin, process, [name; 2], cookie)
            }
            Mark::AsyncEnd(process, name, cookie) => (Kind::AsyncEnd, process, [name; 2], cookie),
            Mark::TrackBegin(process, track, name, cookie) => {
                (Kind::AsyncBegin, process, [name, track], cookie)
            }
            Mark::TrackEnd(process, track, cookie) => (Kind::AsyncEnd, process, [track; 2], cookie),
            Mark::Instant(process, name) => (Kind::Instant, process, [name; 2], 0),
        };
        let owner = SliceOwner { process, thread: Some(thread) };
        self.mark(at, Lane::Thread(thread), owner, (kind, [name, key], cookie));
    }

    /// Adds the beginning of a slice on a lane.
    pub fn begin(&mut self, at: Timestamp, lane: Lane, owner: SliceOwner, name: &str) {
        self.mark(at, lane, owner, (Kind::Begin, [name; 2], 0));
    }

    /// Adds the end of the last slice on a lane that has not ended.
    pub fn end(&mut self, at: Timestamp, lane: Lane) {
        let nobody = SliceOwner { process: 0, thread: None };
        self.mark(at, lane, nobody, (Kind::End, [""; 2], 0));
    }

    /// Adds a moment on a lane.
    pub fn instant(&mut self, at: Timestamp, lane: Lane, owner: SliceOwner, name: &str) {
        self.mark(at, lane, owner, (Kind::Instant, [name; 2], 0));
    }

    fn mark(
        &mut self,
        at: Timestamp,
        lane: Lane,
        SliceOwner { process, thread }: SliceOwner,
        (kind, [name, key], cookie): (Kind, [&str; 2], i64),
    ) {
        let has_room = self.marks.len() < MOST_MARKS;
        let [Some(name), Some(key)] = [name, key].map(|it| self.number(it).filter(|_| has_room))
        else {
            self.dropped += 1;
            return;
        };
        self.marks.push(Marked { at, lane, thread, process, name, key, cookie, kind });
    }

    /// Marks that were left out, because the limits on their number or length were reached.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The number of a name; `None` if there is no room for it.
    fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(&number) = self.numbers.get(name) {
            return Some(number);
        }
        let named = self.named + name.len();
        if named > MOST_NAMED {
            return None;
        }
        self.named = named;
        let number = u32::try_from(self.names.len()).ok()?;
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        Some(number)
    }

    /// All slices, in order of their beginnings.
    pub fn finish(mut self) -> Vec<Slice> {
        self.marks.sort_by_key(|mark| mark.at);
        let mut slices: Vec<Slice> = Vec::new();
        // Places in `slices`.
        let mut open: HashMap<Lane, Vec<usize>> = HashMap::new();
        let mut open_async: HashMap<(u32, u32, i64), usize> = HashMap::new();
        for mark in &self.marks {
            let Some(name) = self.names.get(mark.name as usize) else { continue };
            let is_async = matches!(mark.kind, Kind::AsyncBegin | Kind::AsyncEnd);
            let slice = |to| Slice {
                name: Arc::clone(name),
                process: mark.process,
                thread: mark.thread,
                is_async,
                from: mark.at,
                to,
            };
            let key = (mark.process, mark.key, mark.cookie);
            match mark.kind {
                Kind::Begin => {
                    open.entry(mark.lane).or_default().push(slices.len());
                    slices.push(slice(None));
                }
                Kind::AsyncBegin => {
                    open_async.insert(key, slices.len());
                    slices.push(slice(None));
                }
                Kind::Instant => slices.push(slice(Some(mark.at))),
                Kind::End => {
                    let last = open.get_mut(&mark.lane).and_then(Vec::pop);
                    if let Some(slice) = last.and_then(|place| slices.get_mut(place)) {
                        slice.to = Some(mark.at);
                    }
                }
                Kind::AsyncEnd => {
                    let begun = open_async.remove(&key);
                    if let Some(slice) = begun.and_then(|place| slices.get_mut(place)) {
                        slice.to = Some(mark.at);
                    }
                }
            }
        }
        slices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: ThreadId = ThreadId(7);
    const OTHER: ThreadId = ThreadId(9);

    fn slices(lines: &[(u64, ThreadId, &str)]) -> Vec<(String, u32, u64, Option<u64>)> {
        let mut reader = SliceReader::default();
        for &(at, thread, line) in lines {
            reader.line(Timestamp::from_nanos(at), thread, line);
        }
        let slices = reader.finish().into_iter();
        let nanos = |at: Timestamp| at.as_nanos();
        slices
            .map(|it| (it.name.to_string(), it.process, nanos(it.from), it.to.map(nanos)))
            .collect()
    }

    #[test]
    fn slices_of_a_thread_nest_and_those_of_others_do_not_end_them() {
        // As they come from buffers of two CPUs.
        let lines = [
            (10, APP, "B|5|outer"),
            (40, APP, "E|5"),
            (20, APP, "B|5|with|separator\n"),
            (30, APP, "E"),
            (25, OTHER, "E|5"),
            (50, APP, "B|5|never ends"),
            (60, APP, "C|5|counter|3"),
            (70, OTHER, "some text"),
        ];
        let found = slices(&lines);
        let expected =
            [("outer", 10, Some(40)), ("with|separator", 20, Some(30)), ("never ends", 50, None)];
        assert_eq!(found, expected.map(|(name, from, to)| (name.to_owned(), 5, from, to)));
    }

    #[test]
    fn an_asynchronous_slice_ends_on_any_thread_by_its_name_and_cookie() {
        let lines = [
            (10, APP, "S|5|launchingActivity#1|0"),
            (11, APP, "S|5|launchingActivity#1|1"),
            (12, APP, "G|5|track|other|7"),
            (13, APP, "G|5|track|ended|8"),
            (20, OTHER, "H|5|track|8"),
            (30, OTHER, "F|5|launchingActivity#1|0"),
            (31, OTHER, "F|6|launchingActivity#1|1"),
            (32, OTHER, "I|5|launchingActivity#1:completed-cold:a.b"),
            (33, OTHER, "N|5|track|moment"),
        ];
        let found = slices(&lines);
        let ends: Vec<_> = found.iter().map(|(name, _, _, to)| (name.as_str(), *to)).collect();
        let expected = [
            ("launchingActivity#1", Some(30)),
            ("launchingActivity#1", None),
            ("other", None),
            ("ended", Some(20)),
            ("launchingActivity#1:completed-cold:a.b", Some(32)),
            ("moment", Some(33)),
        ];
        assert_eq!(ends, expected);
    }

    proptest::proptest! {
        #[test]
        fn any_lines_are_read(lines in proptest::collection::vec((0_u64..50, 0_u32..4, "[BEFSINGH|0-9a]{0,12}"), 0..60)) {
            let mut reader = SliceReader::default();
            for (at, thread, line) in &lines {
                reader.line(Timestamp::from_nanos(*at), ThreadId(*thread), line);
            }
            let slices = reader.finish();
            assert!(slices.len() <= lines.len());
            assert!(slices.is_sorted_by_key(|slice| slice.from));
            assert!(slices.iter().all(|slice| slice.to.is_none_or(|to| to >= slice.from)));
        }
    }
}
