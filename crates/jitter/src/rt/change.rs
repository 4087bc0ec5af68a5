//! One walk over the threads of a process: plan the changes, journal them, apply them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use unjank_host::process::HelperCommand;
use unjank_host::sched::{Policy, ThreadId, check_policy};
use unjank_host::thread_ledger::{Intent, Ledger, ThreadReport, ThreadState};
use unjank_host::threads::{self, Began, Thread};
use unjank_host::{Error, ErrorClass, Nanos, Result, Root};

use super::means::{Granted, PolicySetter};
use super::rules::Rules;
use super::walk::{Changed, Failed, Instead, Walk};

/// Walks over a process at most, to catch threads that appear meanwhile.
const MOST_ROUNDS: usize = 10;
/// Names that an error lists.
const MOST_NAMES: usize = 12;

/// Limits and lifetime of the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How long a real-time thread may compute without a sleep before the
    /// kernel sends its process `SIGXCPU`; `None` leaves the limit as it is.
    pub longest: Option<Nanos>,
    /// Accept priorities above 90, and machines without real-time throttling.
    pub force: bool,
    /// Whether the changes end with this session.
    pub tied: bool,
    /// Whether changes are refused that this user could not put back. A command that unjank runs
    /// ends with its threads, so there is usually nothing to put back.
    pub reversible: bool,
}

/// While a session watches, the kernel's limit is this much above twice its own.
const BEHIND: Nanos = Nanos::from_millis(5_000);

impl Options {
    /// For a session that ends threads' policies itself if they compute for longer than `max_busy`
    /// (0 for no limit), as long as it `watches`; a session that does not watch ends at once.
    ///
    /// The kernel's limit ends the whole process (SIGXCPU). If the session watches, that limit is
    /// needed only after its death.
    pub fn new(max_busy: Nanos, force: bool, watches: bool) -> Self {
        let behind = if watches { max_busy.times(2) + BEHIND } else { max_busy };
        let longest = (max_busy > Nanos::ZERO).then_some(behind);
        Self { longest, force, tied: watches, reversible: false }
    }

    /// The same, and refuses changes that this user could not put back.
    #[must_use]
    pub fn reversible(self) -> Self {
        Self { reversible: true, ..self }
    }
}

/// Changes threads and remembers those that it has seen.
#[derive(Debug)]
pub struct Changer<'a> {
    root: &'a Root,
    rules: &'a Rules,
    setter: &'a PolicySetter<'a>,
    ledger: Ledger<'a>,
    options: Options,
    known: HashMap<ThreadId, SeenThread>,
    limited: HashSet<u32>,
    refused: HashSet<(ThreadId, Began)>,
    matched: BTreeSet<usize>,
}

/// A thread as last seen.
#[derive(Debug)]
struct SeenThread {
    process: u32,
    began: Began,
    name: String,
    realtime: bool,
}

/// Applies `rules` to the threads that `process` has now: all, or none of them.
///
/// # Errors
/// `Invalid` if there is no such process or a pattern matches nothing; errors
/// of the checks and of the kernel. On error, nothing is changed.
pub fn set<'a>(
    root: &'a Root,
    state_dir: &Path,
    process: u32,
    rules: &'a Rules,
    setter: &'a PolicySetter<'a>,
    options: Options,
    keeper: Option<HelperCommand>,
) -> Result<(Walk, Changer<'a>)> {
    check(root, rules, options.force)?;
    let listed = threads::list(root, process)?;
    nothing_unmatched(process, rules, &listed.threads)?;
    let mut changer =
        Changer::begin(root, state_dir, Some(process), rules, setter, options, keeper)?;
    let mut walk = Walk { gone: listed.gone, ..Walk::default() };
    let outcome = changer.apply(process, listed.threads, &mut walk).and_then(|()| {
        for _ in 0..MOST_ROUNDS {
            let seen = walk.seen;
            changer.walk(process, false, &mut walk)?;
            if walk.seen == seen {
                break;
            }
        }
        Ok(())
    });
    let error = outcome.err().or_else(|| match walk.failed.pop() {
        Some(failed) => Some(named(&failed)),
        None if walk.changed.len() + walk.already > 0 => None,
        None => Some(Error::Invalid(format!(
            "the threads of process {process} that match have ended meanwhile"
        ))),
    });
    match error {
        None => Ok((walk, changer)),
        Some(error) => {
            changer.finish();
            Err(error)
        }
    }
}

