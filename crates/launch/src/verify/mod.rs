//! Compares the models with this machine's governor: the same load, the same
//! tunables, and the frequencies of both.
//!
//! | module | subject |
//! |---|---|
//! | `policy` | this machine's governor and its model |
//! | `load` | running a profile |
//! | `observe` | from a trace to busy CPUs and changes of frequency |
//! | `idle` | idle time as the kernel counts it |
//! | `compare` | comparing sequence and times |

mod compare;
mod idle;
mod load;
mod observe;
mod policy;

use unjank_host::tracefs::{InstanceOptions, Trace, Tracefs};
use unjank_host::{Bytes, Machine as Host, Nanos, Result, Root, Support, Timestamp};
use unjank_measure::record::{Answer, Axis};
use unjank_measure::{Curve, Fact, Findings, Monitor, Point, Unit, Verdict};

use crate::model::Profile;
use crate::model::simulate::Transition;
use crate::model::simulate::replay::replay;

use compare::Comparison;
use idle::IdleBegins;
use observe::Changes;
use policy::Policy;

/// Busy CPUs, wake-ups, frequencies, the governor's work items, and interrupts:
/// they include the ticks, and all of them interrupt idle.
const EVENTS: [&str; 20] = [
    "sched/sched_switch",
    "sched/sched_wakeup",
    "power/cpu_frequency",
    "power/cpu_idle",
    "workqueue/workqueue_queue_work",
    "workqueue/workqueue_execute_start",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq_vectors/local_timer_entry",
    "irq_vectors/local_timer_exit",
    "irq_vectors/irq_work_entry",
    "irq_vectors/irq_work_exit",
    "irq_vectors/reschedule_entry",
    "irq_vectors/reschedule_exit",
    "irq_vectors/call_function_entry",
    "irq_vectors/call_function_exit",
    "irq_vectors/call_function_single_entry",
    "irq_vectors/call_function_single_exit",
];
/// The buffer for these events, on each CPU.
const BUFFER: Bytes = Bytes::from_mib(8);

/// Runs each profile on this machine under its own governor, and compares its
/// frequencies with those of the governor's model under the same load.
///
/// # Errors
/// The kernel refuses: tracing needs root.
pub fn run(profiles: &[Profile], root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    let mut findings = Findings::default();
    let policy = Policy::find(&Host::read(root), root)?;
    let Some(policy) = findings.require("launch/verify", policy) else { return Ok(findings) };
    let tracefs = match Tracefs::open(root) {
        Support::Yes(tracefs) => tracefs,
        Support::No(reason) => {
            findings.not_supported("launch/verify", reason);
            return Ok(findings);
        }
    };
    policy.note(&mut findings);
    for (index, profile) in profiles.iter().enumerate() {
        if monitor.stop_requested() {
            break;
        }
        let done = index as f64 / profiles.len() as f64;
        monitor.progress(done, &format!("profile {}", profile.name));
        let options = InstanceOptions {
            buffer: BUFFER,
            events: EVENTS.map(str::to_owned).to_vec(),
            ..InstanceOptions::default()
        };
        tracefs.remove_leftovers()?;
        let instance = tracefs.instance(&options)?;
        instance.start()?;
        let from = Timestamp::now();
        // Read after the trace has started: preparing it takes long enough for a change.
        let before = policy.frequency(root)?;
        let lead = profile.lead.max(policy.governor.period().times(10));
        let to = load::play(profile, lead, &policy.cpus, &|| monitor.stop_requested());
        instance.stop()?;
        let trace = instance.read_events()?;
        instance.remove()?;
        if monitor.stop_requested() {
            break;
        }
        note_comparison(&policy, profile, before, lead, &trace, (from, to), &mut findings);
    }
    Ok(findings)
}

