//! From what was seen of a thread to what is wrong with it: pure.

mod calls;
mod limits;
mod locks;
mod outside;

use unjank_host::Nanos;

use super::diagnosis::{Certainty, Diagnosis, Kind};
use super::seen::{Around, Calls, Glances, Prices, Seen, rate};
use super::words::percent;
use calls::{empty_polls, herd, naps, waits, wakes_nobody, yields};
use limits::{SAMPLES, WASTE, is_busy};
use locks::{lock_code, sleeps_are_the_runtime_s, titled, turns};
use outside::{naps_by_glances, spins, yields_by_samples};

/// A thread is not judged that was watched for less.
const SHORTEST: Nanos = Nanos::from_millis(200);
/// Its calls are not judged that were traced for less.
const SHORTEST_TRACE: Nanos = Nanos::from_millis(40);
/// A busy thread that waits more often a second does more than compute.
const RESTLESS: f64 = 10.0;

/// What is wrong with a thread, the worst first; one entry if nothing is, or
/// if it cannot be told.
pub fn diagnose(seen: &Seen, around: &Around, prices: &Prices) -> Vec<Diagnosis> {
    let traced = seen.calls.as_ref().filter(|calls| calls.watched >= SHORTEST_TRACE);
    if seen.watched < SHORTEST {
        return vec![cannot_tell(format!("it was watched for {} only", seen.watched))];
    }
    let of_calls = |calls: &Calls| {
        [
            yields(seen, calls, around, prices),
            empty_polls(seen, calls, prices),
            naps(seen, calls, prices),
            waits(calls, prices),
            wakes_nobody(calls, prices),
            herd(calls, prices),
        ]
    };
    let mut found: Vec<Diagnosis> =
        traced.into_iter().flat_map(of_calls).flatten().chain(spins(seen, around)).collect();
    found.extend([titled(seen), lock_code(seen)].into_iter().flatten());
    let lock = |it: &Diagnosis| it.kind.holds_up() || it.kind == Kind::ShortWaits;
    if !found.iter().any(lock) {
        found.extend(turns(seen));
    }
    if seen.calls.is_none() {
        found.extend([yields_by_samples(seen), naps_by_glances(seen)].into_iter().flatten());
    }
    found.extend(realtime(seen, &found));
    if found.is_empty() {
        found.push(nothing_found(seen, traced));
    }
    found.sort_by(|one, other| {
        let loud = |it: &Diagnosis| it.kind != Kind::Realtime;
        let doubtful = |it: &Diagnosis| it.certainty == Certainty::Suspected;
        let rank = |it: &Diagnosis| (loud(it), doubtful(it));
        rank(one).cmp(&rank(other)).then(other.wasted.total_cmp(&one.wasted))
    });
    found
}

/// A real-time thread that does not let go of its CPU.
fn realtime(seen: &Seen, found: &[Diagnosis]) -> Option<Diagnosis> {
    let how = |it: &&Diagnosis| matches!(it.kind, Kind::Yields | Kind::Spins | Kind::Polls);
    let how = found.iter().find(how).filter(|_| seen.realtime)?;
    let evidence = format!(
        "it has a real-time policy, and lets nobody of lower priority run while it waits: {}",
        how.evidence
    );
    Some(Diagnosis::bad(Kind::Realtime, how.certainty, how.wasted, evidence))
}

/// Why nothing was found.
fn nothing_found(seen: &Seen, traced: Option<&Calls>) -> Diagnosis {
    let cpu = percent(seen.cpu_share());
    let sleeps = rate(seen.voluntary, seen.watched);
    let sampled = seen.code.as_ref().is_some_and(|code| code.samples >= SAMPLES);
    if is_busy(seen) && !sampled {
        return cannot_tell(format!("{cpu} of a CPU, and where it spends it was not sampled"));
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
        let certainty = Certainty::Seen;
        return Diagnosis { kind: Kind::Fine, certainty, wasted: 0.0, evidence, action: None };
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
    let (kind, certainty) = (Kind::CannotTell, Certainty::Seen);
    Diagnosis { kind, certainty, wasted: 0.0, evidence, action: None }
}

#[cfg(test)]
mod tests;
