//! Sets a policy with `sched_setattr(2)`; if that is not permitted, with rtkit;
//! if there is no rtkit, with a nice value.

use std::fmt;

use serde::Serialize;
use unjank_host::rtkit::RealtimeKit;
use unjank_host::sched::{Policy, SchedulingRights, ThreadId};
use unjank_host::thread_ledger::{Ledger, Scheduler, ThreadState};
use unjank_host::{Error, ErrorClass, Result};

/// The nice value that replaces a real-time policy.
const RAISED: i32 = -11;

/// How a thread got its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// The wanted policy, through `sched_setattr(2)`.
    Scheduler,
    /// `SCHED_RR` from rtkit, whose highest priority may be lower.
    Rtkit,
    /// No real-time policy, only a better nice value.
    Nice,
}

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheduler => "sched_setattr",
            Self::Rtkit => "rtkit",
            Self::Nice => "nice",
        })
    }
}

/// Sets policies by the means available to this user.
#[derive(Debug)]
pub struct PolicySetter<'a> {
    /// The scheduler of the machine, or of a test.
    pub scheduler: &'a dyn Scheduler,
    /// The connection to rtkit, or the reason why it cannot be used.
    pub rtkit: std::result::Result<&'a dyn RealtimeKit, String>,
    /// The rights of this user over the threads.
    pub rights: SchedulingRights,
}

/// The policy that a thread got.
#[derive(Debug)]
pub struct Granted {
    /// The means by which it got the policy.
    pub means: Means,
    /// Its state, if that differs from the wanted one; `None` also for a thread
    /// that has ended meanwhile.
    pub state: Option<ThreadState>,
    /// Why the state differs.
    pub because: Option<String>,
}

/// Kernels before 6.12 accept a slice and ignore it.
const NO_SLICE: &str = "this kernel ignores the slice of a thread (Linux 6.12 and later use it)";

