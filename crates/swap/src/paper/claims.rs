//! The paper's claims beside the modelled values.

use unjank_measure::claim::{Claim, Means};

use super::item::Item;
use super::reproduction::Reproduction;

impl Reproduction {
    /// Each value of the paper beside that of synthetic phones.
    pub fn claims(&self) -> Vec<Claim> {
        self.items.iter().map(claim).collect()
    }
}

fn claim(item: &Item) -> Claim {
    let source = format!("Bahn & Kim, {}", item.figure);
    let claim = Claim::new(source, item.what, item.words).by(Means::Modelled);
    let Some(median) = item.median() else {
        let never = claim.with_word("never", item.seeds as u64);
        return never.untold(format!("{} of {} phones never reach it", item.never, item.seeds));
    };
    let claim = claim.with(median, item.unit, item.interval(), item.seeds as u64);
    if item.never > 0 {
        return claim.untold(format!("{} of {} phones never reach it", item.never, item.seeds));
    }
    claim.judged_by(item.paper)
}
