//! Launches of programs with a rule: each is followed from its exec until its processes are idle, and
//! compared with a limit or with the usual length of earlier ones.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::{AsFd as _, BorrowedFd};

use unjank_host::process::connector::{EventKinds, ProcConnector, ProcessEvent};
use unjank_host::process::pid;
use unjank_host::thread_pattern::ThreadPattern;
use unjank_host::{Nanos, Result, Root, Support, Timestamp};
use unjank_launch::remedy::learned::Learned;
use unjank_launch::remedy::members::{Members, ProcessesOf};
use unjank_launch::remedy::settle::{IdleRule, SettleDetector};

/// The shortest time between two reads of exec events, because a build causes thousands.
const BETWEEN_READINGS: Nanos = Nanos::from_millis(50);
/// A launch that takes longer is given up.
const LONGEST: Nanos = Nanos::from_millis(60_000);
/// The most launches followed at a time.
const MOST: usize = 16;
/// A launch is over when its processes were idle for half a second.
const IDLE: IdleRule = IdleRule { window: Nanos::from_millis(500), share: 0.1 };

/// How long a launch may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LaunchLimit {
    /// This time.
    Time(Nanos),
    /// So many times the median of its earlier launches, of which three must be known.
    Times(f64),
}

/// Programs by their name, and how long their launch may take.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchRule {
    pattern: ThreadPattern,
    limit: LaunchLimit,
}

impl LaunchRule {
    /// A rule for programs whose name matches a pattern, in which `*` stands for any letters and
    /// `?` for one.
    ///
    /// # Errors
    /// An empty pattern, a limit of zero, or a factor that is not above 1.
    pub fn new(pattern: &str, limit: LaunchLimit) -> std::result::Result<Self, String> {
        let pattern = ThreadPattern::new(pattern)
            .map_err(|_| "a rule begins with the name of a program: firefox=2x".to_owned())?;
        match limit {
            LaunchLimit::Time(Nanos::ZERO) => Err("a limit is longer than zero".to_owned()),
            LaunchLimit::Times(factor) if !(factor > 1.0 && factor <= 100.0) => {
                Err("a factor is above 1 and at most 100: firefox=2x".to_owned())
            }
            limit => Ok(Self { pattern, limit }),
        }
    }
}

impl fmt::Display for LaunchRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            LaunchLimit::Time(limit) => write!(f, "{}={limit}", self.pattern),
            LaunchLimit::Times(factor) => write!(f, "{}={factor}x", self.pattern),
        }
    }
}

/// A launch that took longer than its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowLaunch {
    /// The process.
    pub process: u32,
    /// When it began.
    pub began: Timestamp,
    /// Since when its processes were idle.
    pub ready: Timestamp,
    /// The median of its earlier launches, if three are known.
    pub usual: Option<Nanos>,
}

/// Watches the launches of programs that have a rule.
#[derive(Debug)]
pub struct Launches {
    root: Root,
    rules: Vec<LaunchRule>,
    learned: Learned,
    /// `None` without rules, or where the kernel does not report execs.
    connector: Option<ProcConnector>,
    next_reading: Timestamp,
    followed: BTreeMap<u32, Followed>,
}

/// A launch that goes on.
#[derive(Debug)]
struct Followed {
    name: String,
    limit: LaunchLimit,
    began: Timestamp,
    members: Members,
    settle: SettleDetector,
}

/// The state of a launch.
enum Progress {
    GoesOn,
    /// It ended by itself, or is given up.
    Gone,
    /// Since when its processes are idle.
    Ready(Timestamp),
}

impl Launches {
    /// Watches launches by rules; the first rule that a name matches counts. `learned` are the
    /// lengths of earlier ones.
    pub fn new(root: &Root, rules: Vec<LaunchRule>, learned: Learned) -> Self {
        let (next_reading, followed) = (Timestamp::default(), BTreeMap::new());
        Self { root: root.clone(), rules, learned, connector: None, next_reading, followed }
    }

    /// Begins to listen to exec events, if there are rules. `No` if the kernel does not report them.
    ///
    /// # Errors
    /// Other errors of the kernel.
    pub fn listen(&mut self) -> Result<Support<()>> {
        if self.rules.is_empty() {
            return Ok(Support::Yes(()));
        }
        match ProcConnector::listen(EventKinds::EXEC)? {
            Support::Yes(connector) => {
                self.connector = Some(connector);
                Ok(Support::Yes(()))
            }
            Support::No(reason) => Ok(Support::No(reason)),
        }
    }

