//! Waits for packets that TCP had to send again.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use unjank_host::Timestamp;
use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Context, EventKind, Softirq, Trace};
use unjank_units::Nanos;

use super::delay::{Delay, HeldUp};
use crate::history::{History, State};

/// A packet is sent again after this time at least: `TCP_RTO_MIN` of `include/net/tcp.h`.
const SHORTEST_TIMEOUT: Nanos = Nanos::from_millis(200);
/// A packet that arrives within this time after one was sent again is taken for that one, or the
/// answer to it.
const SOON: Nanos = Nanos::from_millis(200);

/// Sleeps in which TCP sent a packet again, and that a packet ended soon after. The recording does not
/// have whose packet it was. A sleep counts from a timeout before the first of these packets on:
/// before that, the thread may have had nothing to do.
pub(super) fn waits(trace: &Trace, history: &History, stop: &Stop, add: &mut impl FnMut(Delay)) {
    let events = trace.cpus.iter().flat_map(|cpu| cpu.events.iter());
    let sent = events.take_while(|_| !stop.is_requested());
    let sent = sent.filter(|event| matches!(event.kind, EventKind::TcpRetransmits));
    let mut sent: Vec<Timestamp> = sent.map(|event| event.at).collect();
    if sent.is_empty() {
        return;
    }
    sent.sort_unstable();
    let arrived = woken_by_packets(trace, stop);
    for (thread, life) in history.lives().take_while(|_| !stop.is_requested()) {
        for span in life.spans.iter() {
            let State::Asleep { wake: Some(wake), .. } = span.state else { continue };
            if !arrived.contains(&(thread, wake.at)) {
                continue;
            }
            let during = sent.partition_point(|at| *at < span.from)
                ..sent.partition_point(|at| *at <= wake.at);
            let Some((&first, &last)) =
                sent.get(during).and_then(|during| during.first().zip(during.last()))
            else {
                continue;
            };
            if wake.at.since(last) <= SOON {
                let timeout = first.as_nanos().saturating_sub(SHORTEST_TIMEOUT.get());
                let from = span.from.max(Timestamp::from_nanos(timeout));
                add(Delay::new(thread, (from, wake.at), HeldUp::Network));
            }
        }
    }
}

/// The wake-ups of threads by the delivery of packets.
fn woken_by_packets(trace: &Trace, stop: &Stop) -> HashSet<(ThreadId, Timestamp), RandomState> {
    let mut woken = HashSet::default();
    for cpu in &trace.cpus {
        let mut softirq = None;
        for event in cpu.events.iter().take_while(|_| !stop.is_requested()) {
            match event.kind {
                EventKind::SoftirqEntry(vector) => softirq = Some(vector),
                EventKind::SoftirqExit(_) => softirq = None,
                EventKind::Waking { task, .. }
                    if event.context == Context::Softirq && softirq == Some(Softirq::NET_RX) =>
                {
                    woken.insert((task.tid, event.at));
                }
                _ => {}
            }
        }
    }
    woken
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::{Script, task};

    use super::*;

    const MS: u64 = 1_000_000;

    /// A packet wakes thread 7, which slept from 10 ms on.
    fn woken_at(script: Script, nanos: u64) -> Vec<(u32, u64, u64)> {
        let kind = EventKind::Waking { task: task(7), cpu: 0 };
        let script = script
            .runs(0, 0, 0, 7)
            .sleeps(0, 10 * MS, 7, 0)
            .happens(0, nanos - 1_000, Context::Irq, EventKind::SoftirqEntry(Softirq::NET_RX))
            .happens(0, nanos, Context::Softirq, kind)
            .happens(0, nanos + 1_000, Context::Softirq, EventKind::SoftirqExit(Softirq::NET_RX))
            .runs(0, nanos + 5_000, 0, 7)
            .sleeps(0, nanos + 9_000, 7, 0);
        let trace = script.trace();
        let mut found = Vec::new();
        let mut add = |it: Delay| found.push((it.thread.0, it.from.as_nanos(), it.to.as_nanos()));
        waits(&trace, &History::of(&trace), &Stop::default(), &mut add);
        found
    }

    fn sent_again(script: Script, nanos: u64) -> Script {
        script.happens(1, nanos, Context::Softirq, EventKind::TcpRetransmits)
    }

    #[test]
    fn a_packet_soon_after_one_was_sent_again_ends_a_wait_for_the_network() {
        let twice = || sent_again(sent_again(Script::new(), 900 * MS), 1_300 * MS);
        // A timeout before the first one.
        assert_eq!(woken_at(twice(), 1_310 * MS), [(7, 700 * MS, 1_310 * MS)]);
        assert_eq!(woken_at(twice(), 1_800 * MS), [], "much later");
        assert_eq!(woken_at(Script::new(), 1_310 * MS), [], "none was sent again");
        let early = || sent_again(Script::new(), 5 * MS);
        assert_eq!(woken_at(early(), 100 * MS), [], "before the sleep");
        assert_eq!(
            woken_at(sent_again(Script::new(), 90 * MS), 100 * MS),
            [(7, 10 * MS, 100 * MS)]
        );
    }
}
