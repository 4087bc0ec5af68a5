//! Priority inheritance: whether a server runs at its client's priority, and if
//! not, why.

use std::fmt;

use serde::{Deserialize, Serialize};
use unjank_measure::stats::proportion;
use unjank_measure::{Answer, Fact, Quantity, Unit, Verdict};

use crate::latency::PriorityCheck;
use crate::transport::{ReportedPolicy, Transport};

/// Whether the server gets its client's real-time priority, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inheritance {
    /// The server runs at the client's real-time priority while it serves it.
    Inherited,
    /// The transport passes on nice values, but no real-time priority.
    NiceOnly,
    /// The server's `RLIMIT_RTPRIO` is below the client's priority.
    CappedByRlimit,
    /// The server's binder node does not ask for real-time inheritance.
    NodeNotOptedIn,
    /// The node asks for it, but the kernel's binder driver passes on nothing.
    KernelUnsupported,
    /// The transport has no inheritance, or it did not work.
    NotInherited,
    /// No call could be made at real-time priority.
    NotTestable,
}

impl Inheritance {
    /// `PASS` and `FAIL` as in AOSP's tool, and two more words for cases in which
    /// it prints `FAIL` or `PASS` without a test.
    pub fn word(self) -> &'static str {
        match self {
            Self::Inherited => "PASS",
            Self::NodeNotOptedIn | Self::NotInherited | Self::CappedByRlimit => "FAIL",
            Self::NiceOnly | Self::KernelUnsupported => "UNSUPPORTED",
            Self::NotTestable => "UNTESTED",
        }
    }
}

impl fmt::Display for Inheritance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inherited => "inherited",
            Self::NiceOnly => "nice_only",
            Self::CappedByRlimit => "capped_by_rlimit",
            Self::NodeNotOptedIn => "node_not_opted_in",
            Self::KernelUnsupported => "kernel_unsupported",
            Self::NotInherited => "not_inherited",
            Self::NotTestable => "not_testable",
        })
    }
}

/// What decides the answer besides the calls.
#[derive(Debug, Clone)]
pub(crate) struct Circumstances {
    pub(crate) transport: Transport,
    /// Whether the server's node asks for real-time inheritance.
    pub(crate) inherit_rt: bool,
    /// Whether the server may take any priority (`CAP_SYS_NICE`).
    pub(crate) privileged: bool,
    /// The server's `RLIMIT_RTPRIO`; `None` is unlimited.
    pub(crate) rtprio_limit: Option<u64>,
    /// Why no call could be made at real-time priority.
    pub(crate) no_fifo: Option<String>,
}

/// An answer and the calls behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct InheritanceVerdict {
    /// The transport of the calls.
    pub transport: Transport,
    /// Whether servers run at their client's real-time priority, or why not.
    pub answer: Inheritance,
    /// Why, in one sentence without a full stop.
    pub reason: String,
    /// Of the checked calls at real-time priority: those served at it.
    pub real_time: Share,
    /// Of the checked calls with a nice value of their own: those served at it.
    pub nice: Share,
}

/// How many of a number of calls inherited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    /// All calls.
    pub of: u64,
    /// Calls that inherited.
    pub inherited: u64,
}

impl Share {
    fn all(self) -> bool {
        self.of > 0 && self.inherited == self.of
    }

    fn count(&mut self, inherited: bool) {
        self.of += 1;
        self.inherited += u64::from(inherited);
    }
}

/// Judges from calls in which the server reported its own priority.
pub(crate) fn judge_inheritance(
    checks: &[PriorityCheck],
    about: &Circumstances,
) -> InheritanceVerdict {
    let tally = Tally::of(checks);
    let (answer, reason) = tally.decide(about);
    let Tally { real_time, nice, .. } = tally;
    InheritanceVerdict { transport: about.transport, answer, reason, real_time, nice }
}

/// The sums over all checks.
#[derive(Debug, Default)]
struct Tally {
    real_time: Share,
    nice: Share,
    /// Ordinary calls that were served at real-time priority.
    kept: u64,
    /// The highest real-time priority at which a real-time call was served,
    /// and the lowest nice value.
    highest: u8,
    lowest_nice: i8,
}

impl Tally {
    fn of(checks: &[PriorityCheck]) -> Self {
        let mut tally = Self::default();
        for check in checks {
            tally.note(check);
        }
        tally
    }

    fn note(&mut self, check: &PriorityCheck) {
        let served = check.server.real_time();
        match check.caller.policy {
            ReportedPolicy::Fifo(priority) => {
                self.real_time.count(served >= priority);
                self.highest = self.highest.max(served);
                if let ReportedPolicy::Fair(nice) = check.server.policy {
                    self.lowest_nice = self.lowest_nice.min(nice);
                }
            }
            ReportedPolicy::Fair(nice) if check.at_nice => {
                self.nice.count(check.server.policy == ReportedPolicy::Fair(nice));
            }
            ReportedPolicy::Fair(_) => self.kept += u64::from(served > 0),
            ReportedPolicy::RoundRobin(_) | ReportedPolicy::Other => {}
        }
    }

