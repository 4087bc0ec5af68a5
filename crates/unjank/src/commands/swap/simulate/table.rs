//! What people read of a simulation: one line for each policy.

use unjank_host::Nanos;
use unjank_measure::Unit;
use unjank_swap::simulate::{Line, Options};

use crate::commands::swap::input::Source;
use crate::output::grid;

const HEADER: [&str; 11] = [
    "Policy",
    "storage I/O",
    "vs no swap",
    "reads",
    "writes",
    "tier reads",
    "tier writes",
    "hits",
    "hottest 10 %",
    "launch again",
    "metadata",
];

/// The table, and what to know about it.
pub(super) fn text(lines: &[Line], options: &Options, source: &Source) -> String {
    let mut text = vec![format!("{}; {}", source.name(), sizes(options)), String::new()];
    let without_swap = lines.iter().find(|line| line.policy.is_none());
    let against = without_swap.or_else(|| lines.iter().find(|line| line.is_baseline()));
    let header = match without_swap {
        Some(_) => HEADER,
        None => HEADER.map(|name| if name == "vs no swap" { "vs no tier" } else { name }),
    };
    text.extend(grid(lines.iter().map(|line| cells(line, against)), header));
    text.push(String::new());
    if let Some(Line { killed: Some([kills, restarts]), .. }) = without_swap {
        text.push(format!("Without swap, {kills} apps were killed, and {restarts} started again."));
    }
    text.push(
        "Storage and tier in pages of 4 KiB; hits: page-ins that the tier answered; hottest 10 %: \
         the share of storage I/O that the hottest tenth of pages makes; launch again: mean and \
         standard deviation of all launches of an app but its first. All modelled; docs/swap.md \
         says how."
            .to_owned(),
    );
    text.join("\n")
}

fn sizes(options: &Options) -> String {
    let tier = format!("a tier of {}", options.tier);
    match &options.memory {
        Some(memory) => format!("{} of memory ({}), {tier}", memory.size, memory.policy),
        None => format!("put to {tier} as it is"),
    }
}

fn cells(line: &Line, against: Option<&Line>) -> [String; 11] {
    let traffic = &line.traffic;
    let tier = |text: String| if line.is_baseline() { String::new() } else { text };
    let share = |share: Option<f64>| share.map(|share| format!("{:.1} %", share * 100.0));
    let ratio = against.map(|other| {
        format!("{:.2}×", traffic.storage_ios() as f64 / other.traffic.storage_ios().max(1) as f64)
    });
    let hottest = line.per_page.as_ref().and_then(|per_page| per_page.made_by_hottest(0.1));
    [
        line.name.clone(),
        traffic.storage_ios().to_string(),
        ratio.unwrap_or_default(),
        traffic.storage_reads.to_string(),
        traffic.storage_writes.to_string(),
        tier(traffic.tier_reads.to_string()),
        tier(traffic.tier_writes.to_string()),
        tier(share(traffic.hit_ratio()).unwrap_or_default()),
        share(hottest).unwrap_or_default(),
        line.later().map_or_else(String::new, |later| {
            let time = |nanos: f64| Nanos(nanos as u64).to_string();
            format!("{} ± {}", time(later.mean), time(later.deviation))
        }),
        tier(Unit::Bytes.show(line.metadata as f64)),
    ]
}
