//! Load profiles: which tasks run when, and what of it is the launch.
//!
//! | module | subject |
//! |---|---|
//! | `written` | the program's own form, TOML |
//! | `rt_app` | the JSON of rt-app |
//! | `shipped` | profiles that are part of the program |

mod rt_app;
mod shipped;
mod written;

use std::fmt;

use unjank_host::Nanos;

pub use shipped::{SHIPPED, shipped};

/// More steps, threads and tasks than any launch has.
const MOST_STEPS: usize = 100_000;
const MOST_THREADS: usize = 64;

/// One thing that a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Computes for so long at the highest frequency, and longer at others.
    Run(Nanos),
    /// Computes for so long at any frequency.
    Runtime(Nanos),
    /// Sleeps.
    Sleep(Nanos),
    /// Sleeps until this long after it last was woken so; not at all if that
    /// is past.
    Timer(Nanos),
}

/// When a task begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// At the beginning, long before the launch: background.
    AtStart,
    /// With the launch.
    AtLaunch,
}

/// Threads that do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// How many threads it has.
    pub threads: usize,
    /// When it begins.
    pub begins: Begins,
    /// How long after that.
    pub delay: Nanos,
    /// How often the steps are done; `None` for ever.
    pub times: Option<u32>,
    /// What it does.
    pub steps: Vec<Step>,
}

/// A load profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// How long the background runs before the launch.
    pub lead: Nanos,
    /// How long it is looked at after the launch is over.
    pub tail: Nanos,
    /// The tasks. The launch is over when those that begin with it, and end,
    /// have ended.
    pub tasks: Vec<Task>,
}

/// A profile with what of its file was not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The profile.
    pub profile: Profile,
    /// What was left out, one sentence each.
    pub warnings: Vec<String>,
}

/// What is wrong with a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("profile {origin}: {reason}")]
pub struct Wrong {
    /// The file, or the name.
    pub origin: String,
    /// What is wrong, with the line where that is known.
    pub reason: String,
}

impl Profile {
    /// Reads the program's own form, TOML; `origin` names where it came from.
    ///
    /// # Errors
    /// With the line, or the first thing that cannot be.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, Wrong> {
        let wrong = |reason: String| Wrong { origin: origin.to_owned(), reason };
        let profile = written::read(text).map_err(wrong)?;
        profile.check().map_err(wrong)?;
        Ok(profile)
    }

    /// Reads what rt-app reads
    /// (<https://github.com/scheduler-tools/rt-app>, `doc/tutorial.txt`): of
    /// its events `run`, `runtime`, `sleep` and `timer`, of its structure
    /// `phases`, `loop`, `instance` and `delay`. Whatever else is in the file
    /// is named in a warning.
    ///
    /// # Errors
    /// With the line, or the first thing that cannot be.
    pub fn from_rt_app(text: &str, origin: &str) -> Result<Imported, Wrong> {
        let wrong = |reason: String| Wrong { origin: origin.to_owned(), reason };
        let imported = rt_app::read(text, origin).map_err(wrong)?;
        imported.profile.check().map_err(wrong)?;
        Ok(imported)
    }

    /// A launch that computes for `work` at full clock on one thread, and then
    /// for `load` on each of `cpus` threads, as the paper's load app does; a
    /// little background goes on beside it.
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

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.tasks.iter().map(|task| task.threads).sum()
    }

    fn check(&self) -> Result<(), String> {
        if self.threads() > MOST_THREADS {
            return Err(format!("{} threads; {MOST_THREADS} are possible", self.threads()));
        }
        for task in &self.tasks {
            let named = |what: &str| format!("task {:?}: {what}", task.name);
            if task.threads == 0 || task.times == Some(0) {
                return Err(named("it has no threads, or is done no times"));
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
                "no task begins with the launch and ends: it would never be over".to_owned()
            );
        }
        Ok(())
    }
}

const LONGEST: Nanos = Nanos(3_600_000_000_000);
/// How long background runs before a launch, unless a profile says.
const LEAD: Nanos = Nanos(1_000_000_000);
const TAIL: Nanos = Nanos(200_000_000);

/// What a phone that is held in a hand does beside: half a millisecond of
/// work every 10 ms, so that the governor goes on looking.
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

impl Step {
    /// The time in it.
    pub fn length(self) -> Nanos {
        match self {
            Self::Run(length)
            | Self::Runtime(length)
            | Self::Sleep(length)
            | Self::Timer(length) => length,
        }
    }
}

/// As it stands in a profile: `run 100.0 ms`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self {
            Self::Run(_) => "run",
            Self::Runtime(_) => "runtime",
            Self::Sleep(_) => "sleep",
            Self::Timer(_) => "timer",
        };
        write!(f, "{verb} {}", self.length())
    }
}
