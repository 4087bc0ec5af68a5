//! Launches of a program, recorded and explained.

use anyhow::{Result, bail};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Tracefs;
use unjank_host::{Nanos, Root};
use unjank_launch::bench::{Program, Started, WaitResult};
use unjank_measure::Monitor;
use unjank_why::record::Recording;
use unjank_why::report::{self, Explained};

use super::Args;
use super::clocks::ClockReader;
use crate::commands::launch::bench::ready_means;

/// Time for a program to end after SIGTERM.
const END_TIMEOUT: Nanos = Nanos::from_millis(2_000);

/// Launches the program as often as asked, unless interrupted.
pub(super) fn record(
    args: &Args,
    root: &Root,
    tracefs: &Tracefs,
    monitor: &dyn Monitor,
) -> Result<Vec<Explained>> {
    let clocks = ClockReader::new(root);
    let program = Program { command: args.command.clone(), ready: args.ready.clone() };
    let mut launches = Vec::new();
    for number in 0..args.launches {
        monitor.progress(f64::from(number) / f64::from(args.launches), "launching");
        let pause = if number == 0 { Nanos::ZERO } else { args.gap };
        (unjank_host::Timestamp::now() + pause).sleep_until_or(|| monitor.stop_requested());
        if monitor.stop_requested() {
            break;
        }
        let clocks = clocks.read();
        let recording = Recording::start(tracefs, root, &[ThreadId::current()])?;
        let mut started = Started::begin(&program, &ready_means())?;
        let process = started.process();
        let came = started.wait(args.timeout, &|| monitor.stop_requested())?;
        let began = started.began();
        let stderr = started.last_lines();
        let trace = recording.finish()?;
        let status = started.end(END_TIMEOUT);
        match came {
            WaitResult::Ready { took, .. } => {
                let thread = ThreadId(process);
                let window = report::window(&trace, thread, began, began + took);
                launches.push(Explained::new(trace, thread, window, clocks));
            }
            WaitResult::Interrupted => break,
            WaitResult::Ended => {
                let status = status.map_or_else(String::new, |status| status.to_string());
                bail!("{} ended before it was ready: {status} {stderr}", name(args));
            }
            WaitResult::TimedOut => {
                bail!("{} was not ready within {} {stderr}", name(args), args.timeout);
            }
        }
    }
    Ok(launches)
}

fn name(args: &Args) -> String {
    args.command.first().map(|name| name.display().to_string()).unwrap_or_default()
}
