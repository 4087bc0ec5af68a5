//! Adjusts the verdict of each probe by what the kernel counted during the run. A
//! probe brings its own memory and threads, so it may be healthy while programs on
//! the machine are not.
//!
//! Pure functions: from a verdict and the counts to a verdict.

mod facts;
mod observed;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use unjank_host::surroundings::ProgramActivity;
use unjank_measure::{Answer, Bound, Quantity, Unit, Verdict};

pub(super) use facts::facts;
pub(super) use observed::Observed;
use observed::a_second;

/// The largest healthy share of time in which some task waits for memory.
const MEMORY: f64 = 0.07;
const MEMORY_SOURCE: &str = "from 70 ms in a second on, Android's lmkd considers memory short \
                             (psi_partial_stall_ms)";
/// The largest healthy share of a quota's periods in which it stops a group.
const THROTTLED: f64 = 0.25;
const THROTTLED_SOURCE: &str = "threshold of the alert CPUThrottlingHigh of kubernetes-mixin";
/// Shares of time from which on waits for CPUs or storage, and CPU time taken by
/// the hypervisor, are reported.
const WAITED: f64 = 0.1;
const STOLEN: f64 = 0.01;
/// Counts a second from which on a program is named: major faults, and how often
/// it gave a CPU away.
const FAULTS: f64 = 10.0;
const SWITCHES: f64 = 100.0;
/// Switches a second from which on a program is named even if the lock probe is
/// healthy.
const MANY_SWITCHES: f64 = 1_000.0;

const SWAP_NEXT: &str = "sudo unjank swap record --for 60s --out swap.parquet";
const CAUSE_NEXT: &str = "sudo unjank jitter native --trace --for 60s --html jitter.html";
const IPC_NEXT: &str = "sudo unjank ipc latency --transport unix --deadline 2500us --trace";
const LOCK_NEXT: &str = "unjank lock bench";

/// Adjusts the verdict on one delay.
pub(super) fn adjust(verdict: Verdict, observed: &Observed) -> Verdict {
    match verdict.subject.as_str() {
        "launch" => launch(verdict, observed),
        "swap" => swap(verdict, observed),
        "jitter" => jitter(verdict, observed),
        "lock" => lock(verdict, observed),
        "ipc" => ipc(verdict, observed),
        _ => verdict,
    }
}

/// Programs are read from storage when they start.
fn launch(mut verdict: Verdict, observed: &Observed) -> Verdict {
    let waited = observed.whole.io.map(|waited| observed.whole.share(waited.some));
    if let Some(share) = waited.filter(|share| *share >= WAITED) {
        add(
            &mut verdict,
            format!("some task waited for storage in {} of the time", percent(share)),
        );
    }
    verdict
}

fn swap(mut verdict: Verdict, observed: &Observed) -> Verdict {
    let Some((name, share)) = observed.memory(&verdict).filter(|(_, share)| *share > MEMORY) else {
        let swaps = observed.calm.swapped_in > 0;
        verdict.next = verdict.next.map(|next| if swaps { SWAP_NEXT.to_owned() } else { next });
        return verdict;
    };
    let mut said = Vec::new();
    if verdict.answer == Answer::Slow {
        said.push(format!("{name}: {}", percent(share)));
    } else {
        let probe = verdict.measured.take();
        verdict.reason = match probe {
            Some(probe) => format!(
                "the probe's own pages came back in {} (median), those of other programs did not",
                probe.unit.show(probe.value)
            ),
            None => verdict.reason,
        };
        verdict.measured = Some(counted(name, share, observed.parts));
        verdict.healthy = Some(Bound { at_most: MEMORY, source: MEMORY_SOURCE.to_owned() });
        verdict.answer = Answer::Slow;
    }
    if let Some((group, share)) = observed.group_short_of_memory() {
        said.push(format!("{} of the time in control group {group}", percent(share)));
    }
    let swapped = a_second(observed.calm.swapped_in, &observed.calm);
    if swapped >= 1.0 {
        said.push(format!("{} came from swap each second", counted_pages(swapped)));
    }
    if let Some((program, rate)) = observed.most(|deeds| deeds.major_faults, FAULTS, |_| true) {
        said.push(format!("{program} waited for most of them, {rate:.0} a second"));
    }
    for text in said {
        add(&mut verdict, text);
    }
    verdict.next = Some(SWAP_NEXT.to_owned());
    verdict
}

