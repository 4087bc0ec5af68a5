//! All values of the paper.
//!
//! The paper says "about" and has charts without numbers; the ranges are unjank's reading. It does
//! not say whether pages that only the tier has at the end count as I/O, so each value with a tier
//! is there twice: without these writes and with them.

use unjank_measure::Unit;

use super::item::Item;
use super::phones::{Phone, Set, TIERS};
use crate::simulate::PolicyResult;
use unjank_cachesim::tier::Traffic;

/// A value of the paper, and how to compute it from the phones of a seed.
struct Value {
    figure: &'static str,
    name: &'static str,
    what: &'static str,
    unit: Unit,
    paper: [f64; 2],
    words: &'static str,
    ours: fn(&Set) -> Option<f64>,
}

const MIB: f64 = 1024.0 * 1024.0;
const ABOUT_80: [f64; 2] = [0.75, 0.85];

/// All values in the paper's order.
pub(super) fn all(sets: &[Set]) -> Vec<Item> {
    let values = SKEW.iter().chain(LAUNCHES).chain(TIER);
    let item = |value: &Value| {
        let mut ours: Vec<f64> = sets.iter().filter_map(value.ours).collect();
        let never = sets.len() - ours.len();
        ours.sort_by(f64::total_cmp);
        let Value { figure, name, what, unit, paper, words, .. } = *value;
        Item { figure, name, what, unit, paper, words, ours, seeds: sets.len(), never }
    };
    values.map(item).collect()
}

const SKEW: &[Value] = &[
    Value {
        figure: "Section II",
        name: "skew/off/1gib",
        what: "no swap, 1 GiB: I/O made by the top 50 %",
        unit: Unit::Ratio,
        paper: ABOUT_80,
        words: "about 80 %",
        ours: |set| made(&set.nine_1.off, 0.5),
    },
    Value {
        figure: "Section II",
        name: "skew/off/2gib",
        what: "no swap, 2 GiB: I/O made by the top 50 %",
        unit: Unit::Ratio,
        paper: ABOUT_80,
        words: "about 80 %",
        ours: |set| made(&set.nine_2.off, 0.5),
    },
    Value {
        figure: "Section II",
        name: "skew/on/1gib",
        what: "swap, 1 GiB: I/O made by the top 10 %",
        unit: Unit::Ratio,
        paper: ABOUT_80,
        words: "80 %",
        ours: |set| made(&set.nine_1.on, 0.1),
    },
    Value {
        figure: "Section II",
        name: "skew/on/2gib",
        what: "swap, 2 GiB: I/O made by the top 25 %",
        unit: Unit::Ratio,
        paper: ABOUT_80,
        words: "80 % by about 25 %",
        ours: |set| made(&set.nine_2.on, 0.25),
    },
    Value {
        figure: "Fig. 1",
        name: "fig1/1gib",
        what: "storage I/O with swap against none, 1 GiB",
        unit: Unit::Times,
        paper: [6.0, 7.0],
        words: "6 to 7 times",
        ours: |set| Some(ratio(&set.nine_1)),
    },
    Value {
        figure: "Fig. 1",
        name: "fig1/2gib",
        what: "storage I/O with swap against none, 2 GiB",
        unit: Unit::Times,
        paper: [0.9, 1.2],
        words: "hardly more",
        ours: |set| Some(ratio(&set.nine_2)),
    },
];

const LAUNCHES: &[Value] = &[
    Value {
        figure: "Fig. 2",
        name: "fig2/off/first",
        what: "no swap, 1 GiB: first launch",
        unit: Unit::Nanoseconds,
        paper: [2e9, 3e9],
        words: "2 to 3 s",
        ours: |set| first(&set.nine_1.off),
    },
    Value {
        figure: "Fig. 2",
        name: "fig2/off/again",
        what: "no swap, 1 GiB: later launches",
        unit: Unit::Nanoseconds,
        paper: [1.5e9, 2.5e9],
        words: "about 2 s",
        ours: |set| again(&set.nine_1.off),
    },
    Value {
        figure: "Fig. 2",
        name: "fig2/on/1gib/again",
        what: "swap, 1 GiB: later launches",
        unit: Unit::Nanoseconds,
        paper: [5e9, 7e9],
        words: "5 to 7 s",
        ours: |set| again(&set.nine_1.on),
    },
    Value {
        figure: "Fig. 2",
        name: "fig2/on/2gib/again",
        what: "swap, 2 GiB: later launches",
        unit: Unit::Nanoseconds,
        paper: [1e9, 3e9],
        words: "1 to 3 s",
        ours: |set| again(&set.nine_2.on),
    },
    Value {
        figure: "Fig. 3",
        name: "fig3/off/25",
        what: "no swap, 25 apps, 2 GiB: later launches",
        unit: Unit::Nanoseconds,
        paper: [1.5e9, 3e9],
        words: "as with nine",
        ours: |set| again(&set.many_2.off),
    },
    Value {
        figure: "Fig. 3",
        name: "fig3/on/25",
        what: "swap, 25 apps, 2 GiB: later launches",
        unit: Unit::Nanoseconds,
        paper: [5e9, 7e9],
        words: "as nine with 1 GiB",
        ours: |set| again(&set.many_2.on),
    },
];

