//! Diagnoses from samples and glances, which need no trace.

use unjank_host::Nanos;
use unjank_measure::number::grouped;

use super::super::diagnosis::{Certainty, Diagnosis, DiagnosisKind, place_words};
use super::super::observed::{Glances, ObservedThread, OtherThreads, rate};
use super::super::words::{percent, threads, were, whole};
use super::limits::{LOOK, SAMPLES, STORM, WASTE, is_busy};

/// The most lines of 64 bytes in a tight loop.
const TIGHT: usize = 8;
/// One without a pause is shorter: a load, a comparison and a jump.
const TIGHT_UNMARKED: usize = 2;
/// Sleeps a second that are a loop, if they cannot be distinguished from other
/// waits; and the least number of glances that show what a thread mostly does.
const NAPS_BY_GLANCES: f64 = 200.0;
const GLANCES: u64 = 10;

/// A busy wait, by the samples of its loop.
pub(super) fn spins(seen: &ObservedThread, others: &OtherThreads) -> Option<Diagnosis> {
    let code = seen.code.as_ref().filter(|code| code.samples >= SAMPLES && code.lines <= TIGHT)?;
    let pauses = code.pauses == Some(true);
    let tight = code.lines <= TIGHT_UNMARKED && others.runnable + others.idle > 0;
    let suspicious = pauses || tight;
    if !is_busy(seen) || !suspicious {
        return None;
    }
    let lines = match code.lines {
        1 => "one line".to_owned(),
        lines => format!("{lines} lines"),
    };
    let place = code.place.as_ref().map(|place| format!(", mostly {}", place_words(place)));
    let meanwhile = match (others.runnable, others.idle) {
        (0, 0) => None,
        (0, idle) => Some(format!("; {} asleep meanwhile", were(idle))),
        (runnable, _) => Some(format!("; {} ready and did not run", were(runnable))),
    };
    let same_cpu = (others.same_cpu > 0)
        .then(|| format!("; {} may run on this CPU only, as it does", threads(others.same_cpu)));
    let evidence = [
        Some(format!(
            "{} of a CPU outside the kernel; nine tenths of {} samples in {lines} of 64 bytes",
            percent(seen.cpu_share()),
            grouped(code.samples),
        )),
        pauses.then(|| " with a pause among them".to_owned()),
        place,
        meanwhile,
        same_cpu,
        (!pauses).then(|| "; a loop that computes looks the same".to_owned()),
    ];
    let certainty = if pauses { Certainty::Certain } else { Certainty::Suspected };
    let evidence = evidence.into_iter().flatten().collect();
    Some(Diagnosis::bad(DiagnosisKind::Spins, certainty, seen.cpu_share(), evidence))
}

/// Without a trace: the samples outside the kernel lie where `sched_yield`
/// returns.
pub(super) fn yields_by_samples(seen: &ObservedThread) -> Option<Diagnosis> {
    let code = seen.code.as_ref().filter(|code| code.samples >= SAMPLES)?;
    let place = code.place.as_ref()?;
    let yields = place.function.as_ref().is_some_and(|name| name.contains("sched_yield"));
    let evidence = format!(
        "{} of a CPU, and most of {} samples outside the kernel in {}",
        percent(seen.cpu_share()),
        code.samples,
        place_words(place)
    );
    yields.then(|| {
        Diagnosis::bad(DiagnosisKind::Yields, Certainty::Suspected, seen.cpu_share(), evidence)
    })
}

/// Without a trace: it loses its CPU again and again after a moment, although it does not sleep.
/// Where other threads are ready, each `sched_yield` does that.
pub(super) fn yields_by_switches(seen: &ObservedThread) -> Option<Diagnosis> {
    let switches = rate(seen.involuntary, seen.watched);
    let each = Nanos(seen.cpu.get() / seen.involuntary.max(1));
    let rarely_sleeps = seen.voluntary < seen.involuntary / 2;
    if switches < STORM || each > LOOK || !rarely_sleeps || seen.cpu_share() < WASTE {
        return None;
    }
    let evidence = format!(
        "{} of a CPU; {} times a second another thread took its CPU, each time after {each}, as \
         after a sched_yield",
        percent(seen.cpu_share()),
        whole(switches),
    );
    Some(Diagnosis::bad(DiagnosisKind::Yields, Certainty::Suspected, seen.cpu_share(), evidence))
}

/// Without a trace: it sleeps often, and mostly in `nanosleep`.
pub(super) fn naps_by_glances(seen: &ObservedThread) -> Option<Diagnosis> {
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
    Some(Diagnosis::bad(DiagnosisKind::Naps, Certainty::Suspected, seen.cpu_share(), evidence))
}
