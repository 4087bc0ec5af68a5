//! The client process of a pair: makes the calls.

use std::thread;

use unjank_host::sched::{
    Fair, Policy, Realtime, RealtimeGuard, ThreadId, be_ordinary, current_cpu, policy_of,
    set_policy,
};
use unjank_host::tracefs::{Tripwire, TripwirePaths};
use unjank_host::{Error, ErrorClass, Nanos, Result, Root, Timestamp};
use unjank_measure::{Monitor, Series};

use super::options::{CallPolicy, Caller};
use super::report::{Leg, Look, Miss, PairReport, Task};
use crate::transport::{
    Connection, Examined, PeerCommand, Route, SIGHT, Service, Sight, examine, look_around,
};
use crate::watch::Watch;

/// Calls before the first one that counts.
const WARM_UP: u64 = 100;
/// Calls at each policy that look how the server runs, before the others and
/// again after them.
const LOOKS: usize = 8;
/// How far below the client's own nice value, which its server has from the
/// beginning, that of the calls is which look whether it is inherited.
const NICER: i32 = 5;
/// The lowest nice value.
const NICEST: i32 = -20;
/// Time between two words about progress.
const PROGRESS: Nanos = Nanos::from_millis(300);

/// Starts a server, connects to it, says so through `ready` (which returns
/// when all pairs are to begin), and calls.
///
/// # Errors
/// It could not begin. What goes wrong later is in the report.
pub fn call(
    task: &Task,
    peer: &PeerCommand,
    root: &Root,
    monitor: &dyn Monitor,
    ready: impl FnOnce() -> Result<()>,
) -> Result<PairReport> {
    let inherit_rt = task.inherit_rt;
    let witness = Route::echo(task.transport, SIGHT);
    let route = Route { service: Service::Witness, inherit_rt, ..witness };
    let tripwire = task.tripwire.as_ref().map(TripwirePaths::open).transpose()?;
    // So that ordinary calls, and the server to come, are ordinary.
    be_ordinary()?;
    let connection = Connection::open(&route, peer)?;
    let watch = Watch::new(connection.peer_id());
    let mut report = PairReport {
        client: std::process::id(),
        server: connection.peer_id(),
        ..PairReport::default()
    };
    let realtime = match Realtime::prepare(root, task.priority, task.force).and_then(check) {
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
            calls.timed(None, &look_around())?;
        }
        calls.each = Nanos(Timestamp::now().since(start).get() / WARM_UP);
        calls.look(&mut report)
    })??;
    // The other pairs may take longer to start than the watch is patient.
    ready()?;
    let end = watch.during(monitor, || {
        calls.tripwire = tripwire;
        let end = calls.all(&mut report, monitor, &watch);
        calls.tripwire = None;
        if report.miss.is_none() && end.is_ok() {
            calls.look(&mut report)?;
        }
        end
    })?;
    if let Err(error) = end {
        if report.legs.is_empty() {
            return Err(error);
        }
        // A call that the watch has ended because the user did not want to
        // wait for it is no failure.
        if !monitor.stop_requested() {
            report.failure = Some(error.to_string());
        }
    }
    Ok(report)
}

/// Whether the privilege is really there.
fn check(realtime: Realtime) -> Result<Realtime> {
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
    /// Where the client was before and after, and the server in between.
    cpus: [u32; 3],
    reply: Sight,
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
        let mut told = start;
        let mut end = Ok(());
        'calls: for iteration in 0..task.iterations {
            for leg in &mut legs {
                let called = match leg.caller {
                    Caller::Warm => self.timed(Some(leg.policy), &look_around()),
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
            if now.since(told) > PROGRESS {
                told = now;
                monitor.progress(iteration as f64 / task.iterations as f64, "");
            }
            if monitor.stop_requested() {
                break;
            }
        }
        report.legs = legs.into_iter().map(Recorder::finish).collect();
        end
    }

    /// One call, timed; at `SCHED_FIFO` if that is the policy, else as the
    /// thread is. On a missed deadline the trace ends here, at once.
    fn timed(&mut self, policy: Option<CallPolicy>, request: &[u8; SIGHT]) -> Result<Call> {
        let _realtime = enter(self.realtime.as_ref(), policy)?;
        let mut reply = [0; SIGHT];
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
        let reply = Sight::from_bytes(&reply);
        let cpus = [cpu_before as u32, reply.cpu, cpu_after as u32];
        Ok(Call { client: ThreadId::current(), before, after, cpus, reply })
    }

    /// The same from a thread that has never called before.
    fn on_a_new_thread(&mut self, policy: CallPolicy) -> Result<Call> {
        thread::scope(|scope| {
            let caller = thread::Builder::new()
                .name("ipc/cold".to_owned())
                .spawn_scoped(scope, || self.timed(Some(policy), &look_around()))
                .map_err(|error| Error::syscall("clone", "a cold caller", error))?;
            caller.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Calls that do not count: how does the server run when it is called at
    /// real-time priority, as an ordinary thread, and with a nice value?
    fn look(&mut self, report: &mut PairReport) -> Result<()> {
        for _ in 0..LOOKS {
            if self.realtime.is_some() {
                report.looks.extend(self.look_at(Some(CallPolicy::Fifo))?);
            }
            report.looks.extend(self.look_at(None)?);
            let thread = ThreadId::current();
            let (own, reset_on_fork) = policy_of(thread)?;
            let Policy::Other(Fair { nice: own_nice, .. }) = own else { continue };
            let nice = own_nice.saturating_sub(NICER).max(NICEST);
            // Not allowed to everybody, and then not looked at.
            if nice != own_nice && set_policy(thread, Policy::other(nice), reset_on_fork).is_ok() {
                let look = self.look_at(None);
                set_policy(thread, own, reset_on_fork)?;
                report.looks.extend(look?.map(|look| Look { at_nice: true, ..look }));
            }
        }
        self.server = report.looks.last().map(|look| look.server.thread);
        Ok(())
    }

    fn look_at(&mut self, policy: Option<CallPolicy>) -> Result<Option<Look>> {
        let caller = {
            let _realtime = enter(self.realtime.as_ref(), policy)?;
            Sight::of_this_thread()
        };
        let real_time = caller.thread.map_or(0, Examined::real_time);
        let call = self.timed(policy, &examine(real_time))?;
        Ok(caller.thread.zip(call.reply.thread).map(|(caller, server)| Look {
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
            into_the_run: call.before.since(start),
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

/// What a leg's calls add up to.
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
