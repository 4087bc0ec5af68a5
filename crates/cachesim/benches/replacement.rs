//! Replacement policies: requests per second in memory (goal: 60 million for FIFO, LRU,
//! CLOCK, SIEVE and S3-FIFO), and from the file on against libCacheSim (goal: twice as fast).
//!
//! 10 million requests by Zipf's law with exponent 1 for a million pages, and room for 50 000.
//! Prints the best of several rounds that alternate between the policies; for libCacheSim the best
//! of three sizes of its hash table. Without libcachesim (see `make bench`) its columns are
//! missing.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

mod peer;
mod zipf;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use peer::Peer;
use zipf::{PAGES, REQUESTS};

use unjank_cachesim::bounds::{Belady, NextUses};
use unjank_cachesim::mrc::LruCurve;
use unjank_cachesim::replacement::Visit;
use unjank_cachesim::{Dense, Page, Policy, Replacement, Space};

const CAPACITY: u32 = 50_000;
const ROUNDS: usize = 2;
const HASHPOWERS: [u32; 3] = [17, 20, 24];

/// The shortest time so far and the miss ratio.
#[derive(Clone, Copy)]
struct Best {
    seconds: f64,
    miss_ratio: f64,
}

impl Best {
    const NONE: Self = Self { seconds: f64::INFINITY, miss_ratio: f64::NAN };

    fn of(&mut self, run: impl FnOnce() -> f64) {
        let begin = Instant::now();
        let miss_ratio = run();
        self.with((begin.elapsed().as_secs_f64(), miss_ratio));
    }

    fn with(&mut self, (seconds, miss_ratio): (f64, f64)) {
        *self = Self { seconds: self.seconds.min(seconds), miss_ratio };
    }

    fn rate(self) -> f64 {
        REQUESTS as f64 / self.seconds / 1e6
    }
}

/// A simulation that returns the miss ratio of requests.
type Run = Box<dyn Fn(&[Page]) -> f64>;

struct Row {
    name: &'static str,
    run: Run,
    memory: Best,
    file: Best,
    peer: Best,
}

impl Row {
    fn new(name: &'static str, run: impl Fn(&[Page]) -> f64 + 'static) -> Self {
        Self { name, run: Box::new(run), memory: Best::NONE, file: Best::NONE, peer: Best::NONE }
    }

    fn print(&self) {
        print!("{:15} {:.5} {:10.1}", self.name, self.memory.miss_ratio, self.memory.rate());
        if self.file.seconds.is_finite() {
            print!(" {:10.1}", self.file.rate());
        }
        if self.peer.seconds.is_finite() {
            let ratio = self.file.rate() / self.peer.rate();
            print!(" | {:18.5} {:10.1} {ratio:6.1}x", self.peer.miss_ratio, self.peer.rate());
        }
        println!();
    }
}

fn rows() -> Vec<Row> {
    let policy = |policy: &Policy| {
        let policy = *policy;
        Row::new(policy.name(), move |pages| misses(policy, pages))
    };
    let mut rows: Vec<Row> = Policy::ALL.iter().map(policy).collect();
    for (name, bound) in [("belady", Belady::Demand), ("belady, bypass", Belady::Bypass)] {
        rows.push(Row::new(name, move |pages| {
            let uses = NextUses::of(pages.iter().copied()).unwrap();
            bound.run(&uses, CAPACITY).miss_ratio()
        }));
    }
    rows.push(Row::new("LRU curve", |pages| {
        let mut curve = LruCurve::new(PAGES as u32);
        for page in pages {
            curve.request(*page);
        }
        curve.misses().nth(CAPACITY as usize).unwrap() as f64 / pages.len() as f64
    }));
    rows
}

fn main() {
    let file = zipf::trace();
    // `-- memory` skips the slow part.
    let files = !std::env::args().any(|argument| argument == "memory");
    let mut peer = files.then(|| Peer::new(&file)).flatten();
    let pages = read_pages(&file);
    let (mut mapping, mut rows) = (Best::NONE, rows());
    for _ in 0..ROUNDS {
        mapping.of(|| read_pages(&file).len() as f64);
        for row in &mut rows {
            row.memory.of(|| (row.run)(&pages));
            if !files {
                continue;
            }
            row.file.of(|| (row.run)(&read_pages(&file)));
            for hashpower in HASHPOWERS {
                if let Some(seen) =
                    peer.as_mut().and_then(|peer| peer.run(row.name, CAPACITY.into(), hashpower))
                {
                    row.peer.with(seen);
                }
            }
        }
    }
    println!("million requests a second; {REQUESTS} requests, {PAGES} pages, room for {CAPACITY}");
    println!("reading and numbering alone: {:.1}", mapping.rate());
    println!(
        "policy           misses  in memory  from file | libCacheSim misses  from file   ratio"
    );
    rows.iter().for_each(Row::print);
}

fn misses(policy: Policy, pages: &[Page]) -> f64 {
    struct Misses<'a>(&'a [Page]);
    impl Visit for Misses<'_> {
        type Output = u64;
        fn visit<R: Replacement>(self, mut cache: R) -> u64 {
            cache.misses(self.0.iter().copied())
        }
    }
    let space = Space::new(CAPACITY.into(), PAGES).unwrap();
    policy.visit(space, Misses(pages)) as f64 / pages.len() as f64
}

fn read_pages(file: &Path) -> Vec<Page> {
    let mut file = File::open(file).unwrap();
    let mut pages = Vec::with_capacity(file.metadata().unwrap().len() as usize / 24);
    let mut dense = Dense::new();
    let mut buffer = vec![0; 24 * 4_096];
    let mut keys = Vec::with_capacity(4_096);
    loop {
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read(&mut buffer[filled..]).unwrap() {
                0 => break,
                bytes => filled += bytes,
            }
        }
        let (records, _) = buffer[..filled].as_chunks::<24>();
        keys.clear();
        keys.extend(records.iter().map(|record| {
            u64::from_le_bytes(record[4..12].try_into().expect("it has eight bytes"))
        }));
        dense.pages(&keys, &mut pages).unwrap();
        if filled < buffer.len() {
            return pages;
        }
    }
}
