//! Streamed requests: drawn, numbered and given to a policy in batches, so that memory depends on
//! the pages and not on the requests. Goal: a request of a billion costs at most 1.5 times one of
//! ten million. Ten and a hundred million requests by Zipf's law with exponent 1 for a million
//! pages, and room for 50 000; `-- long` adds a billion.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

mod on_cpu;

use std::time::{Duration, Instant};

use on_cpu::on_cpu;
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use unjank_cachesim::replacement::Visit;
use unjank_cachesim::{Dense, Policy, Replacement, Space};

const PAGES: u64 = 1_000_000;
const CAPACITY: u64 = 50_000;
const BATCH: usize = 1 << 14;

/// A stream of so many requests.
struct Stream(u64);

struct Times {
    misses: u64,
    drawn: Duration,
    numbered: Duration,
    simulated: Duration,
}

impl Visit for Stream {
    type Output = Times;

    fn visit<R: Replacement>(self, mut cache: R) -> Times {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let zipf = Zipf::new(PAGES as f64, 1.0).unwrap();
        let mut dense = Dense::new();
        let (mut keys, mut pages) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        let zero = Duration::ZERO;
        let mut times = Times { misses: 0, drawn: zero, numbered: zero, simulated: zero };
        let mut left = self.0;
        while left > 0 {
            let now = left.min(BATCH as u64);
            left -= now;
            let begin = Instant::now();
            keys.clear();
            // Scatters the popular pages.
            let page = |_| (zipf.sample(&mut random) as u64).wrapping_mul(2_654_435_761) % PAGES;
            keys.extend((0..now).map(page));
            let drawn = Instant::now();
            pages.clear();
            dense.pages(&keys, &mut pages).unwrap();
            let numbered = Instant::now();
            times.misses += cache.misses(pages.iter().copied());
            times.drawn += drawn - begin;
            times.numbered += numbered - drawn;
            times.simulated += numbered.elapsed();
        }
        times
    }
}

fn main() {
    let long = std::env::args().any(|argument| argument == "long");
    let millions: &[u64] = if long { &[10, 100, 1_000] } else { &[10, 100] };
    println!("ns per request; room for {CAPACITY} of {PAGES} pages");
    println!("policy    millions  misses   drawn  numbered  simulated  all, on a CPU   peak MiB");
    for policy in [Policy::Lru, "s3-fifo".parse().unwrap()] {
        for millions in millions {
            let requests = millions * 1_000_000;
            let begin = on_cpu();
            let times = policy.visit(Space::new(CAPACITY, PAGES).unwrap(), Stream(requests));
            let on_cpu = on_cpu() - begin;
            let ns = |time: Duration| time.as_secs_f64() * 1e9 / requests as f64;
            println!(
                "{policy:9} {millions:8} {:.5} {:7.1} {:9.1} {:10.1} {:14.1} {:10.1}",
                times.misses as f64 / requests as f64,
                ns(times.drawn),
                ns(times.numbered),
                ns(times.simulated),
                on_cpu * 1e9 / requests as f64,
                peak(),
            );
        }
    }
}

/// The peak memory of this process so far, in MiB (`proc_pid_status(5)`).
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim_end_matches("kB").trim().parse::<f64>().unwrap() / 1024.0
}
