//! Requests with which the misses of replacement policies are compared with other programs'.

use unjank_cachesim::replacement::Visit;
use unjank_cachesim::{Page, Policy, Replacement, Space};

/// Capacities to compare at, in pages.
pub(crate) const SIZES: [u32; 6] = [20, 100, 777, 1_000, 5_000, 20_000];

const REQUESTS: usize = 200_000;
/// A recording: `fixtures/README.md`.
const JAVAC: &[u8] = include_bytes!("../../fixtures/javac-swap.leb128");

/// The requested pages by a name.
pub(crate) fn all() -> [(&'static str, Vec<u32>); 3] {
    [("zipf", zipf()), ("loops", loops()), ("javac", javac())]
}

/// The misses of a policy.
pub(crate) fn misses(policy: Policy, capacity: u32, trace: &[u32]) -> u64 {
    struct Misses<'a>(&'a [u32]);
    impl Visit for Misses<'_> {
        type Output = u64;
        fn visit<R: Replacement>(self, mut cache: R) -> u64 {
            cache.misses(self.0.iter().copied().map(Page))
        }
    }
    let footprint = trace.iter().max().map_or(0, |page| page + 1);
    let space = Space::new(capacity.into(), footprint.into()).unwrap();
    policy.visit(space, Misses(trace))
}

/// Random numbers from 0 to 1, the same on every machine (Knuth's MMIX generator).
fn chances(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Zipf's law with exponent 1 over 50,000 pages.
fn zipf() -> Vec<u32> {
    let mut chance = chances(1);
    let page = |chance: f64| 50_000f64.powf(chance) as u32 - 1;
    (0..REQUESTS).map(|_| page(chance()).min(49_999).wrapping_mul(7_919) % 50_000).collect()
}

/// The swap of a Java compiler.
fn javac() -> Vec<u32> {
    let mut bytes = JAVAC.iter().copied();
    let mut slot = 0_i64;
    let mut trace = Vec::new();
    while let Some(first) = bytes.next() {
        let (mut zigzag, mut byte, mut shift) = (i64::from(first & 0x7f), first, 0);
        while byte & 0x80 != 0 {
            byte = bytes.next().unwrap();
            shift += 7;
            zigzag |= i64::from(byte & 0x7f) << shift;
        }
        slot += zigzag >> 1 ^ -(zigzag & 1);
        trace.push(u32::try_from(slot).unwrap());
    }
    assert_eq!(trace.len(), 22_149);
    trace
}

/// Favourites, three loops that return, and scans that do not.
fn loops() -> Vec<u32> {
    let mut chance = chances(2);
    let mut trace = Vec::new();
    while trace.len() < REQUESTS {
        match (chance() * 10.0) as u32 {
            0..5 => trace.extend((0..200).map(|_| 3_000f64.powf(chance()) as u32)),
            5..8 => {
                let from = 5_000 + 700 * (3.0 * chance()) as u32;
                trace.extend(from..from + 600);
            }
            _ => {
                let from = 20_000 + (50_000.0 * chance()) as u32;
                trace.extend(from..from + 300);
            }
        }
    }
    trace.truncate(REQUESTS);
    trace
}
