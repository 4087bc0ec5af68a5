//! I/O after launches of apps.

use std::collections::HashMap;

use unjank_host::Nanos;

use crate::launches::{Launches, called, is_of_command};
use crate::trace::{Event, Names, Operation, ProcessIndex};

/// Limits on the I/O of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The I/O is over after a gap of this length.
    pub gap: Nanos,
    /// The I/O is over at this time after the mark.
    pub most: Nanos,
}

impl Default for Limits {
    /// A gap of one second; half a minute.
    fn default() -> Self {
        Self { gap: Nanos(1_000_000_000), most: Nanos(30_000_000_000) }
    }
}

/// A launch with a mark in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// The launched app.
    pub who: ProcessIndex,
    /// The time of the mark.
    pub at: Nanos,
    /// The number of launches of this app so far, including this one.
    pub round: u32,
    /// Pages read or paged in.
    pub pages_in: u64,
    /// Pages written or paged out.
    pub pages_out: u64,
    /// Time from the mark to the last of them.
    pub time: Nanos,
    /// Pages in and out from the mark to the end of the trace; those of the burst if I/O cannot be
    /// assigned by process.
    pub ever: [u64; 2],
}

/// The I/O of all launches.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) launches: Vec<Launch>,
    /// Launches beyond those that are kept.
    pub(super) more: u64,
    /// Omitted launches of programs other than the recorded command.
    pub(super) others: u64,
    /// Whether I/O was assigned by process. If not, all I/O after a mark counts for the launch.
    pub(super) assigned_by_process: bool,
}

/// Counts the I/O of launches.
#[derive(Default)]
pub(super) struct Counter {
    limits: Limits,
    /// Whether launches of all programs are kept, not only those of a recorded command.
    all: bool,
    launches: Launches,
    rounds: HashMap<String, u32>,
    counted: Vec<Open>,
    /// Launches beyond those that are counted.
    uncounted: u64,
    /// The launch of the last mark.
    last: Option<u32>,
}

/// A launch with its I/O, assigned in both ways.
struct Open {
    who: ProcessIndex,
    at: Nanos,
    round: u32,
    of_command: bool,
    /// The first burst of I/O of the launch's processes.
    own: Burst,
    /// Pages in and out of the launch's processes.
    ever: [u64; 2],
    /// The I/O of all processes until the next launch.
    any: Burst,
}

/// I/O without a gap.
#[derive(Debug, Clone, Copy, Default)]
struct Burst {
    pages_in: u64,
    pages_out: u64,
    time: Nanos,
    is_over: bool,
}

/// The maximum number of launches to keep.
const MAX: usize = 10_000;
/// The maximum number of launches to count, including those of other programs: some 10 MB.
const MAX_COUNTED: usize = 100_000;

impl Counter {
    pub(super) fn new(limits: Limits, all: bool) -> Self {
        Self { limits, all, ..Self::default() }
    }

    pub(super) fn event(&mut self, event: &Event, names: &Names) {
        let is_read = match event.operation {
            Operation::Launch => return self.begin(event, names),
            Operation::Exit => return self.launches.exit(event.who, names),
            Operation::Read | Operation::PageIn => true,
            Operation::Write | Operation::PageOut => false,
            _ => return,
        };
        let own = self.launches.of(event, names);
        for (launch, is_own) in [(own, true), (self.last, false)] {
            let launch = launch.and_then(|launch| self.counted.get_mut(launch as usize));
            let Some(launch) = launch else { continue };
            let since = event.at - launch.at;
            if is_own {
                launch.ever[usize::from(!is_read)] += 1;
                launch.own.begin(since);
                launch.own.take(since, is_read, self.limits);
            } else {
                launch.any.take(since, is_read, self.limits);
            }
        }
    }

    fn begin(&mut self, event: &Event, names: &Names) {
        let launch = self.launches.begin(event.who, names);
        let round = self.rounds.entry(called(names, event.who)).or_default();
        *round += 1;
        self.last = Some(launch);
        if self.counted.len() == MAX_COUNTED {
            self.uncounted += 1;
            return;
        }
        let (who, at) = (event.who, event.at);
        let (own, any) = (Burst::default(), Burst::default());
        let of_command = is_of_command(names, who);
        self.counted.push(Open { who, at, round: *round, of_command, own, ever: [0, 0], any });
    }

    pub(super) fn finish(&mut self) -> Counted {
        let assigned_by_process = self.launches.are_assignable();
        let all = std::mem::take(&mut self.counted);
        let count = all.len();
        let has_command = all.iter().any(|open| open.of_command) && !self.all;
        let asked = all.into_iter().filter(|open| open.of_command || !has_command);
        let mut launches: Vec<Launch> = asked
            .map(|open| {
                let burst = if assigned_by_process { open.own } else { open.any };
                let ever =
                    if assigned_by_process { open.ever } else { [burst.pages_in, burst.pages_out] };
                Launch {
                    who: open.who,
                    at: open.at,
                    round: open.round,
                    pages_in: burst.pages_in,
                    pages_out: burst.pages_out,
                    time: burst.time,
                    ever,
                }
            })
            .collect();
        let others = (count - launches.len()) as u64;
        let more = launches.len().saturating_sub(MAX) as u64 + self.uncounted;
        launches.truncate(MAX);
        Counted { launches, more, others, assigned_by_process }
    }
}

