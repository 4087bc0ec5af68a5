//! The critical path as tracks: one for the whole path, one for the waits of the explained
//! thread, and a lane for each thread on the path, with arrows from lane to lane.

use std::collections::HashMap;
use std::io::{self, Write};

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

use super::slices::{Slice, SliceWriter, Track, Value};
use super::write::PacketWriter;
use crate::export::words::wait_of;
use crate::path::{Detail, OwnWait, Segment};
use crate::report::{Explained, ended_by, evidence, operation, place, thread_name};
use crate::split::Cell;

/// The group of all tracks.
pub(super) const GROUP: Track = Track(0);
const PATH: Track = Track(1);
const WAITS: Track = Track(2);
/// The first lane.
const LANES: u32 = 3;
/// Numbers of arrows begin here: `unjank` in ASCII.
const ARROWS: u64 = 0x756e_6a61_6e6b_0000;

/// Writes the tracks of a launch.
pub(super) fn write<W: Write>(
    launch: &Explained,
    packets: &mut PacketWriter<'_, W>,
) -> io::Result<()> {
    let mut slices = SliceWriter::new(packets);
    let explained = thread_name(launch.history(), launch.thread);
    slices.describe(GROUP, None, format!("critical path of {explained}"), "")?;
    let what = "The critical path: activities, and the threads that they were on";
    slices.describe(PATH, Some(GROUP), "path".to_owned(), what)?;
    let what = "Calls in which the explained thread slept, and what ended the sleeps";
    slices.describe(WAITS, Some(GROUP), format!("waits of {explained}"), what)?;
    let lanes = describe_lanes(launch, &mut slices)?;
    path(launch, &lanes, &mut slices)?;
    waits(launch, &mut slices)
}

/// The lanes of the threads on the path, in the order in which it meets them.
fn describe_lanes<W: Write>(
    launch: &Explained,
    slices: &mut SliceWriter<'_, '_, W>,
) -> io::Result<HashMap<ThreadId, Track>> {
    let mut lanes = HashMap::new();
    for segment in &launch.path().segments {
        if !lanes.contains_key(&segment.thread) {
            let lane = Track(LANES + lanes.len() as u32);
            let name = thread_name(launch.history(), segment.thread);
            slices.describe(lane, Some(GROUP), name, "")?;
            lanes.insert(segment.thread, lane);
        }
    }
    Ok(lanes)
}

fn path<W: Write>(
    launch: &Explained,
    lanes: &HashMap<ThreadId, Track>,
    slices: &mut SliceWriter<'_, '_, W>,
) -> io::Result<()> {
    let segments = &launch.path().segments;
    let mut arrow_to = None;
    for (index, segment) in segments.iter().enumerate() {
        let activity = Cell::Of(segment.activity).name();
        let thread = thread_name(launch.history(), segment.thread);
        let next = segments.get(index + 1);
        let leaves = next.is_some_and(|next| next.thread != segment.thread);
        let arrow_from = leaves.then_some(ARROWS + index as u64);
        let slice = |name, arrows| Slice {
            at: segment.from,
            name,
            arguments: arguments(launch, segment),
            arrows,
        };
        let whole = format!("{activity}: {thread}");
        slices.begin(PATH, slice(&whole, [None, None]))?;
        slices.end(PATH, segment.to)?;
        if let Some(&lane) = lanes.get(&segment.thread) {
            slices.begin(lane, slice(activity, [arrow_from, arrow_to]))?;
            slices.end(lane, segment.to)?;
        }
        arrow_to = arrow_from;
    }
    Ok(())
}

fn waits<W: Write>(launch: &Explained, slices: &mut SliceWriter<'_, '_, W>) -> io::Result<()> {
    for wait in &launch.path().waits {
        let OwnWait { from, to, .. } = *wait;
        let mut arguments = vec![
            ("ended by", Value::Text(ended_by(launch, wait))),
            ("way", Value::Text(wait.way.name().to_owned())),
        ];
        arguments.extend(function(launch, wait.thread, to));
        let name = &place(&wait.wait);
        slices.begin(WAITS, Slice { at: from, name, arguments, arrows: [None, None] })?;
        slices.end(WAITS, to)?;
    }
    Ok(())
}

/// The argument `function`: the functions in which a thread slept or lost its CPU before `to`.
fn function(launch: &Explained, thread: ThreadId, to: Timestamp) -> Option<(&'static str, Value)> {
    let chain = launch.chain_off_cpu(thread, to);
    (!chain.is_empty()).then_some(("function", Value::Text(chain)))
}

fn arguments(launch: &Explained, segment: &Segment) -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::Text(text.to_owned());
    let thread = thread_name(launch.history(), segment.thread);
    let mut arguments = vec![
        ("way", text(segment.way.name())),
        ("evidence", text(evidence([segment]))),
        ("thread", Value::Text(thread)),
        ("wake-ups away", Value::Number(u64::from(segment.depth))),
    ];
    if let Some(wait) = wait_of(launch, segment) {
        arguments.push(("in", Value::Text(place(&wait))));
    }
    arguments.extend(function(launch, segment.thread, segment.to));
    if let Some(function) = launch.work_function(segment.thread, segment.to) {
        arguments.push(("work", text(function)));
    }
    match segment.detail {
        Detail::None => {}
        Detail::Cpu(cpu) => arguments.push(("cpu", Value::Number(cpu as u64))),
        Detail::Interrupt(id) => {
            let name = launch.history().interrupt_name(id).to_string();
            arguments.push(("interrupt", Value::Text(name)));
        }
        Detail::Request(id) => {
            if let Some(request) = launch.history().request(id) {
                let asked = &request.asked;
                arguments.extend([
                    ("device", Value::Text(asked.device.to_string())),
                    ("operation", text(operation(asked.letters.as_bytes()))),
                    ("sector", Value::Number(asked.sector)),
                    ("sectors", Value::Number(u64::from(asked.sectors))),
                ]);
            }
        }
    }
    arguments
}
