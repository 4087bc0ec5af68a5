//! The client process of a pair, which makes the calls.

use std::thread;

use unjank_host::process::HelperCommand;
use unjank_host::sched::{
    Fair, Policy, Realtime, RealtimeGuard, ThreadId, be_ordinary, current_cpu, policy_of,
    set_policy,
};
use unjank_host::tracefs::{Tripwire, TripwirePaths};
use unjank_host::{Error, ErrorClass, Nanos, Result, Root, Timestamp};
use unjank_measure::{Monitor, Series};

use super::options::{CallPolicy, Caller};
use super::report::{Leg, Miss, PairReport, PriorityCheck, Role, Task};
use crate::transport::{
    Connection, ExaminedThread, REPORT_BYTES, Route, SelfReport, Service, cpu_request,
    thread_request,
};
use crate::watch::Watch;

/// Calls before the first one that counts.
const WARM_UP: u64 = 100;
/// Calls that check inheritance of nice values are made at the client's own
/// value minus this: the server has the client's own from its start.
const NICER: i32 = 5;
/// The lowest nice value.
const NICEST: i32 = -20;
/// Time between two messages about progress.
const PROGRESS: Nanos = Nanos::from_millis(300);

/// Starts a server, connects to it, calls `ready` (which returns when all pairs
/// are to begin), and makes the calls.
///
/// # Errors
/// The calls could not begin. Later failures are in the report.
pub fn call(
    task: &Task,
    peer: &HelperCommand,
    root: &Root,
    monitor: &dyn Monitor,
    ready: impl FnOnce() -> Result<()>,
) -> Result<PairReport> {
    let inherit_rt = task.inherit_rt;
    let echo = Route::echo(task.transport, REPORT_BYTES);
    let route = Route { service: Service::Report, inherit_rt, ..echo };
    let tripwire = task.tripwire.as_ref().map(TripwirePaths::open).transpose()?;
    // Ordinary calls, and the server, run at this thread's policy.
    be_ordinary()?;
    let connection = Connection::open(&route, peer)?;
    let watch = Watch::new(connection.peer_id());
    let mut report = PairReport {
        client: std::process::id(),
        server: connection.peer_id(),
        ..PairReport::default()
    };
    let realtime = match Realtime::prepare(root, task.priority, task.force).and_then(try_enter) {
        Ok(realtime) => Some(realtime),
        Err(error) if error.class() == ErrorClass::Permission => {
            report.no_fifo = Some(error.to_string());
            None
        }
        Err(error) => return Err(error),
    };
    let mut calls =
        Calls { task, connection, realtime, tripwire: None, server: None, each: Nanos::ZERO };
    watch.during(monitor, || {
        let start = Timestamp::now();
        for _ in 0..WARM_UP {
            calls.timed(None, &cpu_request())?;
        }
        calls.each = Nanos(Timestamp::now().since(start).get() / WARM_UP);
        calls.check_priorities(&mut report)
    })??;
    report.standing = standing(report.server, root);
    // Not watched: the other pairs may take longer to start than a call may.
    ready()?;
    let end = watch.during(monitor, || {
        calls.tripwire = tripwire;
        let end = calls.all(&mut report, monitor, &watch);
        calls.tripwire = None;
        if report.miss.is_none() && end.is_ok() {
            calls.check_priorities(&mut report)?;
        }
        end
    })?;
    if let Err(error) = end {
        if report.legs.is_empty() {
            return Err(error);
        }
        // A call that the watch ended because the user wants to stop is no failure.
        if !monitor.stop_requested() {
            report.failure = Some(error.to_string());
        }
    }
    Ok(report)
}

/// The main threads of the server and of this client.
fn standing(server: Option<u32>, root: &Root) -> Vec<(Role, ExaminedThread, u32)> {
    let processes = [(Role::Service, server), (Role::Client, Some(std::process::id()))];
    let known = processes.into_iter().filter_map(|(role, process)| {
        let (thread, cpu) = ExaminedThread::standing(root, ThreadId(process?))?;
        Some((role, thread, cpu))
    });
    known.collect()
}

