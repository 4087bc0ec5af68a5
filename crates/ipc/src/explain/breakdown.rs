//! The breakdown of one call's time. Pure: a function over a trace.

use std::fmt;

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::timeline::{Span, ThreadState, follow};
use unjank_host::tracefs::{Occupant, Trace};
use unjank_host::{Nanos, Support, Timestamp};

/// A part of a call, by what client and server did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The client had a CPU: it sent the request, or read the reply.
    ClientRan,
    /// The client was runnable and waited for a CPU.
    ClientWaited,
    /// The client slept, and the server had a CPU.
    ServerRan,
    /// The client slept, and the server waited for a CPU.
    ServerWaited,
    /// Both slept.
    BothSlept,
}

impl Phase {
    const ALL: [Self; 5] =
        [Self::ClientRan, Self::ServerWaited, Self::ServerRan, Self::BothSlept, Self::ClientWaited];
}

/// What had the CPU while a call made no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Culprit {
    pub(crate) who: Occupant,
    pub(crate) phase: Phase,
    pub(crate) held: Nanos,
}

/// The phases of one call. They add up to its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Breakdown {
    parts: Vec<(Phase, Nanos)>,
    /// Longest first.
    pub(crate) culprits: Vec<Culprit>,
}

/// Splits a call into phases, or gives the reason why the trace does not allow it.
pub(crate) fn break_down(
    trace: &Trace,
    client: ThreadId,
    server: ThreadId,
    began: Timestamp,
    took: Nanos,
) -> Support<Breakdown> {
    let ended = began + took;
    let timelines = follow(trace, client, began, ended)
        .and_then(|client| Ok((client, follow(trace, server, began, ended)?)));
    let (of_client, of_server) = match timelines {
        Ok(both) => both,
        Err(reason) => return Support::No(reason),
    };
    let mut breakdown = Breakdown { parts: Vec::new(), culprits: Vec::new() };
    for span in &of_client.spans {
        match span.state {
            ThreadState::Running { cpu } => {
                breakdown.add(trace, Phase::ClientRan, span, Some(cpu), client);
            }
            ThreadState::Ready { cpu } => {
                breakdown.add(trace, Phase::ClientWaited, span, Some(cpu), client);
            }
            ThreadState::Asleep { .. } => {
                for part in of_server.spans.iter().filter_map(|other| overlap(span, other)) {
                    let (phase, cpu) = match part.state {
                        ThreadState::Running { cpu } => (Phase::ServerRan, Some(cpu)),
                        ThreadState::Ready { cpu } => (Phase::ServerWaited, Some(cpu)),
                        ThreadState::Asleep { .. } => (Phase::BothSlept, None),
                    };
                    breakdown.add(trace, phase, &part, cpu, server);
                }
            }
        }
    }
    breakdown.culprits.sort_by_key(|culprit| std::cmp::Reverse(culprit.held));
    Support::Yes(breakdown)
}

/// The part of `of` that lies within `window`.
fn overlap(window: &Span, of: &Span) -> Option<Span> {
    let part = Span { from: of.from.max(window.from), to: of.to.min(window.to), state: of.state };
    (part.from < part.to).then_some(part)
}

impl Breakdown {
    fn add(&mut self, trace: &Trace, phase: Phase, span: &Span, cpu: Option<usize>, own: ThreadId) {
        match self.parts.iter_mut().find(|(known, _)| *known == phase) {
            Some((_, length)) => *length = *length + span.length(),
            None => self.parts.push((phase, span.length())),
        }
        let Some(events) = cpu.and_then(|cpu| trace.cpu(cpu)) else { return };
        for stretch in events.between(span.from, span.to) {
            let who = stretch.who;
            if matches!(who, Occupant::Thread(task) if task.tid == own) {
                continue;
            }
            let known = self
                .culprits
                .iter_mut()
                .find(|known| known.phase == phase && known.who.is_same(&who));
            match known {
                Some(known) => known.held = known.held + stretch.length(),
                None => self.culprits.push(Culprit { who, phase, held: stretch.length() }),
            }
        }
    }

    fn length(&self, phase: Phase) -> Nanos {
        let part = self.parts.iter().find(|(known, _)| *known == phase);
        part.map_or(Nanos::ZERO, |(_, length)| *length)
    }

    /// ` while hog (3 ms) had it`.
    fn meanwhile(&self, phase: Phase) -> String {
        let worth_naming = |culprit: &&Culprit| {
            culprit.phase == phase && culprit.held.times(5) >= self.length(phase)
        };
        let named: Vec<String> = self
            .culprits
            .iter()
            .filter(worth_naming)
            .take(3)
            .map(|culprit| format!("{} ({})", culprit.who, culprit.held))
            .collect();
        if named.is_empty() {
            return " (the trace does not show who had it)".to_owned();
        }
        format!(" while {} had it", named.join(" and "))
    }
}

