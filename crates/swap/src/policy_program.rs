//! A replacement policy in a program of the user's own, in any language.
//!
//! The program gets requests and answers them, as 32-bit numbers in the byte order of the machine:
//!
//! ```text
//! standard input:   CAPACITY FOOTPRINT (COUNT PAGE…)…
//! standard output:  (ANSWER…)…
//! ```
//!
//! The cache has room for CAPACITY pages; page numbers are below FOOTPRINT. After each block of
//! COUNT requests it gives as many answers, and waits for the next block. When its input ends, it
//! has five seconds to exit; then its process group is killed. An answer is [`HIT`], [`ROOM`], or
//! the page that left for the requested one: that one itself, if it does not come into the cache.
//! Every answer is checked: it is a hit exactly if the page is there, only pages leave that are
//! there, and no more are there than fit.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};

use unjank_cachesim::mrc::ExternalPolicy;
use unjank_cachesim::{Page, Space};
use unjank_host::process::group::ProcessGroup;
use unjank_host::wait::until_readable;
use unjank_host::{Nanos, Timestamp};

/// The answer to a request for a page that is in the cache.
pub const HIT: u32 = u32::MAX;
/// The answer to a request for a page for which there is room.
pub const ROOM: u32 = u32::MAX - 1;

/// The requests in a block: the block and its answers fit into the buffers of pipes (64 KiB), so that
/// neither side ever waits for the other to read.
const BLOCK: usize = 4096;
/// The time between two checks for a stop.
const LOOK: Nanos = Nanos::from_millis(100);
/// The time between two checks whether the program has ended, and the longest time for that.
const END: [Nanos; 2] = [Nanos::from_millis(1), Nanos::from_millis(5_000)];

/// A program that is a replacement policy.
#[derive(Debug)]
pub struct PolicyProgram {
    name: String,
    command: Vec<OsString>,
}

impl PolicyProgram {
    /// A program with its arguments. `name` is how the user has written it.
    pub fn new(name: impl Into<String>, command: Vec<OsString>) -> Self {
        Self { name: name.into(), command }
    }
}

impl ExternalPolicy for PolicyProgram {
    fn name(&self) -> &str {
        &self.name
    }

    fn misses(
        &self,
        space: Space,
        requests: &mut dyn Iterator<Item = Page>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, String> {
        let mut cache = CheckedCache::new(space);
        let wrong = |request: u64, what: String| {
            let [capacity, footprint] = [space.capacity(), space.footprint()];
            format!(
                "{}, with room for {capacity} of {footprint} pages, request {request}: {what}",
                self.name
            )
        };
        let mut running = Running::start(&self.command, space).map_err(|what| wrong(0, what))?;
        let (mut misses, mut request) = (0, 0);
        loop {
            let block: Vec<Page> = requests.take(BLOCK).collect();
            if block.is_empty() {
                running.end(stop);
                return Ok(Some(misses));
            }
            let answers = running.answers(&block, stop).map_err(|what| wrong(request, what))?;
            let Some(answers) = answers else { return Ok(None) };
            for (page, answer) in block.into_iter().zip(answers) {
                let is_miss = cache.take(page, answer).map_err(|what| wrong(request, what))?;
                misses += u64::from(is_miss);
                request += 1;
            }
        }
    }
}

/// The program for one cache.
struct Running {
    group: ProcessGroup,
    requests: PipeWriter,
    answers: PipeReader,
}

impl Running {
    fn start(command: &[OsString], space: Space) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("there is no command")?;
        let pipe = || io::pipe().map_err(|why| format!("no pipe could be made: {why}"));
        let ((stdin, requests), (answers, stdout)) = (pipe()?, pipe()?);
        let mut command = Command::new(program);
        command.args(arguments).stdin(stdin).stdout(stdout).stderr(Stdio::inherit());
        let group = ProcessGroup::start(&mut command).map_err(|why| why.to_string())?;
        let mut running = Self { group, requests, answers };
        running.send(&[space.capacity(), space.footprint()])?;
        Ok(running)
    }

    /// Closes its input and waits for it to exit, so that it can finish its own output.
    fn end(self, stop: &dyn Fn() -> bool) {
        let Self { group, requests, answers: _open } = self;
        drop(requests);
        let [look, longest] = END;
        let until = Timestamp::now() + longest;
        while group.is_alive() && Timestamp::now() < until && !stop() {
            (Timestamp::now() + look).sleep_until();
        }
    }