impl Burst {
    /// Starts the burst at the first I/O of the launch's processes, however late that comes.
    fn begin(&mut self, since: Nanos) {
        if self.pages_in + self.pages_out == 0 && !self.is_over {
            self.time = since;
        }
    }

    fn take(&mut self, since: Nanos, is_read: bool, limits: Limits) {
        if self.is_over || since > self.time + limits.gap || since > limits.most {
            self.is_over = true;
            if self.pages_in + self.pages_out == 0 {
                self.time = Nanos::ZERO;
            }
            return;
        }
        *(if is_read { &mut self.pages_in } else { &mut self.pages_out }) += 1;
        // Time may go backwards.
        self.time = self.time.max(since);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Options, Trace};

    /// App; round, pages in, pages out and milliseconds.
    type Counts = (String, (u32, u64, u64, u64));

    fn count(csv: &str, all: bool) -> (Vec<Counts>, Counted) {
        let text = format!("time_ms,process,pid,launch_id,command_pid,page,operation\n{csv}");
        let mut trace = Trace::from_memory("t", text.into_bytes(), &Options::default()).unwrap();
        let mut events = Vec::new();
        while trace.read(&mut events, 64).unwrap() {}
        let mut counter = Counter::new(Limits::default(), all);
        for event in &events {
            counter.event(event, trace.names());
        }
        let all = counter.finish();
        let counts = |l: &Launch| {
            let app = called(trace.names(), l.who);
            (app, (l.round, l.pages_in, l.pages_out, l.time.get() / 1_000_000))
        };
        (all.launches.iter().map(counts).collect(), all)
    }

    fn is(app: &str, numbers: (u32, u64, u64, u64)) -> Counts {
        (app.to_owned(), numbers)
    }

    #[test]
    fn a_launch_ends_with_its_own_burst_of_io() {
        let (launches, counted) = count(
            "0,other,,,,1,read\n\
             1000,app,,,,0,launch\n\
             1500,app,,,,1,read\n\
             2300,other,,,,1,page-out\n\
             2400,app,,,,1,page-out\n\
             3300,app,,,,1,page-in\n\
             5000,app,,,,1,read\n\
             5100,app,,,,1,read\n\
             9000,app,,,,0,launch\n\
             9100,mail,,,,0,launch\n\
             9150,app,,,,1,page-in\n\
             9200,mail,,,,1,page-in\n",
            false,
        );
        let expected =
            [is("app", (1, 2, 1, 2_300)), is("app", (2, 1, 0, 150)), is("mail", (1, 1, 0, 100))];
        assert_eq!(launches, expected);
        assert!(counted.assigned_by_process);
    }

    #[test]
    fn the_first_io_may_come_late_and_later_io_is_counted_apart() {
        let (launches, counted) = count(
            "0,gimp,10,1,7,0,launch\n\
             9000,gimp,10,1,7,1,page-out\n\
             9500,gimp,10,1,7,2,page-out\n\
             12000,gimp,10,1,7,1,page-in\n\
             40000,gimp,10,1,7,2,page-in\n",
            false,
        );
        assert_eq!(launches, [is("gimp", (1, 0, 2, 9_500))]);
        assert_eq!(counted.launches[0].ever, [2, 2]);
        let (launches, _) = count("0,gimp,10,1,7,0,launch\n31000,gimp,10,1,7,1,page-out\n", false);
        assert_eq!(launches, [is("gimp", (1, 0, 0, 0))], "too late for its launch");
    }

    #[test]
    fn io_and_launches_of_other_programs_are_left_out() {
        let csv = "0,unjank,9,1,7,0,launch\n\
             1,gimp,10,2,7,0,launch\n\
             10,gimp,10,2,7,1,page-in\n\
             20,exe,50,3,,0,launch\n\
             30,exe,50,3,,1,page-out\n\
             40,kswapd0,51,,,1,page-out\n\
             50,plug-in,11,2,7,2,page-in\n\
             900,plug-in,11,2,7,2,page-out\n";
        let (launches, counted) = count(csv, false);
        assert_eq!(launches, [is("unjank", (1, 0, 0, 0)), is("gimp", (1, 2, 1, 899))]);
        assert_eq!((counted.others, counted.assigned_by_process), (1, true));
        let (launches, counted) = count(csv, true);
        assert_eq!(launches[2], is("exe", (1, 0, 1, 10)));
        assert_eq!((launches.len(), counted.others), (3, 0));
    }

    #[test]
    fn if_the_trace_names_only_threads_all_io_after_a_mark_counts() {
        let (launches, counted) = count(
            "0,game,,,,0,launch\n100,RenderThread,11,,,1,read\n200,kswapd0,71,,,1,page-out\n",
            false,
        );
        assert_eq!(launches, [is("game", (1, 1, 1, 200))]);
        assert!(!counted.assigned_by_process);
    }
}
