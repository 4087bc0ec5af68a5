//! Diagnoses from traced system calls.

use unjank_host::Nanos;

use super::super::diagnosis::{Certainty, Diagnosis, DiagnosisKind};
use super::super::observed::{
    Calls, Futex, Naps, ObservedThread, OtherThreads, Prices, Waits, rate, share,
};
use super::super::words::{counted, percent, were, whole};
use super::limits::{LOOK, STORM, WASTE};
use super::locks::{self, futex_words, sleeps_are_the_runtime_s};

/// Naps a second that are a loop: a period of 20 ms.
const NAPS: f64 = 50.0;
/// Waits a second for one lock by one thread that are contention.
const CONTENTION: f64 = 100.0;
/// Hand-offs a second to one thread that are a storm.
const HANDOFFS: f64 = 2_000.0;
/// The share of its time in one lock from which a thread is held up.
const HELD_UP: f64 = 0.2;
/// Threads woken by one call that are a crowd, and wake-ups a second of one thread
/// in a crowd for nothing.
const CROWD: u64 = 3;
const FOR_NOTHING: f64 = 20.0;

/// Yields that mostly return at once.
pub(super) fn yields(
    seen: &ObservedThread,
    calls: &Calls,
    others: &OtherThreads,
    prices: &Prices,
) -> Option<Diagnosis> {
    let yields = rate(calls.yields, calls.watched);
    let wasted = (yields * prices.traced.as_secs_f64()).min(seen.cpu_share());
    if yields < STORM || wasted < WASTE {
        return None;
    }
    let switched = (rate(seen.involuntary, seen.watched) / yields).min(1.0);
    let mut evidence = format!(
        "{} calls of sched_yield a second, {} of its CPU time; {} let another thread run",
        whole(yields),
        percent(wasted / seen.cpu_share().max(wasted)),
        percent(switched),
    );
    if others.runnable > 0 {
        evidence.push_str(", while ");
        evidence.push_str(&were(others.runnable));
        evidence.push_str(" ready and did not run");
    }
    Some(Diagnosis::bad(DiagnosisKind::Yields, Certainty::Certain, wasted, evidence))
}

/// Polls without a time limit.
pub(super) fn empty_polls(
    seen: &ObservedThread,
    calls: &Calls,
    prices: &Prices,
) -> Option<Diagnosis> {
    let polls = rate(calls.empty_polls, calls.watched);
    let wasted = (polls * prices.traced.as_secs_f64()).min(seen.cpu_share());
    let evidence = format!("{} polls a second found nothing and did not wait", whole(polls));
    (polls >= STORM && wasted >= WASTE)
        .then(|| Diagnosis::bad(DiagnosisKind::Polls, Certainty::Certain, wasted, evidence))
}

/// Short sleeps in a loop.
pub(super) fn naps(seen: &ObservedThread, calls: &Calls, prices: &Prices) -> Option<Diagnosis> {
    let Naps { sleeps, polls, waits, time } = calls.naps;
    let sleeps = if sleeps_are_the_runtime_s(seen) { 0 } else { sleeps };
    // Of polls without a time limit, some are interrupted and look like naps.
    let polls = if calls.empty_polls > polls { 0 } else { polls };
    let count = sleeps + polls + waits;
    let naps = rate(count, calls.watched);
    if naps < NAPS {
        return None;
    }
    let way = if sleeps >= polls.max(waits) {
        "sleeps"
    } else if polls >= waits {
        "polls with a time limit"
    } else {
        "timed waits on a futex"
    };
    // CPU time after other waits is not attributed to the naps.
    let all = rate(seen.voluntary, seen.watched).max(naps);
    let wasted = seen.cpu_share() * naps / all;
    let period = Nanos((1e9 / naps) as u64);
    let work = Nanos((seen.cpu_share() / all * 1e9) as u64);
    if work > LOOK {
        let evidence = format!(
            "{} {way} a second, and {work} of computing for each: periodic work, or a slow check \
             of what it waits for",
            whole(naps)
        );
        let wasted = (naps * prices.park.as_secs_f64()).min(wasted);
        return Some(Diagnosis::bad(DiagnosisKind::Naps, Certainty::Suspected, wasted, evidence));
    }
    let evidence = format!(
        "{} {way} a second, {} each, in vain; {} of a CPU, and it notices what it waits for {} late \
         on average",
        whole(naps),
        Nanos(time.get() / calls.naps.count().max(1)),
        percent(wasted),
        Nanos(period.get() / 2),
    );
    Some(Diagnosis::bad(DiagnosisKind::Naps, Certainty::Certain, wasted, evidence))
}

