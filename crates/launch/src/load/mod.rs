//! `unjank launch load`: an app that launches and does nothing else, as the
//! load app of Jo and Suh does.
//!
//! First comes what every app does to come on screen, on one thread: the
//! *basic* work. Then comes the generated load, on as many threads as there
//! are CPUs, or fewer. Both are lengths at the highest frequency, so a slow
//! clock makes them take longer. Nothing sleeps and nothing is read meanwhile:
//! to a governor, that is what a launch looks like.

mod cycles;
mod rate;
mod timing;

pub use cycles::STEP;
pub use rate::Rate;
pub use timing::Timing;

use std::thread;

use unjank_host::frequency::Frequencies;
use unjank_host::sched::CpuSet;
use unjank_host::{Error, Nanos, Result, Root, Timestamp};

/// What the app does before it is on screen.
#[derive(Debug, Clone)]
pub struct Options {
    /// Work of one thread, at the highest frequency.
    pub basic: Nanos,
    /// Work of each thread of the generated load, at the highest frequency.
    pub length: Nanos,
    /// Threads of the generated load; `None` for one on each CPU that this
    /// process may use.
    pub threads: Option<usize>,
    /// How the work is measured out.
    pub clock: Clock,
}

/// How a length at the highest frequency is measured out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// By a fixed number of steps, for a CPU that is as fast as its clock.
    Steps(Rate),
    /// By the frequency that the governor set, for a CPU whose speed does not
    /// follow it: each thread adds up frequency × its own CPU time.
    Emulated,
}

/// No more threads are started.
pub const MOST_THREADS: usize = 1_024;

/// Works until the app is on screen: how long both parts took.
///
/// # Errors
/// `Invalid` options; `Unsupported` for an emulated clock where nobody tells
/// the frequency; a thread that could not be started.
pub fn run(options: &Options, root: &Root) -> Result<Timing> {
    let cpus = CpuSet::allowed()?;
    let threads = options.threads.unwrap_or(cpus.len());
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(Error::Invalid(format!("{threads} threads: it goes from 1 to {MOST_THREADS}")));
    }
    let work = match options.clock {
        Clock::Steps(rate) => Work::Steps(rate),
        Clock::Emulated => Work::Cycles(Frequencies::open(root, &cpus)?),
    };
    let start = Timestamp::now();
    work.do_for(options.basic)?;
    let begun = Timestamp::now();
    if options.length > Nanos::ZERO {
        on_threads(threads, || work.do_for(options.length))?;
    }
    Ok(Timing { basic: begun.since(start), load: Timestamp::now().since(begun) })
}

/// What a clock needs while it runs.
enum Work {
    Steps(Rate),
    Cycles(Frequencies),
}

impl Work {
    fn do_for(&self, length: Nanos) -> Result<()> {
        match self {
            Self::Steps(rate) => rate.work_for(length),
            Self::Cycles(frequencies) => return cycles::work_for(length, frequencies),
        }
        Ok(())
    }
}

/// Does `work` on this thread and on others, and waits for all of them.
fn on_threads(threads: usize, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|_| thread::Builder::new().spawn_scoped(scope, &work))
            .collect::<Result<_, _>>()
            .map_err(|error| Error::syscall("clone", "a thread of the load", error))?;
        let own = work();
        let ended = others.into_iter().map(|other| other.join().expect("the work does not panic"));
        ended.fold(own, Result::and)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn work_is_done_once_on_each_thread() {
        let done = AtomicUsize::new(0);
        let work = || {
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        on_threads(5, work).unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 5);
        let fails = || Err(Error::Invalid("no clock".to_owned()));
        assert_eq!(on_threads(3, fails).unwrap_err().to_string(), "no clock");
    }

    #[test]
    fn no_load_is_no_load() {
        let clock = Clock::Steps(Rate::per_millisecond(1_000).unwrap());
        let options =
            Options { basic: Nanos::from_millis(1), length: Nanos::ZERO, threads: Some(2), clock };
        let timing = run(&options, &Root::system()).unwrap();
        assert!(timing.basic > Nanos::ZERO);
        let none = Options { threads: Some(0), ..options };
        assert!(run(&none, &Root::system()).unwrap_err().to_string().starts_with("0 threads"));
    }

    #[test]
    fn an_emulated_clock_needs_cpufreq() {
        let options = Options {
            basic: Nanos::ZERO,
            length: Nanos::ZERO,
            threads: None,
            clock: Clock::Emulated,
        };
        let error = run(&options, &Root::at("/nonexistent")).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
    }
}