impl PolicySetter<'_> {
    /// Gives a thread `wanted`, or the closest state that this user may give.
    ///
    /// # Errors
    /// All means failed: the error of the first one, with the reasons of the
    /// others.
    pub fn set(
        &self,
        ledger: &mut Ledger<'_>,
        process: u32,
        thread: ThreadId,
        wanted: ThreadState,
        before: ThreadState,
    ) -> Result<Granted> {
        let error = match self.scheduler.set(thread, wanted) {
            Ok(()) => return self.settled(process, thread, wanted),
            Err(error) => error,
        };
        let (Policy::Fifo(priority) | Policy::RoundRobin(priority)) = wanted.policy else {
            return Err(error);
        };
        if error.class() != ErrorClass::Permission {
            return Err(error);
        }
        let state = || Ok(self.scheduler.look(process, thread)?.map(|(_, state)| state));
        let not_by_rtkit = match &self.rtkit {
            Ok(rtkit) => {
                // rtkit first checks the hard limit of the process.
                let asked = ledger
                    .limit(process, rtkit.longest_run(), true)
                    .and_then(|_| rtkit.make_realtime(process, thread, priority));
                match asked {
                    Ok(()) => {
                        let because = Some(error.to_string());
                        return Ok(Granted { means: Means::Rtkit, state: state()?, because });
                    }
                    Err(error) => error.to_string(),
                }
            }
            Err(reason) => reason.clone(),
        };
        let nice = self.rights.best_nice().max(RAISED);
        if nice < before.nice {
            let policy = Policy::other(nice);
            let raised = ThreadState { policy, reset_on_fork: before.reset_on_fork, nice };
            if self.scheduler.set(thread, raised).is_ok() {
                let because = Some(format!("{error}; rtkit: {not_by_rtkit}"));
                return Ok(Granted { means: Means::Nice, state: state()?, because });
            }
        }
        Err(match error {
            Error::Permission { what, needs } => Error::Permission {
                what,
                needs: format!(
                    "{needs} (other means failed too: rtkit: {not_by_rtkit}; nice: not below {} \
                     without privileges, RLIMIT_NICE)",
                    self.rights.best_nice().min(19)
                ),
            },
            error => error,
        })
    }

    /// Checks whether the kernel has kept the slice of a state that it accepted.
    fn settled(&self, process: u32, thread: ThreadId, wanted: ThreadState) -> Result<Granted> {
        let mut given = Granted { means: Means::Scheduler, state: None, because: None };
        if wanted.policy.fair().is_some_and(|fair| fair.slice.is_some())
            && let Some((_, now)) = self.scheduler.look(process, thread)?
            && now != wanted
        {
            given.state = Some(now);
            given.because = Some(NO_SLICE.to_owned());
        }
        Ok(given)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use unjank_host::sched::{Fair, Priority, RunLimit};
    use unjank_host::threads::{Began, Thread};
    use unjank_host::{Nanos, Root};

    use super::*;

    const THREAD: ThreadId = ThreadId(9);
    const BEFORE: ThreadState =
        ThreadState { policy: Policy::other(0), reset_on_fork: false, nice: 0 };

    /// A kernel that gives an ordinary user nice values down to −5, and rtkit.
    #[derive(Debug)]
    struct Ordinary {
        now: Cell<ThreadState>,
        limit: Cell<RunLimit>,
        asked: RefCell<Vec<u8>>,
        refuses: bool,
    }

    impl Ordinary {
        fn new(refuses: bool) -> Self {
            let limit = Cell::new(RunLimit { soft: None, hard: None });
            Self { now: Cell::new(BEFORE), limit, asked: RefCell::default(), refuses }
        }
    }

    fn denied() -> Error {
        Error::Permission { what: "fifo:80".to_owned(), needs: "CAP_SYS_NICE".to_owned() }
    }

    impl Scheduler for Ordinary {
        fn look(&self, _: u32, _: ThreadId) -> Result<Option<(Began, ThreadState)>> {
            Ok(Some((Began(1), self.now.get())))
        }

        fn state_of(&self, _: &Thread) -> Result<Option<ThreadState>> {
            Ok(Some(self.now.get()))
        }

        fn set(&self, _: ThreadId, state: ThreadState) -> Result<()> {
            if state.policy.is_realtime() || state.nice < -5 {
                return Err(denied());
            }
            self.now.set(state);
            Ok(())
        }

        fn run_limit(&self, _: u32) -> Result<RunLimit> {
            Ok(self.limit.get())
        }

        fn set_run_limit(&self, _: u32, limit: RunLimit) -> Result<()> {
            self.limit.set(limit);
            Ok(())
        }
    }

    impl RealtimeKit for Ordinary {
        fn make_realtime(&self, _: u32, _: ThreadId, priority: Priority) -> Result<()> {
            self.asked.borrow_mut().push(priority.get());
            if self.refuses {
                return Err(denied());
            }
            let policy = Policy::RoundRobin(Priority::new(priority.get().min(20))?);
            self.now.set(ThreadState { policy, reset_on_fork: true, nice: 0 });
            Ok(())
        }

        fn longest_run(&self) -> Nanos {
            Nanos::from_millis(200)
        }
    }

    fn setter(kernel: &Ordinary) -> PolicySetter<'_> {
        let rights = SchedulingRights::NONE;
        PolicySetter { scheduler: kernel, rtkit: Err("none".to_owned()), rights }
    }

    fn give(kernel: &Ordinary, rtkit: bool, best_nice: i32) -> Result<Granted> {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let mut ledger = Ledger::begin(&root, dir.path(), Some(7), true, kernel, None).unwrap();
        let rtkit = if rtkit { Ok(kernel as &dyn RealtimeKit) } else { Err("none".to_owned()) };
        let rights = SchedulingRights::Limited { best_nice, highest_priority: 0 };
        let setter = PolicySetter { scheduler: kernel, rtkit, rights };
        let policy = Policy::Fifo(Priority::new(80).unwrap());
        let wanted = ThreadState { policy, reset_on_fork: true, nice: 0 };
        setter.set(&mut ledger, 7, THREAD, wanted, BEFORE)
    }

    #[test]
    fn the_process_is_limited_before_rtkit_is_asked() {
        let kernel = Ordinary::new(false);
        let given = give(&kernel, true, 20).unwrap();
        assert_eq!(given.means, Means::Rtkit);
        assert_eq!(given.state.unwrap().to_string(), "rr:20 reset-on-fork");
        assert!(given.because.unwrap().contains("CAP_SYS_NICE"));
        assert_eq!(kernel.limit.get().hard, Some(Nanos::from_millis(200)));
        assert_eq!(*kernel.asked.borrow(), [80]);
    }

    #[test]
    fn an_ignored_slice_is_reported() {
        let kernel = Ordinary::new(false);
        let settled = |slice| {
            let policy = Policy::Other(Fair { nice: 0, slice });
            let wanted = ThreadState { policy, ..BEFORE };
            setter(&kernel).settled(7, THREAD, wanted).unwrap()
        };
        let ignored = settled(Some(Fair::SHORTEST));
        assert_eq!((ignored.state, ignored.means), (Some(BEFORE), Means::Scheduler));
        assert!(ignored.because.unwrap().contains("Linux 6.12"));
        assert!(settled(None).state.is_none());
    }

    #[test]
    fn a_nice_value_is_the_last_resort_and_says_why() {
        for (kernel, rtkit) in [(Ordinary::new(true), true), (Ordinary::new(false), false)] {
            let given = give(&kernel, rtkit, -5).unwrap();
            assert_eq!(given.means, Means::Nice);
            assert_eq!(given.state.unwrap().policy, Policy::other(-5));
            assert!(given.because.unwrap().contains("rtkit: "));
        }
    }

    #[test]
    fn if_all_means_fail_the_error_lists_them() {
        let error = give(&Ordinary::new(false), false, 19).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Permission);
        assert_eq!(
            error.to_string(),
            "fifo:80 needs CAP_SYS_NICE (other means failed too: rtkit: none; nice: not below 19 \
             without privileges, RLIMIT_NICE)"
        );
    }
}