    fn decide(&self, about: &Circumstances) -> (Inheritance, String) {
        let Share { of, inherited } = self.real_time;
        let transport = about.transport;
        if of == 0 {
            let reason =
                about.no_fifo.as_deref().unwrap_or("no call was made at real-time priority");
            return (Inheritance::NotTestable, reason.to_owned());
        }
        if transport == Transport::Passthrough {
            let reason = "a plain call runs on the caller's own thread";
            return (Inheritance::Inherited, reason.to_owned());
        }
        if self.real_time.all() && self.kept == 0 {
            let reason = format!("each of {of} real-time calls was served at its own priority");
            return (Inheritance::Inherited, reason);
        }
        if self.real_time.all() {
            let reason = "the server runs at real-time priority for ordinary callers too";
            return (Inheritance::NotInherited, reason.to_owned());
        }
        if let Some(capped) = self.capped(about) {
            return (Inheritance::CappedByRlimit, capped);
        }
        if inherited > 0 {
            let reason = format!("only {inherited} of {of} real-time calls were served at it");
            return (Inheritance::NotInherited, reason);
        }
        if !transport.is_binder() {
            let reason = format!("{transport} has no priority inheritance");
            return (Inheritance::NotInherited, reason);
        }
        let nice = match (self.nice.of, self.nice.all()) {
            (0, _) => "inheritance of nice values could not be tested",
            (_, true) => "nice values are passed on",
            (_, false) => "nice values are not passed on either",
        };
        if !about.inherit_rt {
            let reason = format!(
                "the server's node does not set FLAT_BINDER_FLAG_INHERIT_RT, and real-time \
                 priority is not passed on; {nice}"
            );
            return (Inheritance::NodeNotOptedIn, reason);
        }
        let reason = format!(
            "the server's node sets FLAT_BINDER_FLAG_INHERIT_RT, which this kernel's binder driver \
             ignores; {nice}"
        );
        let answer =
            if self.nice.all() { Inheritance::NiceOnly } else { Inheritance::KernelUnsupported };
        (answer, reason)
    }

    /// Android's driver gives a server at most the priority that its limit
    /// allows; with a limit of 0 it gives nice −20.
    fn capped(&self, about: &Circumstances) -> Option<String> {
        let limit = about.rtprio_limit.filter(|_| !about.privileged)?;
        let at_limit = if limit == 0 {
            self.highest == 0 && self.lowest_nice == -20
        } else {
            u64::from(self.highest) == limit
        };
        at_limit.then(|| {
            format!(
                "the server's RLIMIT_RTPRIO is {limit}, and it has no CAP_SYS_NICE to exceed it"
            )
        })
    }
}

impl InheritanceVerdict {
    /// As a verdict of the run record. Its reason contains the [`Inheritance`]. `facts`
    /// holds the shares over all starts.
    pub(crate) fn verdict(&self, facts: &[Fact]) -> Verdict {
        let name = share_name(self.transport, REAL_TIME);
        let real_time = facts.iter().find(|fact| fact.name == name);
        let question = format!(
            "Does a server called over {} run at its client's real-time priority?",
            self.transport
        );
        let answer = match self.answer {
            Inheritance::Inherited => Answer::Yes,
            Inheritance::NotTestable => Answer::NotAvailable,
            _ => Answer::No,
        };
        let reason = format!("inheritance: {}, {}", self.answer, self.reason);
        Verdict {
            measured: real_time.map(|share| Quantity {
                name: "share of real-time calls served at their priority".to_owned(),
                value: share.value,
                unit: Unit::Ratio,
                interval: share.interval,
                at_least: None,
                n: self.real_time.of,
            }),
            next: (self.answer != Inheritance::Inherited)
                .then(|| "unjank ipc inversion".to_owned()),
            ..Verdict::new(format!("ipc/{}", self.transport), question, answer, reason)
        }
    }
}

/// The last part of the name of the share of real-time calls.
const REAL_TIME: &str = "real_time";

fn share_name(transport: Transport, what: &str) -> String {
    format!("ipc/{transport}/inherited/{what}")
}