const TIER: &[Value] = &[
    Value {
        figure: "Fig. 5",
        name: "fig5/64mib",
        what: "swap and 64 MiB of tier against no swap, 1 GiB",
        unit: Unit::Times,
        paper: [1.0, 7.0],
        words: "more below 128 MB",
        ours: |set| at_tier(&set.nine_1, 2, Traffic::storage_ios),
    },
    Value {
        figure: "Fig. 5",
        name: "fig5/64mib/settled",
        what: "swap and 64 MiB of tier against no swap, 1 GiB, writes to come counted",
        unit: Unit::Times,
        paper: [1.0, 7.0],
        words: "more below 128 MB",
        ours: |set| at_tier(&set.nine_1, 2, Traffic::settled_ios),
    },
    Value {
        figure: "Fig. 5",
        name: "fig5/256mib",
        what: "swap and 256 MiB of tier against no swap, 1 GiB",
        unit: Unit::Times,
        paper: [0.9, 1.0],
        words: "no more at 256 MB",
        ours: |set| at_tier(&set.nine_1, 4, Traffic::storage_ios),
    },
    Value {
        figure: "Fig. 5",
        name: "fig5/256mib/settled",
        what: "swap and 256 MiB of tier against no swap, 1 GiB, writes to come counted",
        unit: Unit::Times,
        paper: [0.9, 1.0],
        words: "no more at 256 MB",
        ours: |set| at_tier(&set.nine_1, 4, Traffic::settled_ios),
    },
    Value {
        figure: "Fig. 5",
        name: "fig5/512mib",
        what: "swap and 512 MiB of tier against no swap, 1 GiB",
        unit: Unit::Times,
        paper: [0.0, 1.0],
        words: "less above",
        ours: |set| at_tier(&set.nine_1, 5, Traffic::storage_ios),
    },
    Value {
        figure: "Fig. 5",
        name: "fig5/512mib/settled",
        what: "swap and 512 MiB of tier against no swap, 1 GiB, writes to come counted",
        unit: Unit::Times,
        paper: [0.0, 1.0],
        words: "less above",
        ours: |set| at_tier(&set.nine_1, 5, Traffic::settled_ios),
    },
    Value {
        figure: "Fig. 5",
        name: "fig5/parity",
        what: "the least tier with which swap makes no more I/O",
        unit: Unit::Bytes,
        paper: [128.0 * MIB, 256.0 * MIB],
        words: "256 MB",
        ours: |set| parity(&set.nine_1, Traffic::storage_ios),
    },
    Value {
        figure: "Fig. 5",
        name: "fig5/parity/settled",
        what: "the least tier with which swap makes no more I/O, writes to come counted",
        unit: Unit::Bytes,
        paper: [128.0 * MIB, 256.0 * MIB],
        words: "256 MB",
        ours: |set| parity(&set.nine_1, Traffic::settled_ios),
    },
];

/// Storage I/O of a phone with swap relative to no swap.
fn ratio(phone: &Phone) -> f64 {
    phone.on.traffic.storage_ios() as f64 / phone.off.traffic.storage_ios().max(1) as f64
}

fn made(result: &PolicyResult, share: f64) -> Option<f64> {
    (result.skew.accesses() > 0).then(|| result.skew.made_by(share))
}

fn first(result: &PolicyResult) -> Option<f64> {
    result.rounds().first().map(|round| round.mean)
}

fn again(result: &PolicyResult) -> Option<f64> {
    result.later().map(|later| later.mean)
}

/// How storage I/O is counted: [`Traffic::storage_ios`] or
/// [`Traffic::settled_ios`].
type Count = fn(&Traffic) -> u64;

fn at_tier(phone: &Phone, index: usize, ios: Count) -> Option<f64> {
    let off = phone.off.traffic.storage_ios().max(1) as f64;
    Some(ios(phone.tiers.get(index)?) as f64 / off)
}

/// The size of the tier at which the curve of Fig. 5 crosses that without swap, interpolated on
/// logarithms; `None` if it never does.
fn parity(phone: &Phone, ios: Count) -> Option<f64> {
    let off = phone.off.traffic.storage_ios() as f64;
    let over = |index: usize| ios(&phone.tiers[index]) as f64 - off;
    let crosses = (0..phone.tiers.len()).find(|index| over(*index) <= 0.0)?;
    let size = |index: usize| TIERS[index].get() as f64;
    let Some(before) = crosses.checked_sub(1) else { return Some(size(crosses)) };
    let part = over(before) / (over(before) - over(crosses));
    Some(size(before) * (size(crosses) / size(before)).powf(part))
}
