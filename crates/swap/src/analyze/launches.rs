//! What is read and written after apps are launched.

use std::collections::HashMap;

use unjank_host::Nanos;

use crate::trace::{Event, Operation, Who};

/// When the I/O of a launch is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// When there was none for so long,
    pub gap: Nanos,
    /// or the launch is so long ago; or another one begins.
    pub most: Nanos,
}

impl Default for Limits {
    /// One second without any; half a minute.
    fn default() -> Self {
        Self { gap: Nanos(1_000_000_000), most: Nanos(30_000_000_000) }
    }
}

/// A launch that the trace has a mark of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// The app.
    pub who: Who,
    /// When.
    pub at: Nanos,
    /// How often the app was launched, this time included.
    pub round: u32,
    /// Pages that were read or brought in.
    pub pages_in: u64,
    /// Pages that were written or sent out.
    pub pages_out: u64,
    /// Time from the mark to the last of them.
    pub time: Nanos,
}

/// Counts the I/O of launches.
#[derive(Default)]
pub(super) struct Counter {
    limits: Limits,
    open: Option<Launch>,
    rounds: HashMap<Who, u32>,
    launches: Vec<Launch>,
    /// Launches beyond those that are kept.
    pub(super) more: u64,
}

/// Launches that are kept one by one.
const MOST: usize = 10_000;

impl Counter {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    pub(super) fn event(&mut self, event: &Event) {
        let is_read = match event.operation {
            Operation::Launch => {
                self.close();
                let round = self.rounds.entry(event.who).or_default();
                *round += 1;
                self.open = Some(Launch {
                    who: event.who,
                    at: event.at,
                    round: *round,
                    pages_in: 0,
                    pages_out: 0,
                    time: Nanos::ZERO,
                });
                return;
            }
            Operation::Read | Operation::PageIn => true,
            Operation::Write | Operation::PageOut => false,
            _ => return,
        };
        let Some(launch) = &mut self.open else { return };
        let since = event.at - launch.at;
        if since > launch.time + self.limits.gap || since > self.limits.most {
            self.close();
            return;
        }
        *(if is_read { &mut launch.pages_in } else { &mut launch.pages_out }) += 1;
        // Time may go backwards.
        launch.time = launch.time.max(since);
    }

    pub(super) fn finish(&mut self) -> Vec<Launch> {
        self.close();
        std::mem::take(&mut self.launches)
    }

    fn close(&mut self) {
        let Some(launch) = self.open.take() else { return };
        if self.launches.len() < MOST {
            self.launches.push(launch);
        } else {
            self.more += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Backing, Space};

    #[test]
    fn a_launch_ends_with_its_burst_of_io() {
        use Operation::{Launch, PageIn, PageOut, Read};
        let mut counter = Counter::new(Limits::default());
        for (millis, who, operation) in [
            (0, 9, Read),
            (1_000, 1, Launch),
            (1_500, 1, Read),
            (2_400, 2, PageOut),
            (3_300, 1, PageIn),
            (5_000, 1, Read),
            (5_100, 1, Read),
            (9_000, 1, Launch),
            (9_100, 2, Launch),
            (9_200, 2, PageIn),
        ] {
            counter.event(&Event {
                at: Nanos::from_millis(millis),
                page: 0,
                who: Who(who),
                space: Space(1),
                operation,
                backing: Backing::Unknown,
            });
        }
        let told: Vec<_> = counter
            .finish()
            .iter()
            .map(|l| (l.who.0, l.round, l.pages_in, l.pages_out, l.time.get() / 1_000_000))
            .collect();
        assert_eq!(told, [(1, 1, 2, 1, 2_300), (1, 2, 0, 0, 0), (2, 1, 1, 0, 100)]);
    }
}