/// Waits for a lock, or for a hand-off.
pub(super) fn waits(calls: &Calls, prices: &Prices) -> Option<Diagnosis> {
    calls
        .lock
        .as_ref()
        .and_then(|lock| lock_waits(calls, lock, prices))
        .or_else(|| handoffs(calls, prices))
}

fn lock_waits(calls: &Calls, lock: &Futex, prices: &Prices) -> Option<Diagnosis> {
    let waits = rate(lock.waits, calls.watched);
    let waiting = share(lock.waited, calls.watched);
    let wait = lock.wait.unwrap_or(Nanos(lock.waited.get() / lock.waits.max(1)));
    let kind = match wait <= short_wait(prices) {
        true if waits >= CONTENTION => DiagnosisKind::ShortWaits,
        false if is_contended(calls, lock) => DiagnosisKind::LongWaits,
        _ => return None,
    };
    let parked = (waits * prices.park.as_secs_f64()).min(1.0);
    let wasted = if kind == DiagnosisKind::LongWaits { 0.0 } else { parked };
    let evidence = waits_words(calls, lock, waits, waiting, wait);
    let action = locks::action(lock, kind);
    Some(Diagnosis { action, ..Diagnosis::bad(kind, Certainty::Certain, wasted, evidence) })
}

/// Whether it waits on this futex so often, or for so long, that a lock there
/// would be contended.
pub(super) fn is_contended(calls: &Calls, futex: &Futex) -> bool {
    rate(futex.waits, calls.watched) >= CONTENTION
        || (share(futex.waited, calls.watched) >= HELD_UP && futex.waits > 1)
}

fn handoffs(calls: &Calls, prices: &Prices) -> Option<Diagnosis> {
    let futex = calls.busiest.as_ref().filter(|futex| !futex.is_lock)?;
    let Waits { woken, time, changed, .. } = calls.waits;
    let waits = rate(woken + changed, calls.watched);
    let wait = futex.wait.unwrap_or(Nanos(time.get() / woken.max(1)));
    if waits < HANDOFFS || wait > short_wait(prices) {
        return None;
    }
    let wasted = (waits * prices.park.as_secs_f64()).min(1.0);
    let evidence = waits_words(calls, futex, waits, share(time, calls.watched), wait);
    Some(Diagnosis::bad(DiagnosisKind::Handoffs, Certainty::Certain, wasted, evidence))
}

fn waits_words(calls: &Calls, futex: &Futex, waits: f64, waiting: f64, wait: Nanos) -> String {
    let Waits { woken, changed, .. } = calls.waits;
    format!(
        "{} waits and {} wake-ups a second, {} of its time; half of the waits on {}, which {}, took \
         less than {wait}{}",
        whole(waits),
        whole(rate(calls.wakes, calls.watched)),
        percent(waiting),
        futex_words(futex),
        counted(futex.threads as u64, "thread uses", "threads use"),
        if changed > woken { "; mostly the futex had changed before the thread slept" } else { "" },
    )
}

/// Wake-ups without a sleeper.
pub(super) fn wakes_nobody(calls: &Calls, prices: &Prices) -> Option<Diagnosis> {
    let nobody = rate(calls.nobody, calls.watched);
    let wasted = (nobody * prices.wake_nobody.as_secs_f64()).min(1.0);
    if nobody < STORM || calls.nobody * 2 < calls.wakes {
        return None;
    }
    let evidence = format!(
        "{} futex wake-ups a second woke nobody, {} of all",
        whole(nobody),
        percent(calls.nobody as f64 / calls.wakes.max(1) as f64)
    );
    Some(Diagnosis::bad(DiagnosisKind::WakesNobody, Certainty::Certain, wasted, evidence))
}

/// Woken with others, and asleep again at once.
pub(super) fn herd(calls: &Calls, prices: &Prices) -> Option<Diagnosis> {
    let crowd = calls.busiest.as_ref().filter(|futex| futex.crowd >= CROWD)?;
    let Waits { for_nothing, in_crowds, .. } = calls.waits;
    let nothing = rate(for_nothing, calls.watched);
    if nothing < FOR_NOTHING || for_nothing * 2 < in_crowds {
        return None;
    }
    let wasted = (nothing * prices.park.as_secs_f64()).min(1.0);
    let evidence = format!(
        "woken {} times a second together with others, up to {} by one call, and asleep on the \
         same {} again within {} in {} of these",
        whole(rate(in_crowds, calls.watched)),
        crowd.crowd,
        crowd.id,
        Waits::AGAIN,
        percent(for_nothing as f64 / in_crowds.max(1) as f64),
    );
    Some(Diagnosis::bad(DiagnosisKind::Herd, Certainty::Certain, wasted, evidence))
}

/// A wait that is cheaper spun than slept: the wake-up itself, and a park there
/// and back.
fn short_wait(prices: &Prices) -> Nanos {
    prices.park.times(3)
}