/// Checks that every policy is safe on this machine, before anything is touched.
///
/// # Errors
/// As [`check_policy`].
pub fn check(root: &Root, rules: &Rules, force: bool) -> Result<()> {
    rules.policies().try_for_each(|policy| check_policy(root, policy, force))
}

fn nothing_unmatched(process: u32, rules: &Rules, threads: &[Thread]) -> Result<()> {
    let mut names: Vec<&str> = threads.iter().map(|thread| thread.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let unmatched = rules.unmatched(&names.iter().flat_map(|name| rules.matching(name)).collect());
    if unmatched.is_empty() {
        return Ok(());
    }
    let more = if names.len() > MOST_NAMES { ", …" } else { "" };
    names.truncate(MOST_NAMES);
    Err(Error::Invalid(format!(
        "{} {} no thread of process {process}, so nothing is changed; it has {}{more} (names have \
         at most 15 bytes)",
        unmatched.join(", "),
        if unmatched.len() == 1 { "matches" } else { "match" },
        names.join(", "),
    )))
}

/// The error of one thread, with its name.
fn named(failed: &Failed) -> Error {
    let Failed { thread, name, error } = failed;
    match error {
        Error::Permission { what, needs } => {
            let what = format!("{what} for {name} ({thread})");
            Error::Permission { what, needs: needs.clone() }
        }
        Error::Syscall { call, source, .. } => {
            let source = source.raw_os_error().map_or_else(
                || std::io::Error::from(source.kind()),
                std::io::Error::from_raw_os_error,
            );
            Error::syscall(call, format!("{name} ({thread})"), source)
        }
        error => Error::Unsupported(format!("{name} ({thread}) cannot be changed: {error}")),
    }
}

impl<'a> Changer<'a> {
    /// Begins a session for `process` and its descendants, which are passed to
    /// [`walk`](Self::walk). The keeper puts their threads back if this process
    /// is killed.
    ///
    /// # Errors
    /// Errors of the checks, an unusable state directory, or a keeper that does
    /// not start.
    pub fn begin(
        root: &'a Root,
        state_dir: &Path,
        process: Option<u32>,
        rules: &'a Rules,
        setter: &'a PolicySetter<'a>,
        options: Options,
        keeper: Option<HelperCommand>,
    ) -> Result<Self> {
        check(root, rules, options.force)?;
        let scheduler = setter.scheduler;
        let ledger = Ledger::begin(root, state_dir, process, options.tied, scheduler, keeper)?;
        let (known, limited, refused, matched) = Default::default();
        Ok(Self { root, rules, setter, ledger, options, known, limited, refused, matched })
    }

    /// Applies the rules to the new threads of `process`, and with `renamed`
    /// also to those whose name has changed.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn walk(&mut self, process: u32, renamed: bool, walk: &mut Walk) -> Result<()> {
        // A process that has ended has no threads.
        let ids = threads::ids(self.root, process).unwrap_or_default();
        let there: HashSet<ThreadId> = ids.iter().copied().collect();
        let mut gone = Vec::new();
        self.known.retain(|&id, known| {
            let stays = known.process != process || there.contains(&id);
            if !stays {
                gone.push(id);
            }
            stays
        });
        self.ledger.forget(&gone)?;
        let ids = ids.into_iter().filter(|id| renamed || !self.known.contains_key(id));
        let ids: Vec<ThreadId> = ids.collect();
        self.look(process, &ids, walk)
    }

    /// Applies the rules to some threads of `process`.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn look(&mut self, process: u32, ids: &[ThreadId], walk: &mut Walk) -> Result<()> {
        let mut threads = Vec::new();
        for &id in ids {
            match threads::look(self.root, process, id)? {
                Some(thread) => threads.push(thread),
                None => walk.gone += 1,
            }
        }
        self.apply(process, threads, walk)
    }

    fn apply(&mut self, process: u32, threads: Vec<Thread>, walk: &mut Walk) -> Result<()> {
        let mut intents = Vec::new();
        for thread in threads {
            let is_known =
                |known: &SeenThread| known.began == thread.began && known.name == thread.name;
            if self.known.get(&thread.id).is_some_and(is_known) {
                continue;
            }
            walk.seen += 1;
            self.matched.extend(self.rules.matching(&thread.name));
            let chosen = self.rules.choose(&thread.name).map(|(_, policy)| policy);
            let chosen = chosen.filter(|_| !self.refused.contains(&(thread.id, thread.began)));
            if let Some(policy) = chosen {
                match self.intent(process, &thread, policy) {
                    Ok(Some(intent)) if intent.before == intent.wanted => walk.already += 1,
                    Ok(Some(intent)) => intents.push(intent),
                    Ok(None) => walk.gone += 1,
                    Err(error) => {
                        let (thread, name) = (thread.id, thread.name.clone());
                        walk.failed.push(Failed { thread, name, error });
                    }
                }
            }
            let Thread { id, name, began, policy, .. } = thread;
            let realtime = policy.is_some_and(Policy::is_realtime)
                && self.known.get(&id).is_some_and(|known| known.realtime);
            self.known.insert(id, SeenThread { process, began, name, realtime });
        }
        if intents.is_empty() {
            return Ok(());
        }
        self.limit(process, walk)?;
        let is_held = |intent: &&Intent| self.ledger.before(intent.thread, intent.began).is_some();
        let held: HashSet<ThreadId> = intents.iter().filter(is_held).map(|it| it.thread).collect();
        self.ledger.announce(&intents)?;
        let (mut settled, mut not_done) = (Vec::new(), Vec::new());
        for intent in intents {
            let Intent { thread, before, wanted, .. } = intent;
            match self.setter.set(&mut self.ledger, process, thread, wanted, before) {
                Ok(Granted { means, state, because }) => {
                    settled.push((thread, state));
                    let now = state.unwrap_or(wanted);
                    if let Some(known) = self.known.get_mut(&thread) {
                        known.realtime = now.policy.is_realtime();
                    }
                    let name = intent.name;
                    let instead_of = because.map(|because| Instead { wanted, because });
                    walk.changed.push(Changed {
                        process,
                        thread,
                        name,
                        before,
                        now,
                        means,
                        instead_of,
                    });
                }
                Err(error) if error.is_not_found() => {
                    not_done.push(thread);
                    walk.gone += 1;
                }
                Err(error) => {
                    // An earlier change of it is still to be put back.
                    if held.contains(&thread) {
                        settled.push((thread, Some(before)));
                    } else {
                        not_done.push(thread);
                    }
                    walk.failed.push(Failed { thread, name: intent.name, error });
                }
            }
        }
        self.ledger.forget(&not_done)?;
        self.ledger.settle(&settled)
    }

    fn intent(&self, process: u32, thread: &Thread, policy: Policy) -> Result<Option<Intent>> {
        let Some(before) = self.setter.scheduler.state_of(thread)? else { return Ok(None) };
        let nice = policy.fair().map_or(before.nice, |fair| fair.nice);
        // Children of a real-time thread must not inherit its policy.
        let reset_on_fork = before.reset_on_fork || policy.is_realtime();
        let wanted = ThreadState { policy, reset_on_fork, nice };
        if self.options.reversible {
            let first = self.ledger.before(thread.id, thread.began).unwrap_or(before);
            let (new, old) = ((wanted.policy, wanted.nice), (first.policy, first.nice));
            self.setter.rights.check_return(new, old)?;
        }
        Ok(Some(Intent {
            process,
            thread: thread.id,
            began: thread.began,
            name: thread.name.clone(),
            before,
            wanted,
            at_ns: None,
        }))
    }

    /// Sets the run limit of a process before its first thread becomes real-time.
    /// A process of another user needs `CAP_SYS_RESOURCE`; without it, a session
    /// that watches the threads goes on.
    fn limit(&mut self, process: u32, walk: &mut Walk) -> Result<()> {
        if let Some(longest) = self.options.longest
            && self.rules.are_realtime()
            && self.limited.insert(process)
        {
            match self.ledger.limit(process, longest, false) {
                Err(error) if error.is_not_found() => {}
                Err(error) if self.options.tied && error.class() == ErrorClass::Permission => {
                    walk.unlimited.push((process, error));
                }
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Forgets the processes that have `ended`.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn forget(&mut self, ended: impl Fn(u32) -> bool) -> Result<()> {
        self.known.retain(|_, known| !ended(known.process));
        self.limited.retain(|process| !ended(*process));
        let known = &self.known;
        self.refused.retain(|(thread, _)| known.contains_key(thread));
        self.ledger.forget_processes(ended)
    }

    /// The real-time threads that this session has made, with their processes.
    pub fn realtime(&self) -> Vec<(u32, ThreadId)> {
        let realtime = self.known.iter().filter(|(_, known)| known.realtime);
        realtime.map(|(&thread, known)| (known.process, thread)).collect()
    }

    /// Makes one thread ordinary for good, even if it was real-time before the
    /// session. No rule applies to it any more.
    pub fn give_up(&mut self, thread: ThreadId) -> Option<ThreadReport> {
        let known = self.known.get_mut(&thread)?;
        known.realtime = false;
        let (process, began) = (known.process, known.began);
        self.refused.insert((thread, began));
        let name = known.name.clone();
        // It may have been renamed since.
        let mut report = ThreadReport { name, ..self.ledger.put_back(thread)? };
        let scheduler = self.setter.scheduler;
        if let Ok(Some((now, state))) = scheduler.look(process, thread)
            && now == began
            && state.policy.is_realtime()
        {
            let ordinary = ThreadState { policy: Policy::other(state.nice), ..state };
            if scheduler.set(thread, ordinary).is_ok() {
                report.after = Some(ordinary.to_string());
            }
        }
        Some(report)
    }

    /// Patterns that no thread has matched so far.
    pub fn unmatched(&self) -> Vec<String> {
        self.rules.unmatched(&self.matched)
    }

    /// Puts all changed threads and limits back.
    pub fn finish(self) -> Vec<ThreadReport> {
        self.ledger.finish()
    }

    /// Ends the session; the changes stay.
    ///
    /// # Errors
    /// The ledger cannot be written; then everything is put back.
    pub fn keep(self) -> Result<()> {
        self.ledger.keep()
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::SchedulingRights;

    use super::super::scripted::{OTHER, Scripted, rules, setter};
    use super::*;

    #[test]
    fn a_change_that_cannot_be_put_back_is_refused() {
        let (machine, rules) = (Scripted::new(), rules(&["*=idle"]));
        machine.start(100, "app", 1);
        let change = |rights, options: Options| {
            let setter = setter(&machine, rights);
            let place = machine.state_dir();
            let set = set(&machine.root, &place, 100, &rules, &setter, options, None);
            let was = machine.state(100);
            set.map(|(_, changer)| (was, changer.finish().len())).map_err(|error| {
                assert_eq!(was, OTHER);
                error.to_string()
            })
        };
        let options = Options::new(Nanos::from_millis(1_000), false, true);
        let idle = ThreadState { policy: Policy::Idle, ..OTHER };
        assert_eq!(
            change(SchedulingRights::NONE, options.reversible()).unwrap_err(),
            "going back from idle to other for app (thread 100) needs CAP_SYS_NICE or a limit \
             RLIMIT_NICE that allows it"
        );
        assert_eq!(change(SchedulingRights::All, options.reversible()), Ok((idle, 1)));
        assert_eq!(change(SchedulingRights::NONE, options), Ok((idle, 1)), "for a command");
    }

    #[test]
    fn the_way_back_of_a_renamed_thread_leads_to_its_first_state() {
        let (machine, rules) = (Scripted::new(), rules(&["fast=fifo:5", "slow=other"]));
        // A way back to fifo:5 would need a right.
        let setter = setter(&machine, SchedulingRights::NONE);
        let options = Options::new(Nanos::from_millis(1_000), false, true).reversible();
        let place = machine.state_dir();
        let mut changer =
            Changer::begin(&machine.root, &place, None, &rules, &setter, options, None).unwrap();
        for (name, policy) in [("fast", "fifo:5"), ("slow", "other")] {
            machine.start(100, name, 1);
            let mut walk = Walk::default();
            changer.walk(100, true, &mut walk).unwrap();
            assert_eq!((walk.changed.len(), walk.failed.len()), (1, 0), "{:?}", walk.failed);
            assert_eq!(machine.state(100).policy.to_string(), policy);
        }
        changer.finish();
        assert_eq!(machine.state(100), OTHER);
    }

    #[test]
    fn a_thread_whose_second_change_fails_goes_back_to_its_first_state() {
        let machine = Scripted::new();
        let rules = rules(&["fast=fifo:5", "exact=deadline:1ms/10ms/10ms"]);
        let setter = setter(&machine, SchedulingRights::All);
        let options = Options::new(Nanos::from_millis(1_000), false, true);
        let place = machine.state_dir();
        let mut changer =
            Changer::begin(&machine.root, &place, None, &rules, &setter, options, None).unwrap();
        for (name, failed) in [("fast", 0), ("exact", 1)] {
            machine.start(100, name, 1);
            let mut walk = Walk::default();
            changer.walk(100, true, &mut walk).unwrap();
            assert_eq!(walk.failed.len(), failed);
            assert_eq!(machine.state(100).policy.to_string(), "fifo:5");
        }
        changer.finish();
        assert_eq!(machine.state(100), OTHER);
    }
}
