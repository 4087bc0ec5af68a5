//! What people read of a simulation: one line for each policy.

use unjank_host::Nanos;
use unjank_measure::Unit;
use unjank_swap::model::admission::WriteRate;
use unjank_swap::model::bounds::Costs;
use unjank_swap::model::tier::{TierPolicy, Traffic};
use unjank_swap::simulate::{Bound, Line, Options, Outcome};

use crate::commands::swap::input::Source;
use crate::output::grid;

const HEADER: [&str; 13] = [
    "Policy",
    "storage I/O",
    "vs no swap",
    "reads",
    "writes",
    "tier reads",
    "tier writes",
    "left dirty",
    "above bound",
    "hits",
    "hottest 10 %",
    "launch again",
    "metadata",
];

/// The table, and what to know about it.
pub(super) fn text(
    outcome: &Outcome,
    options: &Options,
    source: &Source,
    warnings: &[String],
) -> String {
    let lines = &outcome.lines;
    let mut text = vec![format!("{}; {}", source.name(), sizes(options)), String::new()];
    let without_swap = lines.iter().find(|line| line.policy.is_none());
    let against = without_swap.or_else(|| lines.iter().find(|line| line.is_baseline()));
    let header = match without_swap {
        Some(_) => HEADER,
        None => HEADER.map(|name| if name == "vs no swap" { "vs no tier" } else { name }),
    };
    let rows = lines.iter().map(|line| cells(line, against, outcome.bound.as_ref()));
    let clairvoyant = outcome.bound.as_ref().map(|bound| clairvoyant(bound, against));
    text.extend(grid(rows.chain(clairvoyant), header));
    text.push(String::new());
    if let Some(Line { killed: Some([kills, restarts]), .. }) = without_swap {
        text.push(format!("Without swap, {kills} apps were killed, and {restarts} started again."));
    }
    if let Some(rate) = options.write_budget {
        text.push(over_budget(lines, rate));
    }
    text.extend(cheapest(outcome, options));
    text.extend(warnings.iter().map(|warning| format!("! {warning}")));
    text.push(
        "Storage and tier in pages of 4 KiB; left dirty: pages that only the tier has at the end, \
         which storage I/O leaves out, and vs no swap (or tier) counts; clairvoyant: a schedule that knows the future; above \
         bound: how much more that costs than what no policy can beat; hits: page-ins that the tier answered; hottest 10 %: \
         the share of storage I/O that the hottest tenth of pages makes; launch again: mean and \
         standard deviation of all launches of an app but its first. All modelled; docs/swap.md \
         says how."
            .to_owned(),
    );
    text.join("\n")
}

/// Which line costs least, and which the policy for the cost is.
fn cheapest(outcome: &Outcome, options: &Options) -> Option<String> {
    let write = options.write_cost?;
    let (line, cost) = outcome.cheapest(Costs::new(write))?;
    Some(format!(
        "Where a write of the tier costs {write} reads of storage, {} costs least of these: {cost:.0}, \
         with what is left dirty. The policy for that cost, whatever the trace, is {}.",
        line.name,
        TierPolicy::for_write_cost(write)
    ))
}

/// What the budget kept out.
fn over_budget(lines: &[Line], rate: WriteRate) -> String {
    let kept_out = lines.iter().filter(|line| !line.is_baseline()).map(|line| {
        let share = line.share_over_budget().unwrap_or_default() * 100.0;
        format!("{} {} pages ({share:.1} %)", line.name, line.over_budget)
    });
    let kept_out: Vec<String> = kept_out.collect();
    format!(
        "The budget of {rate} kept out, of the pages that the rules let in: {}. Writes in place count, \
         and are never kept out; clairvoyant is not held to it.",
        kept_out.join(", ")
    )
}

fn sizes(options: &Options) -> String {
    let tier = format!("a tier of {}", options.tier);
    match &options.memory {
        Some(memory) => format!("{} of memory ({}), {tier}", memory.size, memory.policy),
        None => format!("put to {tier} as it is"),
    }
}

fn cells(line: &Line, against: Option<&Line>, bound: Option<&Bound>) -> [String; 13] {
    let traffic = &line.traffic;
    let tier = |text: String| if line.is_baseline() { String::new() } else { text };
    let share = |share: Option<f64>| share.map(|share| format!("{:.1} %", share * 100.0));
    let hottest = (line.skew.accesses() > 0).then(|| line.skew.made_by(0.1));
    [
        line.name.clone(),
        traffic.storage_ios().to_string(),
        ratio(traffic, against),
        traffic.storage_reads.to_string(),
        traffic.storage_writes.to_string(),
        tier(traffic.tier_reads.to_string()),
        tier(traffic.tier_writes.to_string()),
        tier(traffic.left_dirty.to_string()),
        line.policy.map_or_else(String::new, |_| above(traffic, bound)),
        tier(share(traffic.hit_ratio()).unwrap_or_default()),
        share(hottest).unwrap_or_default(),
        line.later().map_or_else(String::new, |later| {
            let time = |nanos: f64| Nanos(nanos as u64).to_string();
            format!("{} ± {}", time(later.mean), time(later.deviation))
        }),
        tier(Unit::Bytes.show(line.metadata as f64)),
    ]
}

/// The line of a schedule that knows the future.
fn clairvoyant(bound: &Bound, against: Option<&Line>) -> [String; 13] {
    let traffic = &bound.reached;
    let none = String::new;
    [
        "clairvoyant".to_owned(),
        traffic.storage_ios().to_string(),
        ratio(traffic, against),
        traffic.storage_reads.to_string(),
        traffic.storage_writes.to_string(),
        traffic.tier_reads.to_string(),
        traffic.tier_writes.to_string(),
        traffic.left_dirty.to_string(),
        above(traffic, Some(bound)),
        none(),
        none(),
        none(),
        none(),
    ]
}

fn ratio(traffic: &Traffic, against: Option<&Line>) -> String {
    let Some(other) = against else { return String::new() };
    let ratio = traffic.settled_ios() as f64 / other.traffic.settled_ios().max(1) as f64;
    format!("{ratio:.2}×")
}

fn above(traffic: &Traffic, bound: Option<&Bound>) -> String {
    let above = bound.and_then(|bound| bound.above(traffic));
    above.map_or_else(String::new, |above| format!("{:.1} %", above * 100.0))
}