fn jitter(mut verdict: Verdict, observed: &Observed) -> Verdict {
    let throttled = observed.most_throttled().filter(|(_, it)| it.share() > THROTTLED);
    if let Some((group, throttled)) = throttled {
        if verdict.answer == Answer::Slow {
            let share = percent(throttled.share());
            add(&mut verdict, format!("its quota stopped {group} in {share} of the periods"));
        } else {
            if let Some(probe) = verdict.measured.take() {
                let probe = format!("{}: {}", probe.name, probe.unit.show(probe.value));
                verdict.reason = format!(
                    "the probe is not in that group ({probe}); threads in it are late by up to a \
                     period of the quota"
                );
            }
            let name = format!("share of periods in which its CPU quota stopped {group}");
            verdict.measured = Some(counted(name, throttled.share(), throttled.periods));
            verdict.healthy =
                Some(Bound { at_most: THROTTLED, source: THROTTLED_SOURCE.to_owned() });
            verdict.answer = Answer::Slow;
            verdict.next = Some(format!("grep . {}", quoted(group)));
        }
    }
    contention(&mut verdict, observed);
    let stolen = observed.whole.stolen();
    if stolen >= STOLEN {
        add(&mut verdict, format!("the hypervisor took {} of all CPU time", percent(stolen)));
    }
    verdict
}

fn lock(mut verdict: Verdict, observed: &Observed) -> Verdict {
    // A program with one thread switches for other reasons than locks.
    let switching = observed.most(|deeds| deeds.switches, SWITCHES, |deeds| deeds.threads > 1);
    match switching {
        Some((program, rate)) if verdict.next.is_some() || rate >= MANY_SWITCHES => {
            verdict.next = Some(format!("sudo unjank lock doctor {}", program.number));
            add(
                &mut verdict,
                format!(
                    "{program} gave its CPUs away most often, {rate:.0} times a second; lock doctor \
                     shows whether it waits for locks"
                ),
            );
        }
        _ => verdict.next = verdict.next.map(|_| LOCK_NEXT.to_owned()),
    }
    verdict
}

fn ipc(mut verdict: Verdict, observed: &Observed) -> Verdict {
    let contended = contention(&mut verdict, observed);
    let next = if contended { CAUSE_NEXT } else { IPC_NEXT };
    verdict.next = verdict.next.map(|_| next.to_owned());
    verdict
}

/// Reports that threads waited for CPUs, and which program had them. Returns
/// whether they waited.
fn contention(verdict: &mut Verdict, observed: &Observed) -> bool {
    let waited = observed.whole.cpu.map(|waited| observed.whole.share(waited.some));
    let Some(share) = waited.filter(|share| *share >= WAITED) else { return false };
    add(verdict, format!("some thread waited for a CPU in {} of the time", percent(share)));
    let of_cpus = |deeds: &ProgramActivity| deeds.cpu.get() / 1_000_000;
    if let Some((program, rate)) = observed.most(of_cpus, 100.0, |_| true) {
        add(verdict, format!("{program} had most of them ({:.1} CPUs)", rate / 1_000.0));
    }
    true
}

/// A share of time that the kernel counted, so it has no interval.
fn counted(name: String, share: f64, n: u64) -> Quantity {
    Quantity { name, value: share, unit: Unit::Ratio, interval: None, at_least: None, n }
}

fn add(verdict: &mut Verdict, text: String) {
    verdict.reason =
        if verdict.reason.is_empty() { text } else { format!("{}; {text}", verdict.reason) };
}

fn counted_pages(rate: f64) -> String {
    if rate.round() <= 1.0 { "one page".to_owned() } else { format!("{rate:.0} pages") }
}

fn percent(share: f64) -> String {
    Unit::Ratio.show(share)
}

/// A control group's files of CPU limits, counters and members, quoted for a shell.
fn quoted(directory: &str) -> String {
    let file = |name: &str| {
        let path = format!("{directory}/{name}");
        shlex::try_quote(&path).map_or_else(|_| path.clone(), Cow::into_owned)
    };
    ["cpu.max", "cpu.stat", "cgroup.procs"].map(file).join(" ")
}
