//! `unjank launch load`: a synthetic app launch, like the load app of Jo & Suh.
//!
//! First comes the *basic* work, which every app does to come on screen, on one
//! thread. Then comes the generated load, on at most as many threads as there
//! are CPUs. Both are lengths at the highest frequency, so a slow clock makes
//! them longer. Nothing sleeps or reads files meanwhile: a governor sees a
//! launch.

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

/// The app's work before it is on screen.
#[derive(Debug, Clone)]
pub struct Options {
    /// Work of one thread, at the highest frequency.
    pub basic: Nanos,
    /// Work of each thread of the generated load, at the highest frequency.
    pub length: Nanos,
    /// Threads of the generated load; `None` for one on each CPU that this
    /// process may use.
    pub threads: Option<usize>,
    /// How the length of the work is measured.
    pub clock: Clock,
}

/// How a length at the highest frequency is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// By a fixed number of steps, for a CPU whose speed follows its clock.
    Steps(Rate),
    /// By the frequency that the governor set, for a CPU whose speed does not
    /// follow it: each thread adds up frequency × its own CPU time.
    Emulated,
}

/// The most threads of a load.
pub const MOST_THREADS: usize = 1_024;

/// Works until the app is on screen, and returns the times of both parts.
///
/// # Errors
/// `Invalid` options; `Unsupported` for an emulated clock without cpufreq; a
/// thread cannot be started.
pub fn run(options: &Options, root: &Root) -> Result<Timing> {
    let cpus = CpuSet::allowed()?;
    let threads = options.threads.unwrap_or(cpus.len());
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(Error::Invalid(format!(
            "{threads} threads are out of range (1 to {MOST_THREADS})"
        )));
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

/// A clock with its open files.
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

/// Does `work` on this thread and on others, and joins them.
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