/// The shares behind the answer, of the checks of one start.
pub(crate) fn inherited_shares(transport: Transport, checks: &[PriorityCheck]) -> Vec<Fact> {
    let tally = Tally::of(checks);
    let fact = |what: &str, share: Share| {
        (share.of > 0).then(|| {
            let name = share_name(transport, what);
            let value = share.inherited as f64 / share.of as f64;
            Fact::new(name, value, Unit::Ratio)
                .with_interval(proportion::interval(share.inherited, share.of), share.of)
                .averaged()
        })
    };
    [fact(REAL_TIME, tally.real_time), fact("nice", tally.nice)].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::ThreadId;

    use super::*;
    use crate::transport::ExaminedThread;

    fn about(transport: Transport, inherit_rt: bool) -> Circumstances {
        Circumstances {
            transport,
            inherit_rt,
            privileged: true,
            rtprio_limit: Some(0),
            no_fifo: None,
        }
    }

    fn check(caller: ReportedPolicy, server: ReportedPolicy, effective: i8) -> PriorityCheck {
        let examined =
            |policy, effective| ExaminedThread { thread: ThreadId(1), policy, effective };
        PriorityCheck {
            caller: examined(caller, 0),
            at_nice: caller == NICE,
            caller_cpu: 0,
            server: examined(server, effective),
            server_cpu: 0,
        }
    }

    const FIFO: ReportedPolicy = ReportedPolicy::Fifo(80);
    const FAIR: ReportedPolicy = ReportedPolicy::Fair(0);
    const NICE: ReportedPolicy = ReportedPolicy::Fair(-5);

    fn answer(checks: &[PriorityCheck], about: &Circumstances) -> (Inheritance, String) {
        let verdict = judge_inheritance(checks, about);
        (verdict.answer, verdict.reason)
    }

    #[test]
    fn boosted_by_a_futex_or_by_a_policy_is_inherited() {
        let by_futex = [check(FIFO, FAIR, -81), check(FAIR, FAIR, 20)];
        let by_policy = [check(FIFO, FIFO, -81), check(FAIR, FAIR, 20)];
        for checks in [by_futex, by_policy] {
            let (answer, reason) = answer(&checks, &about(Transport::Futex, true));
            assert_eq!(answer, Inheritance::Inherited);
            assert_eq!(reason, "each of 1 real-time calls was served at its own priority");
        }
    }

    #[test]
    fn a_server_that_is_always_real_time_inherits_nothing() {
        let checks = [check(FIFO, FIFO, -81), check(FAIR, FIFO, -81)];
        assert_eq!(answer(&checks, &about(Transport::Unix, true)).0, Inheritance::NotInherited);
    }

    #[test]
    fn a_plain_transport_has_no_inheritance() {
        let checks = [check(FIFO, FAIR, 20), check(NICE, FAIR, 20)];
        let (answer, reason) = answer(&checks, &about(Transport::Unix, true));
        assert_eq!(answer, Inheritance::NotInherited);
        assert_eq!(reason, "unix has no priority inheritance");
    }

    #[test]
    fn a_nice_value_from_the_beginning_is_not_inherited() {
        let niced = ReportedPolicy::Fair(5);
        let verdict = judge_inheritance(&[check(niced, niced, 25)], &about(Transport::Unix, true));
        assert_eq!(verdict.nice, Share::default());
    }

    #[test]
    fn binder_names_what_is_missing() {
        let nice = [check(FIFO, FAIR, 20), check(NICE, NICE, 15)];
        let nothing = [check(FIFO, FAIR, 20), check(NICE, FAIR, 20)];
        let (asked, unasked) = (about(Transport::Binder, true), about(Transport::Binder, false));
        assert_eq!(answer(&nice, &asked).0, Inheritance::NiceOnly);
        assert_eq!(answer(&nothing, &asked).0, Inheritance::KernelUnsupported);
        let (answer, reason) = answer(&nice, &unasked);
        assert_eq!(answer, Inheritance::NodeNotOptedIn);
        assert!(reason.ends_with("nice values are passed on"), "{reason}");
    }

    #[test]
    fn a_limit_caps_what_is_inherited() {
        let limited = |rtprio_limit| Circumstances {
            privileged: false,
            rtprio_limit,
            ..about(Transport::Binder, true)
        };
        let some = [check(FIFO, ReportedPolicy::Fifo(10), -11)];
        assert_eq!(answer(&some, &limited(Some(10))).0, Inheritance::CappedByRlimit);
        let none = [check(FIFO, ReportedPolicy::Fair(-20), 0)];
        assert_eq!(answer(&none, &limited(Some(0))).0, Inheritance::CappedByRlimit);
        assert_eq!(answer(&none, &limited(None)).0, Inheritance::KernelUnsupported);
    }

    #[test]
    fn inheritance_in_some_calls_only_is_none() {
        let checks = [check(FIFO, FAIR, -81), check(FIFO, FAIR, 20)];
        let (answer, reason) = answer(&checks, &about(Transport::Futex, true));
        assert_eq!(answer, Inheritance::NotInherited);
        assert_eq!(reason, "only 1 of 2 real-time calls were served at it");
    }

    #[test]
    fn without_real_time_calls_nothing_is_known() {
        let no_fifo = Some("needs CAP_SYS_NICE".to_owned());
        let about = Circumstances { no_fifo, ..about(Transport::Unix, true) };
        let (answer, reason) = answer(&[check(FAIR, FAIR, 20)], &about);
        assert_eq!(answer, Inheritance::NotTestable);
        assert_eq!(reason, "needs CAP_SYS_NICE");
    }

    #[test]
    fn effective_priorities_are_read_as_the_kernel_writes_them() {
        let thread = |effective| ExaminedThread { thread: ThreadId(1), policy: FAIR, effective };
        let priorities = [-2, -81, -100, -101, 0, 20, 39].map(|e| thread(e).real_time());
        assert_eq!(priorities, [1, 80, 99, 100, 0, 0, 0]);
    }
}
