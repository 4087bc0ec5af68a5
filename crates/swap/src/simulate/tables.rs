//! The results of a simulation as a table: one row for each policy.

use unjank_measure::number::grouped;
use unjank_measure::{Cell, Column, Number, Table, Unit};

use super::{Bound, Options, PolicyResult, Simulated};
use unjank_cachesim::admission::WriteRate;
use unjank_cachesim::bounds::Costs;
use unjank_cachesim::tier::{TierPolicy, Traffic};

const NOTE: &str = "Storage and tier in pages of 4 KiB; left dirty: pages that only the tier has at \
                    the end (storage I/O leaves them out; vs no swap or tier and above bound count \
                    them); offline optimal: a schedule computed from the whole trace; above bound: \
                    cost above the lower bound of any policy; hits: page-ins that the tier answered; hottest \
                    10 %: the share of storage I/O that the hottest tenth of pages makes; launch \
                    again: mean and standard deviation of all launches of an app but its first. \
                    All modelled: see docs/method/swap.md.";

/// The policy with the least storage I/O, in a sentence; `None` without a policy of a tier.
pub(super) fn headline(simulated: &Simulated) -> Option<String> {
    let results = &simulated.results;
    let tiers = results.iter().filter(|result| !result.is_baseline());
    let best = tiers.min_by_key(|result| result.traffic.settled_ios())?;
    let (against, relative) = against(results);
    let ratio = against.map(|other| relative_ios(&best.traffic, other));
    let ratio = ratio.map(|ratio| format!(", {} {relative}", Unit::Times.show(ratio)));
    let ratio = ratio.unwrap_or_default();
    Some(format!("Least storage I/O of these policies: {}{ratio}", best.name))
}

/// The result that the others are compared with, and what the comparison is called.
fn against(results: &[PolicyResult]) -> (Option<&PolicyResult>, &'static str) {
    match results.iter().find(|result| result.policy.is_none()) {
        without_swap @ Some(_) => (without_swap, "vs no swap"),
        None => (results.iter().find(|result| result.is_baseline()), "vs no tier"),
    }
}

fn relative_ios(traffic: &Traffic, other: &PolicyResult) -> f64 {
    traffic.settled_ios() as f64 / other.traffic.settled_ios().max(1) as f64
}

/// A row for each policy, and notes.
pub(super) fn table(simulated: &Simulated, options: &Options, of: &str) -> Table {
    let results = &simulated.results;
    let without_swap = results.iter().find(|result| result.policy.is_none());
    let (against, relative) = against(results);
    let rows = results.iter().map(|result| cells(result, against, simulated.bound.as_ref()));
    let optimal = simulated.bound.as_ref().map(|bound| optimal(bound, against));
    let title = format!("{of}; {}", sizes(options));
    let mut table = Table::new("swap/simulate/policies", title, columns(relative))
        .with_rows(rows.chain(optimal));
    if let Some(PolicyResult { killed: Some([kills, restarts]), .. }) = without_swap {
        table
            .notes
            .push(format!("Without swap, {kills} apps were killed, and {restarts} started again."));
    }
    if let Some(rate) = options.write_budget {
        table.notes.push(over_budget(results, rate));
    }
    table.notes.extend(cheapest(simulated, options));
    table.with_note(NOTE)
}

fn columns(relative: &str) -> [Column; 13] {
    let count = |name| Column::of(name, Unit::Count);
    [
        Column::text("policy"),
        count("storage I/O"),
        Column::of(relative, Unit::Times),
        count("reads"),
        count("writes"),
        count("tier reads"),
        count("tier writes"),
        count("left dirty"),
        Column::of("above bound", Unit::Ratio),
        Column::of("hits", Unit::Ratio),
        Column::of("hottest 10 %", Unit::Ratio),
        Column::of("launch again", Unit::Nanoseconds),
        Column::of("metadata", Unit::Bytes),
    ]
}

fn sizes(options: &Options) -> String {
    let tier = format!("a tier of {}", options.tier);
    match &options.memory {
        Some(memory) => format!("{} of memory ({}), {tier}", memory.size, memory.policy),
        None => format!("replayed unchanged through {tier}"),
    }
}

fn cells(
    result: &PolicyResult,
    against: Option<&PolicyResult>,
    bound: Option<&Bound>,
) -> [Cell; 13] {
    let traffic = &result.traffic;
    let tier = |cell: Cell| if result.is_baseline() { Cell::Empty } else { cell };
    let count = |count: u64| Cell::number(count as f64);
    let hottest = (result.skew.accesses() > 0).then(|| result.skew.made_by(0.1));
    let again = result
        .later()
        .map(|later| Number { deviation: Some(later.deviation), ..Number::new(later.mean) });
    [
        result.name.as_str().into(),
        count(traffic.storage_ios()),
        ratio(traffic, against),
        count(traffic.storage_reads),
        count(traffic.storage_writes),
        tier(count(traffic.tier_reads)),
        tier(count(traffic.tier_writes)),
        tier(count(traffic.left_dirty)),
        Cell::maybe(result.policy.and_then(|_| above(traffic, bound))),
        tier(Cell::maybe(traffic.hit_ratio())),
        Cell::maybe(hottest),
        Cell::maybe(again),
        tier(Cell::number(result.metadata as f64)),
    ]
}

/// The row of the offline schedule.
fn optimal(bound: &Bound, against: Option<&PolicyResult>) -> [Cell; 13] {
    let traffic = &bound.schedule;
    let count = |count: u64| Cell::number(count as f64);
    [
        "offline optimal".into(),
        count(traffic.storage_ios()),
        ratio(traffic, against),
        count(traffic.storage_reads),
        count(traffic.storage_writes),
        count(traffic.tier_reads),
        count(traffic.tier_writes),
        count(traffic.left_dirty),
        Cell::maybe(above(traffic, Some(bound))),
        Cell::Empty,
        Cell::Empty,
        Cell::Empty,
        Cell::Empty,
    ]
}

fn ratio(traffic: &Traffic, against: Option<&PolicyResult>) -> Cell {
    Cell::maybe(against.map(|other| relative_ios(traffic, other)))
}

fn above(traffic: &Traffic, bound: Option<&Bound>) -> Option<f64> {
    bound.and_then(|bound| bound.above(traffic))
}

/// The cheapest policy on this trace, and the default policy for the cost.
fn cheapest(simulated: &Simulated, options: &Options) -> Option<String> {
    let write = options.write_cost?;
    let (result, cost) = simulated.cheapest(Costs::new(write))?;
    Some(format!(
        "If a write of the tier costs {write} reads of storage, {} is the cheapest here: {}, \
         including what is left dirty. The default policy for this cost is {}.",
        result.name,
        grouped(cost.round() as u64),
        TierPolicy::for_write_cost(write)
    ))
}

/// How many pages the budget kept out.
fn over_budget(results: &[PolicyResult], rate: WriteRate) -> String {
    let kept_out = results.iter().filter(|result| !result.is_baseline()).map(|result| {
        let share = result.share_over_budget().unwrap_or_default() * 100.0;
        format!("{} {} pages ({share:.1} %)", result.name, result.over_budget)
    });
    let kept_out: Vec<String> = kept_out.collect();
    format!(
        "Of the pages that the rules admitted, the budget of {rate} kept out: {}. Writes in place \
         count but are never kept out; the offline optimum has no budget.",
        kept_out.join(", ")
    )
}
