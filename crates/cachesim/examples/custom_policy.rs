//! A replacement policy of one's own, compared with others: MRU, which evicts the page whose last
//! request is the latest. A loop that is a little larger than the cache is its best case.
//!
//! ```sh
//! cargo run --release --package unjank-cachesim --example custom_policy
//! ```

#![expect(clippy::print_stdout, reason = "it prints its result")]

use std::error::Error;

use unjank_cachesim::bounds::{Belady, NextUses};
use unjank_cachesim::check;
use unjank_cachesim::replacement::Visit;
use unjank_cachesim::{Page, Policy, Replacement, Space};

/// Most recently used.
struct Mru {
    space: Space,
    /// The cached pages, the latest request last.
    order: Vec<Page>,
}

impl Replacement for Mru {
    fn contains(&self, page: Page) -> bool {
        self.order.contains(&page)
    }

    fn hit(&mut self, page: Page) {
        self.remove(page);
        self.order.push(page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let full = self.len() == self.space.capacity();
        let victim = if full { self.order.pop() } else { None };
        self.order.push(page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let place = self.order.iter().position(|other| *other == page);
        place.map(|place| self.order.remove(place)).is_some()
    }

    fn len(&self) -> u32 {
        self.order.len() as u32
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        self.order.capacity() * size_of::<Page>()
    }
}

/// Counts misses under a policy of any type.
struct Misses<'a>(&'a [Page]);

impl Visit for Misses<'_> {
    type Output = u64;

    fn visit<R: Replacement>(self, mut cache: R) -> u64 {
        cache.misses(self.0.iter().copied())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    check::replacement(|space| Mru {
        space,
        order: Vec::with_capacity(space.capacity() as usize),
    })?;
    let requests: Vec<Page> = (0..20_000).map(|at| Page(at % 120)).collect();
    let space = Space::new(100, 120)?;
    println!("mru: {} misses", Misses(&requests).visit(Mru { space, order: Vec::new() }));
    for policy in Policy::ALL {
        println!("{policy}: {} misses", policy.visit(space, Misses(&requests)));
    }
    let uses = NextUses::of(requests.iter().copied())?;
    println!("optimum: {} misses", Belady::Demand.run(&uses, 100).misses);
    Ok(())
}
