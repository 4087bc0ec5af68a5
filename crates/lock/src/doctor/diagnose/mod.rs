//! Diagnoses a thread from its observations: pure.

mod blind;
mod calls;
mod limits;
mod locks;
mod sampled;

use unjank_host::Nanos;

use super::diagnosis::{Certainty, Diagnosis, DiagnosisKind};
use super::observed::{Calls, Glances, ObservedThread, OtherThreads, Prices, rate};
use super::words::percent;
pub(super) use blind::Blind;
use calls::{empty_polls, herd, naps, waits, wakes_nobody, yields};
use limits::{SAMPLES, WASTE, is_busy};
use locks::{held, lock_code, sleeps_are_the_runtime_s, titled, turns};
use sampled::{naps_by_glances, spins, yields_by_samples, yields_by_switches};

/// A thread that was watched for less is not judged.
const SHORTEST: Nanos = Nanos::from_millis(200);
/// Calls that were traced for less are not judged.
const SHORTEST_TRACE: Nanos = Nanos::from_millis(40);
/// A busy thread with more waits a second does more than compute.
const RESTLESS: f64 = 10.0;

/// The diagnoses of a thread, the worst first. There is always at least one,
/// perhaps `Fine` or `CannotTell`.
pub fn diagnose(seen: &ObservedThread, others: &OtherThreads, prices: &Prices) -> Vec<Diagnosis> {
    let traced = seen.calls.as_ref().filter(|calls| calls.watched >= SHORTEST_TRACE);
    if seen.watched < SHORTEST {
        return vec![cannot_tell(format!("it was watched for {} only", seen.watched))];
    }
    let of_calls = |calls: &Calls| {
        [
            yields(seen, calls, others, prices),
            empty_polls(seen, calls, prices),
            naps(seen, calls, prices),
            waits(calls, prices),
            wakes_nobody(calls, prices),
            herd(calls, prices),
        ]
    };
    let mut found: Vec<Diagnosis> =
        traced.into_iter().flat_map(of_calls).flatten().chain(spins(seen, others)).collect();
    found.extend([titled(seen), lock_code(seen), held(seen)].into_iter().flatten());
    let lock = |it: &Diagnosis| it.kind.holds_up() || it.kind == DiagnosisKind::ShortWaits;
    if !found.iter().any(lock) {
        found.extend(turns(seen));
    }
    if seen.calls.is_none() {
        let yields = yields_by_samples(seen).or_else(|| yields_by_switches(seen));
        found.extend([yields, naps_by_glances(seen)].into_iter().flatten());
    }
    found.extend(realtime(seen, &found));
    if found.is_empty() {
        found.push(nothing_found(seen, traced));
    }
    found.sort_by(|one, other| {
        let loud = |it: &Diagnosis| it.kind != DiagnosisKind::Realtime;
        let doubtful = |it: &Diagnosis| it.certainty == Certainty::Suspected;
        let rank = |it: &Diagnosis| (loud(it), doubtful(it));
        rank(one).cmp(&rank(other)).then(other.wasted.total_cmp(&one.wasted))
    });
    found
}

/// A real-time thread that waits without giving up its CPU.
fn realtime(seen: &ObservedThread, found: &[Diagnosis]) -> Option<Diagnosis> {
    let how = |it: &&Diagnosis| {
        matches!(it.kind, DiagnosisKind::Yields | DiagnosisKind::Spins | DiagnosisKind::Polls)
    };
    let how = found.iter().find(how).filter(|_| seen.realtime)?;
    let evidence = format!(
        "it has a real-time policy, and keeps threads of lower priority from running while it \
         waits: {}",
        how.evidence
    );
    Some(Diagnosis::bad(DiagnosisKind::Realtime, how.certainty, how.wasted, evidence))
}

/// The diagnosis of a thread without a problem: fine, or why that is unknown.
fn nothing_found(seen: &ObservedThread, traced: Option<&Calls>) -> Diagnosis {
    let cpu = percent(seen.cpu_share());
    let sleeps = rate(seen.voluntary, seen.watched);
    let sampled = seen.code.as_ref().is_some_and(|code| code.samples >= SAMPLES);
    if is_busy(seen) && !sampled {
        return cannot_tell(format!("{cpu} of a CPU, but too few samples of its code"));
    }
    if let Some(blind) = Blind::of(seen) {
        return cannot_tell(blind.evidence());
    }
    let computes = is_busy(seen) && sleeps < RESTLESS;
    if traced.is_some() || seen.cpu_share() < WASTE || computes {
        let sysmon = match traced {
            Some(calls) if sleeps_are_the_runtime_s(seen) && calls.naps.sleeps > 0 => {
                "; short sleeps are those of Go's runtime"
            }
            _ => "",
        };
        let evidence = format!("{cpu} of a CPU, {sleeps:.0} sleeps or waits a second{sysmon}");
        let certainty = Certainty::Certain;
        return Diagnosis {
            kind: DiagnosisKind::Fine,
            certainty,
            wasted: 0.0,
            evidence,
            action: None,
        };
    }
    let in_kernel = seen.user_part().map_or_else(String::new, |user| {
        format!(", {} of its CPU time in the kernel", percent(1.0 - user))
    });
    let traced = match &seen.calls {
        Some(calls) => format!("traced for {} only", calls.watched),
        None => "not traced".to_owned(),
    };
    let glances = match seen.glances {
        Glances { all: 0, .. } => String::new(),
        Glances { all, sleeps, polls, waits } => format!(
            "; of {all} glances, {sleeps} found it in a sleep, {polls} in a poll, {waits} on a futex"
        ),
    };
    cannot_tell(format!(
        "{cpu} of a CPU, {sleeps:.0} sleeps or waits a second{in_kernel}; its system calls were \
         {traced}{glances}"
    ))
}

fn cannot_tell(evidence: String) -> Diagnosis {
    let (kind, certainty) = (DiagnosisKind::CannotTell, Certainty::Certain);
    Diagnosis { kind, certainty, wasted: 0.0, evidence, action: None }
}

#[cfg(test)]
mod tests;
