//! Miss-ratio curves: the exact one of LRU (goal: 10 million requests in 3 s), eight policies at
//! eight sizes against libCacheSim (goal: ten times as fast), and how often the intervals of
//! sampled curves cover the exact value (goal: 90 to 95 %).
//!
//! Arguments after `--` select parts: `lru`, `analyze`, `sweep`, `coverage`. The time includes
//! reading the file. libCacheSim runs one policy and size after the other, as its Python package
//! does; the sweep uses all CPUs, so the ratio of CPU times is printed as well.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

#[path = "../../cachesim/benches/peer/mod.rs"]
mod peer;
#[path = "../../cachesim/benches/zipf/mod.rs"]
mod zipf;

use std::time::Instant;

use peer::Peer;
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use unjank_cachesim::Policy;
use unjank_cachesim::mrc::{Algorithm, LruCurve, Sample, Sampler};
use unjank_measure::Silent;
use unjank_swap::analyze::{self, ACCESSES};
use unjank_swap::mrc::{self, Sizes};
use unjank_swap::trace::{self, Trace};

fn main() {
    let parts: Vec<String> = std::env::args().skip(1).filter(|part| part != "--bench").collect();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|other| other == part);
    if wanted("lru") {
        lru();
    }
    if wanted("analyze") {
        analyze();
    }
    if wanted("sweep") {
        sweep();
    }
    if wanted("coverage") {
        coverage();
    }
}

fn read() -> Sample {
    let mut trace = Trace::open(&[zipf::trace()], &trace::Options::default()).unwrap();
    let options = mrc::Options { only: ACCESSES.to_vec(), rate: 1.0, most: usize::MAX, seed: 0 };
    mrc::read(&mut trace, &options, &Silent).unwrap().unwrap().sample
}

fn lru() {
    let (begin, cpu) = (Instant::now(), cpu_seconds("self"));
    let sample = read();
    let reading = cpu_seconds("self") - cpu;
    let mut curve = LruCurve::new(sample.footprint());
    for page in sample.pages() {
        curve.request(*page);
    }
    let sum: u64 = curve.misses().sum();
    println!(
        "exact LRU curve of {} requests: {:.2} s; {:.2} s of CPU time, of which {reading:.2} s reading \
         (sum {sum})",
        zipf::REQUESTS,
        begin.elapsed().as_secs_f64(),
        cpu_seconds("self") - cpu
    );
}

fn analyze() {
    let (begin, cpu) = (Instant::now(), cpu_seconds("self"));
    let mut trace = Trace::open(&[zipf::trace()], &trace::Options::default()).unwrap();
    let options = analyze::Options::default();
    let analysis = analyze::run(&mut trace, "zipf", &options, &Silent).unwrap();
    println!(
        "analysis of {} requests: {:.2} s; {:.2} s of CPU time, {} bytes for each page",
        zipf::REQUESTS,
        begin.elapsed().as_secs_f64(),
        cpu_seconds("self") - cpu,
        analysis.bytes as u64 / analysis.skew.pages()
    );
}

/// The policies that both implement.
const POLICIES: [&str; 8] = ["fifo", "lru", "clock", "sieve", "s3-fifo", "2q", "arc", "lirs"];

fn sweep() {
    let policies: Vec<Algorithm> = POLICIES.iter().map(|name| name.parse().unwrap()).collect();
    let (begin, cpu) = (Instant::now(), cpu_seconds("self"));
    let sample = read();
    let capacities = Sizes::Count(8).capacities(sample.whole_footprint()).unwrap();
    let curves = mrc::sweep(&sample, &policies, &capacities, &Silent).unwrap();
    let (ours, cpu) = (begin.elapsed().as_secs_f64(), cpu_seconds("self") - cpu);
    println!("8 policies at 8 sizes, exact: {ours:.2} s, {cpu:.2} s of CPU time");
    let Some(mut peer) = Peer::new(&zipf::trace()) else { return };
    let (mut theirs, id) = (0.0, peer.process.id().to_string());
    let their_cpu = cpu_seconds(&id);
    for curve in &curves {
        let (mut seconds, mut apart) = (0.0, 0.0_f64);
        for point in &curve.points {
            // A hash table of about the size of the cache is fastest.
            let hashpower = (point.capacity as f64).log2().ceil().max(17.0) as u32;
            let name = curve.algorithm.to_string();
            let (took, ratio) = peer.run(&name, point.capacity, hashpower).unwrap();
            seconds += took;
            apart = apart.max((ratio - point.estimate.miss_ratio).abs());
        }
        println!(
            "  libCacheSim {:8} {seconds:7.1} s, ratios at most {apart:.5} apart",
            curve.algorithm
        );
        theirs += seconds;
    }
    println!(
        "libCacheSim: {theirs:.1} s; ratio {:.1}, of CPU time {:.1}",
        theirs / ours,
        (cpu_seconds(&id) - their_cpu) / cpu
    );
}