/// Checks the privilege by using it.
fn try_enter(realtime: Realtime) -> Result<Realtime> {
    drop(realtime.enter()?);
    Ok(realtime)
}

struct Calls<'a> {
    task: &'a Task,
    connection: Connection,
    realtime: Option<Realtime>,
    /// Only while calls count.
    tripwire: Option<Tripwire>,
    server: Option<ThreadId>,
    /// About how long a call takes.
    each: Nanos,
}

/// One call.
struct Call {
    client: ThreadId,
    before: Timestamp,
    after: Timestamp,
    /// CPUs of the client before, of the server, and of the client after.
    cpus: [u32; 3],
    reply: SelfReport,
}

impl Calls<'_> {
    fn all(&mut self, report: &mut PairReport, monitor: &dyn Monitor, watch: &Watch) -> Result<()> {
        let start = Timestamp::now();
        let task = self.task;
        let policies: &[CallPolicy] = match self.realtime {
            Some(_) => &[CallPolicy::Fifo, CallPolicy::Other],
            None => &[CallPolicy::Other],
        };
        let kinds =
            task.callers.iter().flat_map(|&caller| policies.iter().map(move |&p| (p, caller)));
        let kinds: Vec<(CallPolicy, Caller)> = kinds.collect();
        let expected = self.each.times(task.iterations.saturating_mul(kinds.len() as u64));
        let mut legs: Vec<Recorder> = kinds
            .into_iter()
            .map(|(policy, caller)| Recorder::new(policy, caller, task, (start, expected)))
            .collect();
        let mut reported = start;
        let mut end = Ok(());
        'calls: for iteration in 0..task.iterations {
            for leg in &mut legs {
                let called = match leg.caller {
                    Caller::Warm => self.timed(Some(leg.policy), &cpu_request()),
                    Caller::Cold => self.on_a_new_thread(leg.policy),
                };
                let call = match called {
                    Ok(call) => call,
                    Err(error) => {
                        end = Err(error);
                        break 'calls;
                    }
                };
                leg.note(&call, Nanos(task.deadline));
                if self.tripwire.is_some() && call.took() > Nanos(task.deadline) {
                    report.miss = Some(self.missed(leg, &call, iteration, start));
                    break 'calls;
                }
            }
            watch.answered();
            let now = Timestamp::now();
            if now.since(reported) > PROGRESS {
                reported = now;
                monitor.progress(iteration as f64 / task.iterations as f64, "");
            }
            if monitor.stop_requested() {
                break;
            }
        }
        report.legs = legs.into_iter().map(Recorder::finish).collect();
        end
    }

    /// Times one call, at `SCHED_FIFO` or at the thread's own policy. A missed
    /// deadline stops the trace at once.
    fn timed(&mut self, policy: Option<CallPolicy>, request: &[u8; REPORT_BYTES]) -> Result<Call> {
        let _realtime = enter(self.realtime.as_ref(), policy)?;
        let mut reply = [0; REPORT_BYTES];
        let cpu_before = current_cpu();
        let before = Timestamp::now();
        self.connection.call(request, &mut reply)?;
        let after = Timestamp::now();
        let cpu_after = current_cpu();
        if let Some(tripwire) = &self.tripwire
            && after.since(before) > Nanos(self.task.deadline)
        {
            tripwire.trip("unjank: deadline missed");
        }
        let reply = SelfReport::from_bytes(&reply);
        let cpus = [cpu_before as u32, reply.cpu, cpu_after as u32];
        Ok(Call { client: ThreadId::current(), before, after, cpus, reply })
    }

    /// Times one call from a new thread.
    fn on_a_new_thread(&mut self, policy: CallPolicy) -> Result<Call> {
        thread::scope(|scope| {
            let caller = thread::Builder::new()
                .name("ipc/cold".to_owned())
                .spawn_scoped(scope, || self.timed(Some(policy), &cpu_request()))
                .map_err(|error| Error::syscall("clone", "a cold caller", error))?;
            caller.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Checks the server's priority in calls at real-time priority, at ordinary
    /// priority and with a nice value. These calls do not count.
    fn check_priorities(&mut self, report: &mut PairReport) -> Result<()> {
        for _ in 0..self.task.checks {
            if self.realtime.is_some() {
                report.checks.extend(self.check_at(Some(CallPolicy::Fifo))?);
            }
            report.checks.extend(self.check_at(None)?);
            let thread = ThreadId::current();
            let (own, reset_on_fork) = policy_of(thread)?;
            let Policy::Other(Fair { nice: own_nice, .. }) = own else { continue };
            let nice = own_nice.saturating_sub(NICER).max(NICEST);
            // Needs a privilege; not checked without it.
            if nice != own_nice && set_policy(thread, Policy::other(nice), reset_on_fork).is_ok() {
                let check = self.check_at(None);
                set_policy(thread, own, reset_on_fork)?;
                report.checks.extend(check?.map(|check| PriorityCheck { at_nice: true, ..check }));
            }
        }
        self.server = report.checks.last().map(|check| check.server.thread);
        Ok(())
    }

    fn check_at(&mut self, policy: Option<CallPolicy>) -> Result<Option<PriorityCheck>> {
        let caller = {
            let _realtime = enter(self.realtime.as_ref(), policy)?;
            SelfReport::of_this_thread()
        };
        let real_time = caller.thread.map_or(0, ExaminedThread::real_time);
        let call = self.timed(policy, &thread_request(real_time))?;
        Ok(caller.thread.zip(call.reply.thread).map(|(caller, server)| PriorityCheck {
            caller,
            at_nice: false,
            caller_cpu: call.cpus[0],
            server,
            server_cpu: call.cpus[1],
        }))
    }

    fn missed(&self, leg: &Recorder, call: &Call, iteration: u64, start: Timestamp) -> Miss {
        Miss {
            policy: leg.policy,
            caller: leg.caller,
            call: iteration,
            client: call.client,
            server: self.server,
            began: call.before.as_nanos(),
            into_the_start: call.before.since(start),
            took: call.took(),
        }
    }
}

fn enter(
    realtime: Option<&Realtime>,
    policy: Option<CallPolicy>,
) -> Result<Option<RealtimeGuard<'_>>> {
    realtime.filter(|_| policy == Some(CallPolicy::Fifo)).map(Realtime::enter).transpose()
}

impl Call {
    fn took(&self) -> Nanos {
        self.after.since(self.before)
    }
}

/// Adds up the calls of a leg.
struct Recorder {
    policy: CallPolicy,
    caller: Caller,
    series: Series,
    total: u64,
    late: u64,
    same_cpu: u64,
    moved: u64,
    raw: Option<Vec<u64>>,
}

impl Recorder {
    /// `course`: when the calls begin, and about how long they take together.
    fn new(
        policy: CallPolicy,
        caller: Caller,
        task: &Task,
        (start, expected): (Timestamp, Nanos),
    ) -> Self {
        let name = format!("ipc/{}/{}/round_trip", task.transport, policy.name());
        Self {
            policy,
            caller,
            series: Series::new(name)
                .with_label("caller", caller.name())
                .with_course(start, expected),
            total: 0,
            late: 0,
            same_cpu: 0,
            moved: 0,
            raw: task.raw.then(Vec::new),
        }
    }

    fn note(&mut self, call: &Call, deadline: Nanos) {
        let took = call.took();
        self.series.record_at(call.after, took);
        self.total = self.total.saturating_add(took.get());
        self.late += u64::from(took > deadline);
        let [before, server, after] = call.cpus;
        self.same_cpu += u64::from(before == server && server == after);
        self.moved += u64::from(before != after);
        if let Some(raw) = &mut self.raw {
            raw.push(took.get());
        }
    }

    fn finish(self) -> Leg {
        Leg {
            policy: self.policy,
            caller: self.caller,
            series: self.series.finish(),
            total: self.total,
            late: self.late,
            same_cpu: self.same_cpu,
            moved: self.moved,
            raw: self.raw.unwrap_or_default(),
        }
    }
}
