//! How long a million events take to explain. Goal: one second on one core.
//!
//! One iteration goes over a recording of three busy CPUs, 64 threads that wake each
//! other, and timers.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at, task};
use unjank_host::tracefs::{Context, EventKind, Trace};
use unjank_measure::stats::random::{Random, seeded};
use unjank_why::history::History;
use unjank_why::report::{About, Clocks, Explained, findings};

const EVENTS: usize = 1_000_000;
const CPUS: usize = 3;
const THREADS: u32 = 64;

/// Threads that compute, wake each other, are preempted and sleep.
fn recording() -> (Trace, u64) {
    use rand::RngExt as _;
    let mut chance: Random = seeded(1, "million");
    let mut running = [0; CPUS];
    let mut ready = Vec::new();
    let mut asleep: Vec<u32> = (1..=THREADS).collect();
    let (mut script, mut now, mut events) = (Script::new(), 0, 0);
    while events < EVENTS {
        now += chance.random_range(200..4_000_u64);
        let cpu = chance.random_range(0..CPUS);
        let current = running[cpu];
        match chance.random_range(0..5) {
            0 | 1 => {
                let next = if ready.is_empty() { 0 } else { ready.swap_remove(0) };
                if current == 0 && next == 0 {
                    continue;
                }
                running[cpu] = next;
                if current != 0 && chance.random_bool(0.3) {
                    ready.push(current);
                    script = script.runs(cpu, now, current, next);
                } else {
                    asleep.extend((current != 0).then_some(current));
                    script = script.sleeps(cpu, now, current, next);
                }
                events += 1;
            }
            2 | 3 if current != 0 && !asleep.is_empty() => {
                let woken = asleep.swap_remove(chance.random_range(0..asleep.len()));
                ready.push(woken);
                script = script.wakes(cpu, now, woken, cpu);
                events += 2;
            }
            _ if !asleep.is_empty() => {
                let woken = asleep.swap_remove(0);
                ready.push(woken);
                let waking = EventKind::Waking { task: task(woken), cpu };
                script = script.expires(cpu, now).happens(cpu, now, Context::Irq, waking);
                events += 2;
            }
            _ => {}
        }
    }
    (script.trace(), now)
}

fn million(criterion: &mut Criterion) {
    let (trace, end) = recording();
    let mut group = criterion.benchmark_group("why/million");
    group.throughput(Throughput::Elements(EVENTS as u64)).sample_size(10);
    group.bench_function("history", |bencher| bencher.iter(|| History::of(&trace)));
    group.bench_function("all that is said", |bencher| {
        bencher.iter_batched(
            || trace.clone(),
            |trace| {
                let window = (at(0), at(end));
                let launch = Explained::new(trace, ThreadId(7), window, Clocks::default());
                findings(&[launch], &About::default())
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, million);
criterion_main!(benches);
