//! A load profile: the tasks of a launch and of its background.

use unjank_host::Nanos;

use super::task::{Begins, Step, Task};

/// More steps, threads and tasks than any launch has.
pub(super) const MOST_STEPS: usize = 100_000;
const MOST_THREADS: usize = 64;

const LONGEST: Nanos = Nanos(3_600_000_000_000);
/// Default time of the background before a launch.
pub(super) const LEAD: Nanos = Nanos(1_000_000_000);
pub(super) const TAIL: Nanos = Nanos(200_000_000);

/// A load profile: the tasks of a launch and of its background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name in the results.
    pub name: String,
    /// Time of the background before the launch.
    pub lead: Nanos,
    /// Time after the launch that is still observed.
    pub tail: Nanos,
    /// The tasks. The launch is over when those that begin with it, and end,
    /// have ended.
    pub tasks: Vec<Task>,
}

/// A profile, and the ignored parts of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The profile, without the ignored parts.
    pub profile: Profile,
    /// The ignored parts, one sentence each.
    pub warnings: Vec<String>,
}

impl Profile {
    /// A launch that computes for `work` at full clock on one thread, and then
    /// for `load` on each of `cpus` threads, like the paper's load app, with a
    /// little background.
    pub fn launch(work: Nanos, load: Nanos, cpus: usize) -> Self {
        let app = |name: &str, threads, delay, length| Task {
            name: name.to_owned(),
            threads,
            begins: Begins::AtLaunch,
            delay,
            times: Some(1),
            steps: vec![Step::Run(length)],
        };
        let mut tasks = vec![background()];
        if load > Nanos::ZERO {
            let mut main = app("launch", 1, Nanos::ZERO, work);
            main.steps.push(Step::Run(load));
            tasks.push(main);
            if cpus > 1 {
                let mut others = app("load", cpus - 1, Nanos::ZERO, load);
                others.steps.insert(0, Step::Sleep(work));
                tasks.push(others);
            }
        } else {
            tasks.push(app("launch", 1, Nanos::ZERO, work));
        }
        let name = match load {
            Nanos::ZERO => format!("launch of {work}"),
            _ => format!("launch of {work}, load of {load}"),
        };
        Self { name, lead: LEAD, tail: TAIL, tasks }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.tasks.iter().map(|task| task.threads).sum()
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.threads() > MOST_THREADS {
            return Err(format!("{} threads; at most {MOST_THREADS} are possible", self.threads()));
        }
        for task in &self.tasks {
            let named = |what: &str| format!("task {:?}: {what}", task.name);
            if task.threads == 0 || task.times == Some(0) {
                return Err(named("threads and times must be at least 1"));
            }
            if task.steps.len() > MOST_STEPS {
                return Err(named(&format!("more than {MOST_STEPS} steps")));
            }
            if !task.steps.iter().any(|step| step.length() > Nanos::ZERO) {
                return Err(named("none of its steps takes any time"));
            }
            if task.steps.iter().any(|step| step.length() > LONGEST) || task.delay > LONGEST {
                return Err(named("a step or delay is longer than an hour"));
            }
        }
        if self.lead > LONGEST || self.tail > LONGEST {
            return Err("lead or tail is longer than an hour".to_owned());
        }
        let ends = |task: &Task| task.begins == Begins::AtLaunch && task.times.is_some();
        if !self.tasks.iter().any(ends) {
            return Err(
                "no task begins with the launch and ends, so it would never be over".to_owned()
            );
        }
        Ok(())
    }
}

/// The background of a phone in use: half a millisecond of work every 10 ms, so
/// that the governor keeps evaluating the load.
fn background() -> Task {
    Task {
        name: "background".to_owned(),
        threads: 1,
        begins: Begins::AtStart,
        delay: Nanos::ZERO,
        times: None,
        steps: vec![Step::Runtime(Nanos::from_micros(500)), Step::Timer(Nanos::from_millis(10))],
    }
}
