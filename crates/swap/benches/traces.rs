//! The speed of reading traces from memory on one core. Goals: 60 million records of
//! oracleGeneral per second, and 5 million lines of comma-separated values per second.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use unjank_swap::trace::{Format, Options, Trace};

const EVENTS: u64 = 200_000;

/// Pages of a trace, from Knuth's linear congruential generator.
fn pages() -> impl Iterator<Item = u64> {
    let mut state = 1_u64;
    (0..EVENTS).map(move |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 44
    })
}

fn oracle_general() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (n, page) in pages().enumerate() {
        bytes.extend((n as u32 / 1000).to_le_bytes());
        bytes.extend(page.to_le_bytes());
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend((-1_i64).to_le_bytes());
    }
    bytes
}

fn lines(mut line: impl FnMut(&mut String, u64, u64)) -> Vec<u8> {
    let mut text = String::new();
    for (n, page) in pages().enumerate() {
        line(&mut text, n as u64, page);
    }
    text.into_bytes()
}

fn traces() -> Vec<(Format, Vec<u8>)> {
    let mut named = b"time_ns,process,pid,space,page,operation,backing\n".to_vec();
    named.extend(lines(|text, n, page| {
        let _ = writeln!(text, "{},game,{},254:0,{page},read,unknown", n * 1000, 100 + n / 50 % 4);
    }));
    vec![
        (Format::OracleGeneral, oracle_general()),
        (Format::Csv, named),
        (
            Format::Mobile,
            lines(|text, n, page| {
                let _ = writeln!(text, "com.game,sda,R,{},8,1698765432.{n:06}", page * 8);
            }),
        ),
        (
            Format::Msr,
            lines(|text, n, page| {
                let at = 128_166_372_003_061_629 + n;
                let _ = writeln!(text, "{at},hm,1,Read,{},4096,413", page * 4096);
            }),
        ),
        (
            Format::Blkparse,
            lines(|text, n, page| {
                let _ = writeln!(
                    text,
                    "  8,0    3 {n:8}     0.{n:09}   697  D   W {} + 8 [kjournald]",
                    page * 8
                );
            }),
        ),
        (
            Format::Ftrace,
            lines(|text, n, page| {
                let _ = writeln!(
                    text,
                    "            bash-1977    [000] .... 17284.{n:06}: block_rq_issue: 8,0 R 4096 () {} + 8 [bash]",
                    page * 8
                );
            }),
        ),
    ]
}

fn readers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("traces");
    group.throughput(Throughput::Elements(EVENTS));
    for (format, bytes) in traces() {
        let bytes: Arc<[u8]> = bytes.into();
        let options = Options { format: Some(format), ..Options::default() };
        let mut events = Vec::with_capacity(1 << 14);
        group.bench_function(format.name(), |bencher| {
            bencher.iter_batched(
                || Trace::from_memory("bench", Arc::clone(&bytes), &options).expect("it opens"),
                |mut trace| {
                    loop {
                        let more = trace.read(&mut events, 4096).expect("it reads");
                        black_box(&events);
                        events.clear();
                        if !more {
                            break;
                        }
                    }
                    assert_eq!(trace.summary().events, EVENTS);
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, readers);
criterion_main!(benches);
