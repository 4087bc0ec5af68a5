//! The gap between the offline bound and schedule, and the time to compute them, on launches of
//! apps. `-- long` adds a stream of a hundred million events.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

#[path = "../tests/apps/mod.rs"]
mod apps;
mod on_cpu;

use apps::Phone;
use on_cpu::on_cpu;
use unjank_cachesim::bounds::clairvoyant::{Costs, clairvoyant};
use unjank_cachesim::{PagingEvent, Space};

fn main() {
    let long = std::env::args().any(|argument| argument == "long");
    let nine = Phone::NINE;
    let many = Phone { apps: 25, ..nine };
    println!("apps     events     tier  write   lower bound   schedule      gap  seconds on a CPU");
    for phone in [nine, many] {
        let stream = phone.stream();
        for tier in [2_000, 8_000, 16_000] {
            for write in [0.0, Costs::default().tier_write(), 0.25] {
                row(phone, &stream, tier, write);
            }
        }
    }
    if long {
        let phone = Phone {
            apps: 100,
            launches: 3_000,
            shared: 100_000,
            hot: 10_000,
            warm: 20_000,
            memory: 300_000,
            ..nine
        };
        let stream = phone.stream();
        for tier in [20_000, 100_000, 1_000_000] {
            row(phone, &stream, tier, Costs::default().tier_write());
        }
    }
}

fn row(phone: Phone, stream: &[PagingEvent], tier: u64, write: f64) {
    let space = Space::new(tier, phone.footprint().into()).unwrap();
    let begin = on_cpu();
    let found = clairvoyant(stream, space, Costs::new(write)).unwrap();
    println!(
        "{:4} {:10} {tier:8} {write:6.3} {:13.0} {:10.0} {:6.2} % {:8.1}",
        phone.apps,
        stream.len(),
        found.lower_bound,
        found.cost,
        100.0 * (found.cost / found.lower_bound - 1.0),
        on_cpu() - begin,
    );
}
