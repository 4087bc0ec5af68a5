//! Starts and ends tasks, on threads of this process or in their own processes.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{Builder, JoinHandle};

use unjank_host::memory::{MemoryLock, SharedRegion};
use unjank_host::process::{Helper, parent};
use unjank_host::sched::{Grant, Priority};
use unjank_host::{Nanos, Timestamp};

use crate::error::{Error, Result};
use crate::job::Job;
use crate::layout::{MAGIC, MESSAGE, SLOTS_IN, SLOTS_OUT, STOP, Sizes, VERSION};
use crate::task::{self, Task};

/// A task and its shared memory. Dropping it ends the task.
#[derive(Debug)]
pub struct OwnedTask {
    region: Arc<SharedRegion>,
    fd: OwnedFd,
    runner: Option<Runner>,
}

#[derive(Debug)]
enum Runner {
    Thread(JoinHandle<()>),
    Process(Helper),
}

impl OwnedTask {
    /// Starts the thread of `task` in this process or, with a `program`, in its own
    /// process. The thread waits for the moment of its first wake-up.
    ///
    /// # Errors
    /// Memory, thread or process cannot be created.
    pub fn open(task: Task, sizes: Sizes, program: Option<PathBuf>) -> Result<Self> {
        let sizes = sizes.check()?;
        if task.period.get() == 0 {
            return Err(Error::Invalid("a task needs a period above zero".to_owned()));
        }
        let (region, fd) = SharedRegion::create("unjank-rt task", sizes.total())?;
        let words = [(SLOTS_OUT, sizes.slots_out), (SLOTS_IN, sizes.slots_in)];
        for (offset, value) in words.into_iter().chain([(MESSAGE, sizes.message)]) {
            region.word(offset).store(value as u64, Relaxed);
        }
        region.word(MAGIC).store(VERSION, Relaxed);
        let region = Arc::new(region);
        let runner = match program {
            None => {
                let (shared, name) = (Arc::clone(&region), task.name.clone());
                let run = move || task::run(&shared, sizes, &task, || false);
                Runner::Thread(
                    Builder::new().name(name).spawn(run).map_err(|error| no_thread(&error))?,
                )
            }
            Some(program) => {
                let memory = fd.try_clone().map_err(|error| {
                    Error::Failed(format!("cannot duplicate a descriptor: {error}"))
                })?;
                let mut command = Command::new(program);
                command
                    .args(arguments(&task))
                    .stdin(Stdio::from(memory))
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                Runner::Process(Helper::start(&mut command).map_err(|error| not_started(&error))?)
            }
        };
        Ok(Self { region, fd, runner: Some(runner) })
    }