    fn send(&mut self, numbers: &[u32]) -> Result<(), String> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        self.requests.write_all(&bytes).map_err(|why| match why.kind() {
            io::ErrorKind::BrokenPipe => "it has closed its input".to_owned(),
            _ => format!("it cannot be written to: {why}"),
        })
    }

    /// The answers to a block; `None` after a stop.
    fn answers(
        &mut self,
        block: &[Page],
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<u32>>, String> {
        let mut numbers = vec![block.len() as u32];
        numbers.extend(block.iter().map(|page| page.0));
        self.send(&numbers)?;
        let mut bytes = vec![0; block.len() * size_of::<u32>()];
        let mut read = 0;
        while read < bytes.len() {
            if stop() {
                return Ok(None);
            }
            let until = Some(Timestamp::now() + LOOK);
            let [is_readable] = until_readable([Some(self.answers.as_fd())], until)
                .map_err(|why| why.to_string())?;
            if !is_readable {
                continue;
            }
            match self.answers.read(&mut bytes[read..]) {
                Ok(0) => return Err("it has closed its output".to_owned()),
                Ok(more) => read += more,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(format!("it cannot be read from: {why}")),
            }
        }
        let numbers = bytes.chunks_exact(size_of::<u32>());
        Ok(Some(
            numbers.map(|four| u32::from_ne_bytes([four[0], four[1], four[2], four[3]])).collect(),
        ))
    }
}

/// The pages that are in the cache by the answers so far.
struct CheckedCache {
    there: Vec<bool>,
    pages: u32,
    capacity: u32,
}

impl CheckedCache {
    fn new(space: Space) -> Self {
        let there = vec![false; space.footprint() as usize];
        Self { there, pages: 0, capacity: space.capacity() }
    }

    /// Takes an answer. Returns whether it is a miss.
    fn take(&mut self, page: Page, answer: u32) -> Result<bool, String> {
        let is_there = self.there[page.index()];
        let number = page.0;
        match answer {
            HIT if is_there => return Ok(false),
            HIT => return Err(format!("a hit for page {number}, which is not there")),
            _ if is_there => return Err(format!("a miss for page {number}, which is there")),
            ROOM if self.pages < self.capacity => self.pages += 1,
            ROOM => return Err(format!("none left for page {number}, but the cache is full")),
            left if left == number => return Ok(true),
            left => {
                let leaves = self.there.get_mut(left as usize).filter(|there| **there);
                let leaves =
                    leaves.ok_or_else(|| format!("page {left} left, which is not there"))?;
                *leaves = false;
            }
        }
        self.there[page.index()] = true;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(answers: &[(u32, u32)]) -> Result<Vec<bool>, String> {
        let mut cache = CheckedCache::new(Space::new(2, 5).unwrap());
        answers.iter().map(|(page, answer)| cache.take(Page(*page), *answer)).collect()
    }

    #[test]
    fn answers_are_checked() {
        let right = [(0, ROOM), (1, ROOM), (0, HIT), (2, 2), (2, 0), (0, 1), (2, HIT)];
        assert_eq!(taken(&right), Ok(vec![true, true, false, true, true, true, false]));
        for (answers, what) in [
            (&[(3, HIT)][..], "a hit for page 3, which is not there"),
            (&[(3, ROOM), (3, ROOM)], "a miss for page 3, which is there"),
            (&[(3, ROOM), (3, 3)], "a miss for page 3, which is there"),
            (&[(0, ROOM), (1, ROOM), (2, ROOM)], "none left for page 2, but the cache is full"),
            (&[(0, ROOM), (1, 4)], "page 4 left, which is not there"),
            (&[(0, ROOM), (1, 5)], "page 5 left, which is not there"),
        ] {
            assert_eq!(taken(answers), Err(what.to_owned()));
        }
    }

    fn misses_of(command: &[&str], stop: bool) -> Result<Option<u64>, String> {
        let command = command.iter().map(OsString::from).collect();
        let program = PolicyProgram::new("exec:mine", command);
        let space = Space::new(2, 5).unwrap();
        program.misses(space, &mut (0..9).map(|at| Page(at % 5)), &|| stop)
    }

    #[test]
    fn a_program_that_does_not_answer_is_named() {
        let said = |command: &[&str]| misses_of(command, false).unwrap_err();
        let place = "exec:mine, with room for 2 of 5 pages, request 0: ";
        for command in [&["true"][..], &["sh", "-c", "exec < /dev/null"]] {
            let said = said(command);
            let what = said.strip_prefix(place).unwrap();
            assert!(
                ["it has closed its output", "it has closed its input"].contains(&what),
                "{said}"
            );
        }
        assert!(said(&["/nowhere"]).contains("/nowhere"), "{}", said(&["/nowhere"]));
        // It echoes the capacity, which is not a page in the cache.
        assert!(said(&["cat"]).ends_with("page 2 left, which is not there"), "{}", said(&["cat"]));
        assert_eq!(misses_of(&["sleep", "60"], true), Ok(None), "a stop ends it");
    }

    /// A cache that admits nothing: each page leaves at once.
    const NOTHING: &str = "import sys, struct
read = sys.stdin.buffer.read
read(8)
while header := read(4):
    (count,) = struct.unpack('=I', header)
    sys.stdout.buffer.write(read(4 * count))
    sys.stdout.flush()
open(sys.argv[1], 'w').write('ended')
";

    #[test]
    fn a_program_may_do_something_at_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().join("mark");
        let command = ["python3", "-c", NOTHING, mark.to_str().unwrap()];
        assert_eq!(misses_of(&command, false), Ok(Some(9)));
        assert_eq!(std::fs::read_to_string(mark).unwrap(), "ended");
    }
}