/// CPU time of all threads of a process so far.
fn cpu_seconds(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // utime and stime, in ticks of 10 ms: proc_pid_stat(5).
    let ticks = |index: usize| fields[index].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}

const FOOTPRINT: u64 = 100_000;
const LENGTH: u64 = 1_500_000;
/// Sampling rates, numbers of seeds, and sizes of the cache.
const CASES: [(f64, u64, &[u64]); 2] = [(0.02, 60, &[2_500, 10_000, 40_000]), (0.1, 60, &[10_000])];

/// Requests of one kind of workload.
fn workload(kind: &str) -> Vec<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let zipf = |exponent: f64| Zipf::new(FOOTPRINT as f64, exponent).unwrap();
    let (flat, usual, steep) = (zipf(0.6), zipf(1.0), zipf(1.3));
    (0..LENGTH)
        .map(|at| match kind {
            "zipf 0.6" => flat.sample(&mut random) as u64,
            "zipf 1.3" => steep.sample(&mut random) as u64,
            // A fifth of the requests loop.
            "loop" if random.next_u64().is_multiple_of(5) => 1_000_000 + at % 40_000,
            // The set of popular pages changes, five times.
            "shifting" => {
                (usual.sample(&mut random) as u64 + at / (LENGTH / 5) * 20_000) % FOOTPRINT
            }
            // Runs of 64 neighbours, as from readahead and apps.
            "runs" => usual.sample(&mut random) as u64 / 64 * 64 + at % 64,
            // Zipf 1.0, and the other four fifths of `loop`.
            _ => usual.sample(&mut random) as u64,
        })
        .collect()
}

fn coverage() {
    println!(
        "share of seeds whose interval covers the exact ratio (its half width, and the mean error, in \
         points)"
    );
    let policies = ["lru", "clock", "sieve", "s3-fifo", "2q", "arc", "lirs", "w-tinylfu"];
    let policies: Vec<Policy> = policies.iter().map(|name| name.parse().unwrap()).collect();
    let (mut all, mut held) = (0, 0);
    let kinds = ["zipf 0.6", "zipf 1.0", "zipf 1.3", "loop", "shifting", "runs"];
    // Each kind has its own seeds, so that the errors are independent.
    for (kind, first) in kinds.into_iter().zip((0..).step_by(1_000)) {
        let keys = workload(kind);
        let of = |rate: f64, seed: u64| {
            let mut sampler = Sampler::new(rate, seed);
            keys.chunks(1 << 16).for_each(|keys| sampler.extend(keys).unwrap());
            sampler.finish()
        };
        let whole = of(1.0, 0);
        for (rate, seeds, capacities) in CASES {
            let samples: Vec<Sample> =
                (first..first + seeds).into_par_iter().map(|seed| of(rate, seed)).collect();
            for capacity in capacities.iter().copied() {
                print!("{kind:9} {:3.0} % {capacity:6}:", rate * 100.0);
                for policy in &policies {
                    let go_on = || false;
                    let exact = whole.miss_ratio(*policy, capacity, &go_on).unwrap().unwrap();
                    let errors: Vec<(f64, [f64; 2])> = samples
                        .par_iter()
                        .filter_map(|sample| {
                            let estimate = sample.estimate(*policy, capacity, &go_on).unwrap()?;
                            Some((estimate.miss_ratio - exact, estimate.interval?))
                        })
                        .collect();
                    let n = errors.len() as f64;
                    let covers = |[low, high]: [f64; 2]| low <= exact && exact <= high;
                    let covered = errors.iter().filter(|(_, interval)| covers(*interval)).count();
                    let width = errors.iter().map(|(_, [low, high])| high - low).sum::<f64>() / n;
                    let bias = errors.iter().map(|(error, _)| error).sum::<f64>() / n;
                    print!(
                        " {:3.0} % ({:.1}, {:+.1})",
                        covered as f64 / n * 100.0,
                        width * 50.0,
                        bias * 100.0
                    );
                    all += errors.len();
                    held += covered;
                }
                println!();
            }
        }
    }
    println!("all: {:.1} % of {all}", held as f64 / all as f64 * 100.0);
}
