//! The cost of recording one sample. Goal: at most 25 ns, without the clock
//! read, as recording happens between two measurements.
//!
//! The samples are drawn beforehand and spread over three decades, like real
//! latencies: a constant value would always hit the same cache line.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use unjank_host::{Nanos, Timestamp};
use unjank_measure::Series;
use unjank_measure::series::SLICES;

/// A power of two, so that wrapping around costs one `and`.
const SAMPLES: usize = 1 << 14;

/// Latencies from 1 µs to 1 ms, evenly on a logarithmic scale.
fn samples() -> Vec<Nanos> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..SAMPLES).map(|_| Nanos(10_f64.powf(random.random_range(3.0..6.0)) as u64)).collect()
}

fn record(criterion: &mut Criterion) {
    let samples = samples();
    let mut group = criterion.benchmark_group("series");
    group.throughput(Throughput::Elements(1));

    group.bench_function("record", |bencher| {
        let mut series = Series::new("bench");
        let mut next = 0;
        bencher.iter(|| {
            series.record(black_box(samples[next & (SAMPLES - 1)]));
            next += 1;
        });
    });

    group.bench_function("record_at, with course", |bencher| {
        let start = Timestamp::from_nanos(0);
        // 24 million periods of 1 ms: a slice ends every 100 000 samples.
        let mut series = Series::new("bench").with_course(start, Nanos::from_millis(24_000_000));
        let (mut at, mut next) = (start, 0);
        bencher.iter(|| {
            at = at + Nanos::from_millis(1);
            series.record_at(black_box(at), black_box(samples[next & (SAMPLES - 1)]));
            next += 1;
        });
    });

    group.bench_function("clock read", |bencher| bencher.iter(Timestamp::now));
    group.finish();
}

/// The longest pause that recording makes between two measurements, 240 times
/// in a run: every sample ends a slice.
fn end_of_slice(criterion: &mut Criterion) {
    let samples = samples();
    let start = Timestamp::from_nanos(0);
    let mut group = criterion.benchmark_group("series");
    group.throughput(Throughput::Elements(SLICES as u64));
    group.bench_function("end of 240 slices", |bencher| {
        bencher.iter_batched_ref(
            || Series::new("bench").with_course(start, Nanos(SLICES as u64)),
            |series| {
                for (i, sample) in samples.iter().take(SLICES).enumerate() {
                    series.record_at(start + Nanos(i as u64), black_box(*sample));
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, record, end_of_slice);
criterion_main!(benches);
