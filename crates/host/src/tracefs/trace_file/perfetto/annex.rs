//! The annex of unjank's own traces: an instant event on the first track, with the annex as an
//! argument. Perfetto shows it as any other event.

use super::super::annex::Annex;
use super::super::limits::HIGHEST_CPU;
use super::wire::{Fields, Malformed};
use crate::clock::Timestamp;
use crate::tracefs::trace::{CpuTrace, Gap, Trace};

/// The name of the event: `TrackEvent.name`.
pub const EVENT: &str = "unjank recording";
/// The name of its argument, which contains the annex as JSON: `DebugAnnotation.name`.
pub const ANNOTATION: &str = "unjank annex";

/// Gives the CPUs that the annex lists their exact gaps.
pub(super) fn set_gaps(trace: &mut Trace, annex: &Annex) {
    let gaps = |spans: &[[u64; 2]]| {
        let spans = spans.iter().map(|span| span.map(Timestamp::from_nanos));
        let gaps = spans.map(|[from, to]| Gap { from, to });
        let mut gaps: Vec<Gap> = gaps.filter(|gap| gap.from < gap.to).collect();
        gaps.sort_by_key(|gap| gap.from);
        gaps
    };
    for of_cpu in annex.gaps.iter().filter(|of_cpu| of_cpu.cpu <= HIGHEST_CPU) {
        let place = trace.cpus.binary_search_by_key(&of_cpu.cpu, |cpu| cpu.cpu);
        let place = place.unwrap_or_else(|place| {
            // It had nothing to do.
            trace.cpus.insert(place, CpuTrace::new(of_cpu.cpu));
            place
        });
        if let Some(cpu) = trace.cpus.get_mut(place) {
            (cpu.gaps, cpu.call_gaps) = (gaps(&of_cpu.of_events), gaps(&of_cpu.of_calls));
        }
    }
}

/// The annex in a `TrackEvent`; `None` for all other events.
pub(super) fn of_track_event(message: &[u8]) -> Result<Option<Annex>, Malformed> {
    let (mut is_ours, mut annex) = (false, None);
    for field in Fields::of(message) {
        match field? {
            (4, annotation) => annex = annex.or(json(annotation.bytes()?)?),
            (23, name) => is_ours = name.bytes()? == EVENT.as_bytes(),
            _ => {}
        }
    }
    let json = annex.filter(|_| is_ours);
    json.map(|json| serde_json::from_slice(json).map_err(|_| Malformed)).transpose()
}

/// The content of the annotation, if it is the annex.
fn json(annotation: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let (mut is_annex, mut content) = (false, None);
    for field in Fields::of(annotation) {
        match field? {
            (6, value) => content = Some(value.bytes()?),
            (10, name) => is_annex = name.bytes()? == ANNOTATION.as_bytes(),
            _ => {}
        }
    }
    Ok(content.filter(|_| is_annex))
}
