//! The cost of a decision of the running tier: for each page that is written to or read from its
//! device, the policy says where it lies (goal: less than 100 ns). 4 GiB of slots, 256 MiB of frames.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::hint::black_box;
use unjank_cachesim::page::Page;
use unjank_cachesim::tier::TierPolicy;
use unjank_cachesim::tier::device::SlotPolicy;
use unjank_host::Nanos;
use unjank_swap::remedy::policy::{Identity, make};

const SLOTS: u32 = 1 << 20;
const FRAMES: u32 = 1 << 16;
/// Pages that are evicted and come back in one iteration.
const PAGES: usize = 1 << 16;

/// Slots by how often they are used, scattered over the area.
fn requests() -> Vec<Page> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(1);
    let zipf = Zipf::new(f64::from(SLOTS), 0.9).expect("a distribution");
    let scattered = |rank: f64| (rank as u32).wrapping_mul(0x9E37_79B1) % SLOTS;
    (0..PAGES).map(|_| Page(scattered(zipf.sample(&mut chance)))).collect()
}

fn evict_and_return(policy: &mut dyn SlotPolicy, slots: &[Page], at: &mut u64) {
    for slot in slots {
        *at += 1_000;
        let at = Nanos(*at);
        while let Some(left) = policy.next_to_leave(at) {
            black_box(left);
        }
        black_box(policy.write(*slot, at));
        black_box(policy.read(*slot, at));
    }
}

fn deciding(criterion: &mut Criterion) {
    let slots = requests();
    let mut group = criterion.benchmark_group("deciding");
    // Each is written and read.
    group.throughput(Throughput::Elements(2 * PAGES as u64));
    let policies = [("paper", TierPolicy::PAPER), ("refault", TierPolicy::REFAULT)];
    for (name, policy) in policies.into_iter().chain([("always", always())]) {
        let mut policy = make(policy, Identity::Slot, (FRAMES, SLOTS)).expect("sizes that fit");
        let mut at = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| evict_and_return(&mut *policy, &slots, &mut at));
        });
    }
    group.finish();
}

fn always() -> TierPolicy {
    "always".parse().expect("a policy")
}

criterion_group!(benches, deciding);
criterion_main!(benches);