/// Each phase of at least a quarter of the call. A phase may have several pieces, so the list says
/// nothing about which came first.
impl fmt::Display for Breakdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.parts.iter().fold(Nanos::ZERO, |sum, (_, length)| sum + *length);
        let mut separator = "";
        for phase in Phase::ALL {
            let length = self.length(phase);
            if length == Nanos::ZERO || length.times(4) < whole {
                continue;
            }
            write!(f, "{separator}")?;
            separator = "; ";
            match phase {
                Phase::ClientRan => write!(f, "the client ran for {length}")?,
                Phase::ServerRan => write!(f, "the server ran for {length}")?,
                Phase::BothSlept => write!(f, "both processes slept for {length}")?,
                Phase::ClientWaited => {
                    write!(f, "the client waited {length} for the CPU{}", self.meanwhile(phase))?;
                }
                Phase::ServerWaited => {
                    write!(f, "the server waited {length} for the CPU{}", self.meanwhile(phase))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::{Script, at};

    use super::*;

    const CLIENT: ThreadId = ThreadId(7);
    const SERVER: ThreadId = ThreadId(5);

    fn breakdown(script: &Script, from: u64, to: u64) -> Breakdown {
        let took = Nanos(to - from);
        let breakdown = break_down(&script.trace(), CLIENT, SERVER, at(from), took).yes().unwrap();
        let whole = breakdown.parts.iter().fold(Nanos::ZERO, |sum, (_, length)| sum + *length);
        assert_eq!(whole, took, "{breakdown:?}");
        breakdown
    }

    #[test]
    fn a_hog_between_client_and_server_is_named() {
        let script = Script::new()
            .runs(1, 1, 0, 7)
            .wakes(1, 110, 5, 1)
            .sleeps(1, 120, 7, 9)
            .runs(1, 1_000, 9, 5)
            .wakes(1, 1_010, 7, 1)
            .runs(1, 1_020, 5, 7);
        let breakdown = breakdown(&script, 100, 1_030);
        let sentence = breakdown.to_string();
        assert_eq!(sentence, "the server waited 880 ns for the CPU while hog (880 ns) had it");
        assert_eq!(breakdown.culprits[0].phase, Phase::ServerWaited);
    }

    #[test]
    fn a_server_that_computes_is_not_blamed_on_the_scheduler() {
        let script = Script::new()
            .runs(1, 1, 0, 7)
            .wakes(1, 110, 5, 2)
            .runs(2, 115, 0, 5)
            .sleeps(1, 120, 7, 0)
            .wakes(2, 900, 7, 1)
            .sleeps(2, 905, 5, 0)
            .runs(1, 910, 0, 7);
        let sentence = breakdown(&script, 100, 920).to_string();
        assert_eq!(sentence, "the server ran for 780 ns");
    }

    #[test]
    fn phases_are_listed_without_a_claim_about_their_order() {
        // The server runs before it waits.
        let script = Script::new()
            .runs(1, 1, 0, 7)
            .wakes(1, 110, 5, 2)
            .runs(2, 115, 0, 5)
            .sleeps(1, 120, 7, 0)
            .runs(2, 500, 5, 9)
            .runs(2, 900, 9, 5)
            .wakes(2, 905, 7, 1)
            .sleeps(2, 908, 5, 0)
            .runs(1, 910, 0, 7);
        let sentence = breakdown(&script, 100, 920).to_string();
        assert_eq!(
            sentence,
            "the server waited 400 ns for the CPU while hog (400 ns) had it; the server ran for \
             385 ns"
        );
    }

    #[test]
    fn a_sleeping_server_is_named() {
        let script = Script::new()
            .runs(1, 1, 0, 7)
            .sleeps(2, 50, 5, 0)
            .sleeps(1, 120, 7, 0)
            .wakes(1, 800, 5, 2)
            .runs(2, 810, 0, 5)
            .wakes(2, 820, 7, 1)
            .sleeps(2, 825, 5, 0)
            .runs(1, 830, 0, 7);
        let sentence = breakdown(&script, 100, 840).to_string();
        assert_eq!(sentence, "both processes slept for 680 ns");
    }

    #[test]
    fn a_trace_without_the_server_cannot_tell() {
        let script = Script::new().runs(1, 1, 0, 7);
        let answer = break_down(&script.trace(), CLIENT, SERVER, at(100), Nanos(50));
        assert_eq!(answer.reason(), Some("the trace does not show thread 5 here"));
    }
}
