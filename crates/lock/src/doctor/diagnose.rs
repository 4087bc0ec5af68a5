//! From what was seen of a thread to what is wrong with it: pure.

use unjank_host::Nanos;

use super::diagnosis::{Certainty, Diagnosis, Kind, place_words};
use super::seen::{Around, Calls, Futex, Glances, Naps, Prices, Seen, Waits, rate, share};

/// A thread is not judged that was watched for less.
const SHORTEST: Nanos = Nanos::from_millis(200);
/// Its calls are not judged that were traced for less.
const SHORTEST_TRACE: Nanos = Nanos::from_millis(40);
/// Less than this share of a CPU is no waste of CPU time.
const WASTE: f64 = 0.01;
/// Yields and empty polls a second that are a storm: one each millisecond.
const STORM: f64 = 1_000.0;
/// Naps a second that are a loop: a period of 20 ms.
const NAPS: f64 = 50.0;
/// So many, where they are not told from other waits; and so many glances say
/// what a thread mostly does.
const NAPS_BY_GLANCES: f64 = 200.0;
const GLANCES: u64 = 10;
/// Waits a second for one lock by one thread that are contention.
const CONTENTION: f64 = 100.0;
/// Hand-overs a second to one thread that are a storm.
const HANDOVERS: f64 = 2_000.0;
/// A thread that waits for one lock for this share of its time is held up.
const HELD_UP: f64 = 0.2;
/// Threads woken by one call that are a crowd, and how often a second one
/// thread is woken in one for nothing.
const CROWD: u64 = 3;
const FOR_NOTHING: f64 = 20.0;
/// A busy thread has its CPU for this share of the time, or would have it.
const BUSY: f64 = 0.9;
/// A busy thread that waits more often a second does more than compute.
const RESTLESS: f64 = 10.0;
/// Which part of its CPU time a spinning thread spends outside the kernel.
const OUTSIDE: f64 = 0.9;
/// So many samples say where a thread is, and a tight loop is so many lines of
/// 64 bytes at most.
const SAMPLES: u64 = 50;
const TIGHT: usize = 8;
/// One without a pause is shorter: a load, a comparison and a jump.
const TIGHT_UNMARKED: usize = 2;

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
            naps(seen, calls),
            waits(calls, prices),
            wakes_nobody(calls, prices),
            herd(calls, prices),
        ]
    };
    let mut found: Vec<Diagnosis> =
        traced.into_iter().flat_map(of_calls).flatten().chain(spins(seen, around)).collect();
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

/// Yields that mostly come back at once.
fn yields(seen: &Seen, calls: &Calls, around: &Around, prices: &Prices) -> Option<Diagnosis> {
    let yields = rate(calls.yields, calls.watched);
    let wasted = (yields * prices.traced.as_secs_f64()).min(seen.cpu_share());
    if yields < STORM || wasted < WASTE {
        return None;
    }
    let switched = (rate(seen.involuntary, seen.watched) / yields).min(1.0);
    let mut evidence = format!(
        "{yields:.0} calls of sched_yield a second, {} of its CPU time; {} let another thread run",
        percent(wasted / seen.cpu_share().max(wasted)),
        percent(switched),
    );
    if around.hungry > 0 {
        evidence += &format!(", while {} ready and did not run", were(around.hungry));
    }
    Some(bad(Kind::Yields, Certainty::Seen, wasted, evidence))
}

/// Polls without a time limit.
fn empty_polls(seen: &Seen, calls: &Calls, prices: &Prices) -> Option<Diagnosis> {
    let polls = rate(calls.empty_polls, calls.watched);
    let wasted = (polls * prices.traced.as_secs_f64()).min(seen.cpu_share());
    let evidence = format!("{polls:.0} polls a second found nothing and did not wait");
    (polls >= STORM && wasted >= WASTE).then(|| bad(Kind::Polls, Certainty::Seen, wasted, evidence))
}

