//! `unjank swap probe`: the time of a page-in.

mod content;
mod counters;
mod options;
mod plan;
mod report;
mod source;
mod touch;

pub use options::{Options, Pages};

use unjank_host::{Nanos, Result, Root, Support, Timestamp};
use unjank_measure::{Findings, Monitor};

pub(crate) use content::Random;
use counters::Counters;
use plan::{Plan, Source};
use source::Evictable;
use touch::TouchTimes;

/// Evicts memory of this process and touches it again, page by page in random order: anonymous
/// pages through swap if there is any, otherwise pages of a scratch file. Pages of other programs
/// are not evicted.
///
/// Series: `swap/page_in`, touches that waited for a read (label `backing`), and
/// `swap/readahead_hit`, touches of pages that an earlier read had brought along. Facts:
/// `swap/pages_per_read` and the growth of the kernel's counters (`swap/vmstat/…`,
/// `swap/pressure/…`).
///
/// # Errors
/// `Invalid` options; a directory without room; a failed system call.
pub fn run(options: &Options, root: &Root, seed: u64, monitor: &dyn Monitor) -> Result<Findings> {
    options.check()?;
    let mut findings = Findings::default();
    let Some(plan) = findings.require("swap/page_in", plan::make(options, root)?) else {
        return Ok(findings);
    };
    findings.warnings.extend(plan.warnings.iter().cloned());
    let mut random = Random::seeded(seed);
    monitor.progress(0.0, &format!("filling {} to evict", plan.bytes()));
    let mut memory = match open(&plan, options, &mut random, monitor)? {
        Support::Yes(memory) => memory,
        Support::No(reason) => {
            findings.not_supported("swap/page_in", reason);
            return Ok(findings);
        }
    };
    let before = Counters::read(root)?;
    let touched = rounds(memory.as_mut(), &plan, options.duration, &mut random, monitor)?;
    let counted = Counters::read(root)?.since(&before);
    if monitor.stop_requested() {
        findings.warn("interrupted before the end");
    }
    report::note(touched, &counted, &plan, &mut findings);
    Ok(findings)
}

fn open(
    plan: &Plan,
    options: &Options,
    random: &mut Random,
    monitor: &dyn Monitor,
) -> Result<Support<Box<dyn Evictable>>> {
    match plan.source {
        Source::Anonymous { .. } => source::anonymous(plan.pages, random, monitor),
        Source::File => source::file(&options.directory, plan.pages, random, monitor),
    }
}

/// Evicts and touches in rounds until the time is over; at least one round.
fn rounds(
    memory: &mut dyn Evictable,
    plan: &Plan,
    duration: Nanos,
    random: &mut Random,
    monitor: &dyn Monitor,
) -> Result<TouchTimes> {
    let start = Timestamp::now();
    let end = start + duration;
    let mut times = TouchTimes::new(start, duration);
    let mut order: Vec<u32> = (0..plan.pages as u32).collect();
    loop {
        let done = Timestamp::now().since(start).as_secs_f64() / duration.as_secs_f64();
        monitor.progress(done, &format!("page-ins from {}", plan.backing()));
        let mapping = memory.evict()?;
        random.shuffle(&mut order);
        let evicted = touch::all(mapping, &order, end, &mut times, monitor)?;
        // If the kernel evicts nothing, further rounds would be in vain.
        if evicted == 0 || Timestamp::now() >= end || monitor.stop_requested() {
            break;
        }
    }
    Ok(times)
}