    /// The socket of the kernel's exec events; `None` until [`next_reading`](Self::next_reading).
    pub fn execs(&self, now: Timestamp) -> Option<BorrowedFd<'_>> {
        self.connector.as_ref().filter(|_| now >= self.next_reading).map(|it| it.as_fd())
    }

    /// When execs are read next, if that is later than now.
    pub fn next_reading(&self, now: Timestamp) -> Option<Timestamp> {
        (self.connector.is_some() && now < self.next_reading).then_some(self.next_reading)
    }

    /// Reads the execs since the last call.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read(&mut self, now: Timestamp) -> Result<()> {
        self.next_reading = now + BETWEEN_READINGS;
        let Some(mut connector) = self.connector.take() else { return Ok(()) };
        let read = connector.read(|event| {
            if let ProcessEvent::Exec { process, at } = event {
                self.begins(process, at);
            }
        });
        self.connector = Some(connector);
        read.map(drop)
    }

    /// A process has executed a program.
    fn begins(&mut self, process: u32, at: Timestamp) {
        let Ok(name) = self.root.read(format!("/proc/{process}/comm")) else { return };
        let rule = self.rules.iter().find(|rule| rule.pattern.matches(&name));
        let Some(rule) = rule else { return };
        // A script that ends in exec goes on with the launch.
        if self.followed.len() < MOST && !self.followed.contains_key(&process) {
            let launch = Followed {
                name,
                limit: rule.limit,
                began: at,
                members: Members::new(process, at),
                settle: SettleDetector::new(IDLE, at),
            };
            self.followed.insert(process, launch);
        }
    }

    /// Whether a launch goes on, so that [`look`](Self::look) is to be called every 100 ms.
    pub fn is_busy(&self) -> bool {
        !self.followed.is_empty()
    }

    /// The lengths of launches so far.
    pub fn learned(&self) -> &Learned {
        &self.learned
    }

    /// The launches that ended since the last look and took longer than their limit.
    pub fn look(&mut self, now: Timestamp) -> Vec<SlowLaunch> {
        let mut slow = Vec::new();
        let (learned, root) = (&mut self.learned, &self.root);
        self.followed.retain(|&process, launch| match launch.progress(process, now, root) {
            Progress::GoesOn => true,
            Progress::Gone => false,
            Progress::Ready(ready) => {
                let (length, usual) = (ready.since(launch.began), learned.usual(&launch.name));
                learned.note(&launch.name, Some(length));
                if is_slow(length, launch.limit, usual) {
                    slow.push(SlowLaunch { process, began: launch.began, ready, usual });
                }
                false
            }
        });
        slow
    }
}

impl Followed {
    fn progress(&mut self, process: u32, now: Timestamp, root: &Root) -> Progress {
        for child in pid::tree(root, process, 0) {
            self.members.add(child);
        }
        let step = self.members.step(now, IDLE.share, &ProcessesOf(root));
        if !self.members.contains(process) || now.since(self.began) > LONGEST {
            return Progress::Gone;
        }
        self.settle.observe(now, step).map_or(Progress::GoesOn, Progress::Ready)
    }
}

/// Whether a launch took longer than its limit.
fn is_slow(length: Nanos, limit: LaunchLimit, usual: Option<Nanos>) -> bool {
    match (limit, usual) {
        (LaunchLimit::Time(limit), _) => length > limit,
        (LaunchLimit::Times(factor), Some(usual)) => {
            length.get() as f64 > usual.get() as f64 * factor
        }
        (LaunchLimit::Times(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use unjank_needs::wait::until;

    use super::*;

    fn millis(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    fn launches(pattern: &str, limit: LaunchLimit) -> Launches {
        let rule = LaunchRule::new(pattern, limit).unwrap();
        Launches::new(&Root::system(), vec![rule], Learned::default())
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A program that computes for a moment and then waits.
    fn program() -> Child {
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; read line";
        Command::new("sh").args(["-c", script]).stdin(std::process::Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_launch_ends_when_the_program_is_idle_and_its_length_is_learned() {
        let mut launches = launches("sh", LaunchLimit::Time(Nanos(1)));
        let child = program();
        // The parent goes on before the name is new.
        until("the name is that of the program", || {
            launches.begins(child.id(), Timestamp::now());
            launches.is_busy()
        });
        let mut slow = Vec::new();
        until("the launch is over", || {
            slow = launches.look(Timestamp::now());
            slow.retain(|launch| launch.process == child.id());
            !slow.is_empty()
        });
        let [launch] = slow.as_slice() else { panic!("{slow:?}") };
        assert!(launch.ready > launch.began && launch.usual.is_none(), "{launch:?}");
        assert!(!launches.learned().is_empty());
        end(child);
    }

    #[test]
    fn a_program_that_ends_by_itself_is_no_launch() {
        let mut launches = launches("true", LaunchLimit::Time(Nanos(1)));
        let mut child = Command::new("true").spawn().unwrap();
        launches.begins(child.id(), Timestamp::now());
        child.wait().unwrap();
        assert_eq!(launches.look(Timestamp::now()), []);
        assert!(!launches.is_busy() && launches.learned().is_empty());
    }

    #[test]
    fn a_launch_is_slow_by_a_limit_or_by_what_is_usual() {
        let usual = Some(millis(400));
        assert!(is_slow(millis(1_001), LaunchLimit::Time(millis(1_000)), None));
        assert!(!is_slow(millis(999), LaunchLimit::Time(millis(1_000)), usual));
        assert!(is_slow(millis(801), LaunchLimit::Times(2.0), usual));
        assert!(!is_slow(millis(799), LaunchLimit::Times(2.0), usual));
        assert!(!is_slow(millis(9_000), LaunchLimit::Times(2.0), None), "nothing is known");
    }

    #[test]
    fn a_rule_needs_a_name_and_a_limit() {
        let rule = |limit| LaunchRule::new("firefox*", limit);
        assert_eq!(rule(LaunchLimit::Times(2.0)).unwrap().to_string(), "firefox*=2x");
        assert!(rule(LaunchLimit::Time(Nanos::ZERO)).is_err());
        for factor in [1.0, 0.0, -2.0, 101.0, f64::NAN, f64::INFINITY] {
            assert!(rule(LaunchLimit::Times(factor)).is_err(), "{factor}");
        }
        assert!(LaunchRule::new("", LaunchLimit::Times(2.0)).is_err());
    }
}