/// Short sleeps in a cadence.
fn naps(seen: &Seen, calls: &Calls) -> Option<Diagnosis> {
    let Naps { sleeps, polls, waits, time } = calls.naps;
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
    // What it does after other waits is not the naps' fault.
    let all = rate(seen.voluntary, seen.watched).max(naps);
    let wasted = seen.cpu_share() * naps / all;
    let period = Nanos((1e9 / naps) as u64);
    let evidence = format!(
        "{naps:.0} {way} a second, {} each, in vain; {} of a CPU, and what it waits for is seen {} \
         late on average",
        Nanos(time.get() / calls.naps.count().max(1)),
        percent(wasted),
        Nanos(period.get() / 2),
    );
    Some(bad(Kind::Naps, Certainty::Seen, wasted, evidence))
}

/// Waits for a lock, or for a hand-over.
fn waits(calls: &Calls, prices: &Prices) -> Option<Diagnosis> {
    let Futex { address, threads: users, is_lock, wait, .. } = calls.busiest?;
    let Waits { woken, time, changed, .. } = calls.waits;
    let waits = rate(woken + changed, calls.watched);
    let waiting = share(time, calls.watched);
    let mean = Nanos(time.get() / woken.max(1));
    let wait = wait.unwrap_or(mean);
    let short = wait <= short_wait(prices);
    let kind = match (is_lock, short) {
        (true, true) if waits >= CONTENTION => Kind::ShortWaits,
        (true, false) if waits >= CONTENTION || (waiting >= HELD_UP && woken > 1) => {
            Kind::LongWaits
        }
        (false, true) if waits >= HANDOVERS => Kind::Handovers,
        _ => return None,
    };
    let wakes = rate(calls.wakes, calls.watched);
    let wasted = (waits * prices.park.as_secs_f64()).min(1.0);
    let wasted = if kind == Kind::LongWaits { 0.0 } else { wasted };
    let evidence = format!(
        "{waits:.0} waits and {wakes:.0} wake-ups a second, {} of its time; half of the waits on \
         futex {address:#x}, which {} use, took less than {wait}{}",
        percent(waiting),
        threads(users),
        if changed > woken { ", and most had changed before the thread slept" } else { "" },
    );
    Some(bad(kind, Certainty::Seen, wasted, evidence))
}

/// Wake-ups without a sleeper.
fn wakes_nobody(calls: &Calls, prices: &Prices) -> Option<Diagnosis> {
    let nobody = rate(calls.nobody, calls.watched);
    let wasted = (nobody * prices.wake_nobody.as_secs_f64()).min(1.0);
    if nobody < STORM || calls.nobody * 2 < calls.wakes {
        return None;
    }
    let evidence = format!(
        "{nobody:.0} futex wake-ups a second woke nobody, {} of all",
        percent(calls.nobody as f64 / calls.wakes.max(1) as f64)
    );
    Some(bad(Kind::WakesNobody, Certainty::Seen, wasted, evidence))
}

/// Woken with others, and asleep again at once.
fn herd(calls: &Calls, prices: &Prices) -> Option<Diagnosis> {
    let crowd = calls.busiest.filter(|futex| futex.crowd >= CROWD)?;
    let Waits { for_nothing, in_crowds, .. } = calls.waits;
    let nothing = rate(for_nothing, calls.watched);
    if nothing < FOR_NOTHING || for_nothing * 2 < in_crowds {
        return None;
    }
    let wasted = (nothing * prices.park.as_secs_f64()).min(1.0);
    let evidence = format!(
        "woken {:.0} times a second together with others, up to {} by one call, and asleep on the \
         same futex {:#x} again within {} in {} of these",
        rate(in_crowds, calls.watched),
        crowd.crowd,
        crowd.address,
        Waits::AGAIN,
        percent(for_nothing as f64 / in_crowds.max(1) as f64),
    );
    Some(bad(Kind::Herd, Certainty::Seen, wasted, evidence))
}

