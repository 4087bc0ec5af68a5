//! What an answer takes into account beside its probe: what the machine lived
//! through meanwhile. A probe brings its own memory and its own threads, so it
//! may be well in the midst of programs that are not.
//!
//! Pure functions: a row and what was seen in, a row out.

mod facts;
mod lived;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use unjank_host::surroundings::ProgramActivity;
use unjank_measure::{Answer, Bound, Quantity, Unit, Verdict};

pub(super) use facts::facts;
pub(super) use lived::Lived;
use lived::a_second;

/// The largest healthy share of time in which some task waits for memory.
const MEMORY: f64 = 0.07;
const MEMORY_SOURCE: &str = "70 ms of a second, from which on Android's lmkd takes memory for short \
                             (psi_partial_stall_ms)";
/// The largest healthy share of a quota's periods in which it stops a group.
const THROTTLED: f64 = 0.25;
const THROTTLED_SOURCE: &str =
    "from there on the alert CPUThrottlingHigh of kubernetes-mixin fires";
/// Shares of time that are worth a word: of waits for CPUs and storage, and of
/// CPU time that the hypervisor took.
const WAITED: f64 = 0.1;
const STOLEN: f64 = 0.01;
/// What a program must do in a second to be named: wait for pages, and give
/// its CPU away.
const FAULTS: f64 = 10.0;
const SWITCHES: f64 = 100.0;
/// From as many switches in a second on it is named though the lock's probe is
/// well.
const MANY_SWITCHES: f64 = 1_000.0;

const SWAP_NEXT: &str = "sudo unjank swap record --for 60s --out swap.parquet";
const CAUSE_NEXT: &str = "sudo unjank jitter native --trace --for 60s --html jitter.html";
const IPC_NEXT: &str = "sudo unjank ipc latency --transport unix --deadline 2500us --trace";
const LOCK_NEXT: &str = "unjank lock bench";

/// The row of a checkup with what is to be said of the machine.
pub(super) fn weigh(verdict: Verdict, lived: &Lived) -> Verdict {
    match verdict.subject.as_str() {
        "launch" => launch(verdict, lived),
        "swap" => swap(verdict, lived),
        "jitter" => jitter(verdict, lived),
        "lock" => lock(verdict, lived),
        "ipc" => ipc(verdict, lived),
        _ => verdict,
    }
}

/// Programs are read from storage when they start.
fn launch(mut verdict: Verdict, lived: &Lived) -> Verdict {
    let waited = lived.whole.io.map(|waited| lived.whole.share(waited.some));
    if let Some(share) = waited.filter(|share| *share >= WAITED) {
        add(
            &mut verdict,
            format!("some task waited for storage in {} of the time", percent(share)),
        );
    }
    verdict
}

fn swap(mut verdict: Verdict, lived: &Lived) -> Verdict {
    let Some((name, share)) = lived.memory(&verdict).filter(|(_, share)| *share > MEMORY) else {
        let swaps = lived.calm.swapped_in > 0;
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
        verdict.measured = Some(counted(name, share, lived.parts));
        verdict.healthy = Some(Bound { at_most: MEMORY, source: MEMORY_SOURCE.to_owned() });
        verdict.answer = Answer::Slow;
    }
    if let Some((group, share)) = lived.group_short_of_memory() {
        said.push(format!("{} of the time in control group {group}", percent(share)));
    }
    let swapped = a_second(lived.calm.swapped_in, &lived.calm);
    if swapped >= 1.0 {
        said.push(format!("{} came from swap each second", counted_pages(swapped)));
    }
    if let Some((program, rate)) = lived.most(|deeds| deeds.major_faults, FAULTS, |_| true) {
        said.push(format!("{program} waited for most of them, {rate:.0} a second"));
    }
    for text in said {
        add(&mut verdict, text);
    }
    verdict.next = Some(SWAP_NEXT.to_owned());
    verdict
}

fn jitter(mut verdict: Verdict, lived: &Lived) -> Verdict {
    let throttled = lived.most_throttled().filter(|(_, it)| it.share() > THROTTLED);
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
    contention(&mut verdict, lived);
    let stolen = lived.whole.stolen();
    if stolen >= STOLEN {
        add(&mut verdict, format!("the hypervisor took {} of all CPU time", percent(stolen)));
    }
    verdict
}

fn lock(mut verdict: Verdict, lived: &Lived) -> Verdict {
    // A program of one thread switches for other reasons.
    let switching = lived.most(|deeds| deeds.switches, SWITCHES, |deeds| deeds.threads > 1);
    match switching {
        Some((program, rate)) if verdict.next.is_some() || rate >= MANY_SWITCHES => {
            verdict.next = Some(format!("sudo unjank lock doctor {}", program.number));
            add(
                &mut verdict,
                format!(
                    "{program} gave its CPUs away most often, {rate:.0} times a second; lock doctor \
                     says whether for locks"
                ),
            );
        }
        _ => verdict.next = verdict.next.map(|_| LOCK_NEXT.to_owned()),
    }
    verdict
}

fn ipc(mut verdict: Verdict, lived: &Lived) -> Verdict {
    let contended = contention(&mut verdict, lived);
    let next = if contended { CAUSE_NEXT } else { IPC_NEXT };
    verdict.next = verdict.next.map(|_| next.to_owned());
    verdict
}

/// Says that threads waited for CPUs, and who had them; whether they did.
fn contention(verdict: &mut Verdict, lived: &Lived) -> bool {
    let waited = lived.whole.cpu.map(|waited| lived.whole.share(waited.some));
    let Some(share) = waited.filter(|share| *share >= WAITED) else { return false };
    add(verdict, format!("some thread waited for a CPU in {} of the time", percent(share)));
    let of_cpus = |deeds: &ProgramActivity| deeds.cpu.get() / 1_000_000;
    if let Some((program, rate)) = lived.most(of_cpus, 100.0, |_| true) {
        add(verdict, format!("{program} had most of them ({:.1} CPUs)", rate / 1_000.0));
    }
    true
}

/// A share of time that the kernel counted: no sample, so it has no interval.
fn counted(name: String, share: f64, n: u64) -> Quantity {
    Quantity { name, value: share, unit: Unit::Ratio, interval: None, n }
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

/// The files of a group that say what it may have, as a shell takes them.
fn quoted(directory: &str) -> String {
    let file = |name: &str| {
        let path = format!("{directory}/{name}");
        shlex::try_quote(&path).map_or_else(|_| path.clone(), Cow::into_owned)
    };
    ["cpu.max", "cpu.stat", "cgroup.procs"].map(file).join(" ")
}