    /// The descriptor of the shared memory, open as long as this value.
    pub fn descriptor(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// The task's own process, if it has one.
    pub fn process(&self) -> Option<u32> {
        match &self.runner {
            Some(Runner::Process(helper)) => Some(helper.id()),
            _ => None,
        }
    }

    /// Whether its thread or process still runs.
    pub fn is_alive(&mut self) -> bool {
        match &mut self.runner {
            Some(Runner::Thread(thread)) => !thread.is_finished(),
            Some(Runner::Process(helper)) => helper.is_alive(),
            None => false,
        }
    }

    /// Asks the task to end and waits at most `longest`. A process that does not
    /// end is killed. A thread cannot be killed: it goes on and keeps the shared
    /// memory. Returns whether the task has ended.
    pub fn close(&mut self, longest: Nanos) -> bool {
        self.region.word(STOP).store(1, Relaxed);
        let until = Timestamp::now() + longest;
        while self.is_alive() && Timestamp::now() < until {
            (Timestamp::now() + Nanos::from_millis(1)).sleep_until();
        }
        let ended = !self.is_alive();
        match self.runner.take() {
            Some(Runner::Thread(thread)) if ended => {
                // A task that panicked has ended as well.
                let _panicked = thread.join();
            }
            // Dropping a helper kills and reaps it.
            Some(Runner::Process(helper)) => drop(helper),
            _ => {}
        }
        ended
    }
}

impl Drop for OwnedTask {
    fn drop(&mut self) {
        self.close(Nanos::from_millis(1_000));
    }
}

/// Runs the task of `arguments` in a process started by [`OwnedTask::open`], with
/// `memory` as its shared memory.
///
/// # Errors
/// Arguments or memory are not those of a task.
pub fn serve(memory: impl AsFd, arguments: &[String]) -> Result<()> {
    let region = SharedRegion::open(&memory)?;
    let sizes = Sizes::of(&region)?;
    let (task, owner) = parse(arguments).inspect_err(|error| {
        task::fail(&region, error);
    })?;
    // Without the privilege to lock, pages may be evicted under pressure.
    let _lock = MemoryLock::everything();
    std::thread::scope(|threads| {
        Builder::new()
            .name(task.name.clone())
            .spawn_scoped(threads, || task::run(&region, sizes, &task, || parent() != owner))
            .map(drop)
            .map_err(|error| no_thread(&error))
    })
}

/// A program that cannot start is never an error of scheduling.
fn not_started(error: &unjank_host::Error) -> Error {
    Error::Failed(format!(
        "{error}; if programs may not run from there, set another directory with \
         -Djava.io.tmpdir, or the path of the program with -Dunjank.rt.task"
    ))
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::Failed(format!("cannot start the thread of the task: {error}"))
}

fn arguments(task: &Task) -> Vec<std::ffi::OsString> {
    let (priority, longest, force) = task.realtime.map_or((0, 0, false), |grant| {
        (grant.priority.get(), grant.longest_run.get(), grant.force)
    });
    let numbers = [
        u64::from(std::process::id()),
        task.period.get(),
        task.periods,
        u64::from(priority),
        longest,
        u64::from(force),
    ];
    let mut arguments: Vec<_> = numbers.iter().map(|number| number.to_string().into()).collect();
    arguments.push(OsStr::new(&task.name).to_owned());
    if let Job::Call { library, symbol } = &task.job {
        arguments.push(library.clone().into_os_string());
        arguments.push(symbol.into());
    }
    arguments
}

fn parse(arguments: &[String]) -> Result<(Task, u32)> {
    let foreign = || {
        Error::Invalid(
            "this program is started by the Java library unjank-rt, not by hand".to_owned(),
        )
    };
    let (numbers, rest) = arguments.split_at_checked(6).ok_or_else(foreign)?;
    let numbers: Vec<u64> =
        numbers.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(|_| foreign())?;
    let job = match rest {
        [_] => Job::Report,
        [_, library, symbol] => Job::Call { library: library.into(), symbol: symbol.clone() },
        _ => return Err(foreign()),
    };
    let realtime = match u8::try_from(numbers[3]).map_err(|_| foreign())? {
        0 => None,
        priority => Some(Grant {
            priority: Priority::new(priority)?,
            longest_run: Nanos(numbers[4]),
            force: numbers[5] != 0,
        }),
    };
    let task = Task {
        name: rest[0].clone(),
        period: Nanos(numbers[1]),
        realtime,
        periods: numbers[2],
        job,
    };
    Ok((task, u32::try_from(numbers[0]).map_err(|_| foreign())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{FIRST, STATE, State, WAKEUPS};

    const SIZES: Sizes = Sizes { slots_out: 64, slots_in: 2, message: 32 };

    fn task() -> Task {
        Task {
            name: "a name".to_owned(),
            period: Nanos::from_millis(1),
            realtime: Some(Grant {
                priority: Priority::new(80).unwrap(),
                longest_run: Nanos(7),
                force: true,
            }),
            periods: 9,
            job: Job::Call { library: "/a b".into(), symbol: "c".to_owned() },
        }
    }

    #[test]
    fn a_task_survives_the_command_line() {
        for task in [task(), Task { realtime: None, job: Job::Report, ..task() }] {
            let given: Vec<String> =
                arguments(&task).into_iter().map(|text| text.into_string().unwrap()).collect();
            assert_eq!(parse(&given).unwrap(), (task, std::process::id()));
        }
        assert!(parse(&[]).is_err());
        assert!(parse(&["x".to_owned(), String::new()]).is_err());
    }

    #[test]
    fn a_thread_runs_when_started_and_ends_when_closed() {
        let task = Task { realtime: None, periods: 0, job: Job::Report, ..task() };
        let mut owned = OwnedTask::open(task, SIZES, None).unwrap();
        owned.region.word(FIRST).store(Timestamp::now().as_nanos(), Relaxed);
        while owned.region.word(WAKEUPS).load(Relaxed) < 3 {
            std::thread::yield_now();
        }
        assert!(owned.is_alive());
        assert!(owned.close(Nanos::from_millis(60_000)));
        assert_eq!(owned.region.word(STATE).load(Relaxed), State::Ended as u64);
    }
}