/// A CPU for nothing, as far as that can be seen from outside.
fn spins(seen: &Seen, around: &Around) -> Option<Diagnosis> {
    let code = seen.code.as_ref().filter(|code| code.samples >= SAMPLES && code.lines <= TIGHT)?;
    let pauses = code.pauses == Some(true);
    let tight = code.lines <= TIGHT_UNMARKED && around.hungry + around.idle > 0;
    let suspicious = pauses || tight;
    if !is_busy(seen) || !suspicious {
        return None;
    }
    let mut evidence = format!(
        "{} of a CPU outside the kernel; nine tenths of {} samples in {} of 64 bytes",
        percent(seen.cpu_share()),
        code.samples,
        if code.lines == 1 { "one line".to_owned() } else { format!("{} lines", code.lines) },
    );
    if pauses {
        evidence += " with a pause among them";
    }
    if let Some(place) = &code.place {
        evidence += &format!(", mostly {}", place_words(place));
    }
    evidence += &match (around.hungry, around.idle) {
        (0, 0) => String::new(),
        (0, idle) => format!("; {} asleep meanwhile", were(idle)),
        (hungry, _) => format!("; {} ready and did not run", were(hungry)),
    };
    if around.same_cpu > 0 {
        evidence += &format!("; {} may run on this CPU only, as it does", threads(around.same_cpu));
    }
    let certainty = if pauses { Certainty::Seen } else { Certainty::Suspected };
    if !pauses {
        evidence += "; a loop that computes looks the same";
    }
    Some(bad(Kind::Spins, certainty, seen.cpu_share(), evidence))
}

/// Where nothing is traced: samples outside the kernel lie where the call of
/// `sched_yield` comes back.
fn yields_by_samples(seen: &Seen) -> Option<Diagnosis> {
    let code = seen.code.as_ref().filter(|code| code.samples >= SAMPLES)?;
    let place = code.place.as_ref()?;
    let yields = place.function.as_ref().is_some_and(|name| name.contains("sched_yield"));
    let evidence = format!(
        "{} of a CPU, and most of {} samples outside the kernel in {}",
        percent(seen.cpu_share()),
        code.samples,
        place_words(place)
    );
    yields.then(|| bad(Kind::Yields, Certainty::Suspected, seen.cpu_share(), evidence))
}

/// Where nothing is traced: it sleeps often, and nearly always in a call for
/// that.
fn naps_by_glances(seen: &Seen) -> Option<Diagnosis> {
    let Glances { all, sleeps, .. } = seen.glances;
    let naps = rate(seen.voluntary, seen.watched);
    if all < GLANCES || sleeps * 2 < all || naps < NAPS_BY_GLANCES {
        return None;
    }
    let evidence = format!(
        "{naps:.0} sleeps or waits a second, and asleep in nanosleep in {sleeps} of {all} glances; \
         {} of a CPU",
        percent(seen.cpu_share())
    );
    Some(bad(Kind::Naps, Certainty::Suspected, seen.cpu_share(), evidence))
}

/// A real-time thread that does not let go of its CPU.
fn realtime(seen: &Seen, found: &[Diagnosis]) -> Option<Diagnosis> {
    let how = |it: &&Diagnosis| matches!(it.kind, Kind::Yields | Kind::Spins | Kind::Polls);
    let how = found.iter().find(how).filter(|_| seen.realtime)?;
    let evidence = format!(
        "it has a real-time policy, and lets nobody of lower priority run while it waits: {}",
        how.evidence
    );
    Some(bad(Kind::Realtime, how.certainty, how.wasted, evidence))
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
        let evidence = format!("{cpu} of a CPU, {sleeps:.0} sleeps or waits a second");
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

/// Whether it has a CPU, or waits to have one, and calls the kernel hardly.
fn is_busy(seen: &Seen) -> bool {
    let wants = seen.cpu_share() + seen.ready_share().unwrap_or(0.0);
    wants >= BUSY && seen.user_part().is_some_and(|user| user >= OUTSIDE)
}

/// A wait that costs less to spin than to sleep through: the wake-up itself,
/// and what a park takes there and back.
fn short_wait(prices: &Prices) -> Nanos {
    prices.park.times(3)
}

fn bad(kind: Kind, certainty: Certainty, wasted: f64, evidence: String) -> Diagnosis {
    Diagnosis { kind, certainty, wasted, evidence, action: kind.action() }
}

fn cannot_tell(evidence: String) -> Diagnosis {
    let (kind, certainty) = (Kind::CannotTell, Certainty::Seen);
    Diagnosis { kind, certainty, wasted: 0.0, evidence, action: None }
}

fn threads(count: usize) -> String {
    if count == 1 { "one other thread".to_owned() } else { format!("{count} threads") }
}

fn were(count: usize) -> String {
    format!("{} {}", threads(count), if count == 1 { "was" } else { "were" })
}

pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
#[path = "diagnose_tests.rs"]
mod tests;