/// Compares kernel and model over one profile, and adds facts, curves and the
/// verdict.
fn note_comparison(
    policy: &Policy,
    profile: &Profile,
    before: unjank_host::Hertz,
    lead: Nanos,
    trace: &Trace,
    (from, to): (Timestamp, Timestamp),
    findings: &mut Findings,
) {
    let period = policy.governor.period();
    let span = (from, to);
    // The model does not know what happened before the trace: both count from
    // just after the load has begun, which ends the silence for both.
    let settled = lead + Nanos(period.0 / 4);
    let compare = |begins| {
        let (observed, mut kernel) = observe::observe(policy, before, trace, span, begins);
        let replayed = replay(&policy.machine, policy.governor.clone(), &observed);
        let (mut model, mut mistimed) = (replayed.transitions, replayed.mistimed);
        for changes in [&mut kernel, &mut model] {
            changes.retain(|change| change.at >= settled);
        }
        mistimed.retain(|mistimed| mistimed.requested.unwrap_or(mistimed.due) >= settled);
        let comparison = Comparison::of(&kernel, &model, &mistimed, period);
        (observed, kernel, model, comparison)
    };
    let (observed, kernel, model, comparison) = compare(IdleBegins::AtSwitch);
    // Try the latest start of idle, too, if the trace has the evaluations.
    let boundary =
        !comparison.agrees() && observed.evaluations && compare(IdleBegins::AtHalt).3.agrees();
    let label = |mut fact: Fact| {
        fact.labels.insert("profile".to_owned(), profile.name.clone());
        fact
    };
    let mut fact = |name: &str, value: f64, unit| {
        findings.facts.push(label(Fact::new(format!("launch/verify/{name}"), value, unit)));
    };
    fact("changes_of_the_kernel", kernel.len() as f64, Unit::Count);
    fact("changes_of_the_model", model.len() as f64, Unit::Count);
    if let Some(worst) = comparison.worst {
        fact("largest_difference", worst.0 as f64, Unit::Nanoseconds);
    }
    for (who, changes) in [("kernel", &kernel), ("model", &model)] {
        findings.curves.push(curve(profile, who, before, changes, observed.end));
    }
    let lost = trace.has_gap(from, to) || trace.lost.dropped > 0 || trace.lost.overwritten > 0;
    let answer = match comparison.agrees() {
        _ if lost => Answer::CannotTell,
        true => Answer::Yes,
        false if boundary => Answer::CannotTell,
        false => Answer::No,
    };
    let mut reason = comparison.in_words(&kernel, &model, period);
    if lost {
        reason = format!("the trace has gaps; {reason}");
    } else if boundary {
        reason = format!(
            "a load is closer to the boundary between two frequencies than the trace can resolve: if \
             idle begins at the CPU's halt, not at the switch to the idle task, the model makes the \
             same changes; {reason}"
        );
    }
    findings.verdicts.push(Verdict::new(
        "launch",
        format!(
            "Does the model of {} follow this machine's through the profile {}?",
            policy.name, profile.name
        ),
        answer,
        reason,
    ));
}

/// Frequency over time, as steps.
fn curve(
    profile: &Profile,
    who: &str,
    before: unjank_host::Hertz,
    changes: &Changes,
    end: Nanos,
) -> Curve {
    let mut points = vec![Point { x: 0.0, y: before.0 as f64, interval: None }];
    let mut last = before.0 as f64;
    for Transition { at, khz, .. } in changes {
        points.push(Point { x: at.0 as f64, y: last, interval: None });
        last = f64::from(khz.0) * 1e3;
        points.push(Point { x: at.0 as f64, y: last, interval: None });
    }
    points.push(Point { x: end.0 as f64, y: last, interval: None });
    Curve {
        name: format!("launch/verify/{}", profile.name),
        x: Axis::new(&format!("time in the profile {}", profile.name), Unit::Nanoseconds),
        y: Axis::new("frequency", Unit::Hertz),
        labels: [("of".to_owned(), who.to_owned())].into(),
        points,
    }
}
