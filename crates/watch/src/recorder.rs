//! Two trace instances, of which one always records. The kernel overwrites the oldest events, so
//! that recording needs no thread.

use unjank_host::threads::of_kernel;
use unjank_host::tracefs::{Instance, InstanceOptions, RawPages, Trace, Tracefs, online_cpus};
use unjank_host::{Bytes, Result, Root, Timestamp, Unsupported};

/// The events that are recorded: those from which it is known which thread waited for what. They
/// come with switches, interrupts and requests, not with system calls, so that their number is
/// bounded by what the machine does anyway. `sched_wakeup`, which follows each `sched_waking`, would
/// tell apart only the time of an interrupt between CPUs.
pub const EVENTS: &[&str] = &[
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup_new",
    "sched/sched_process_exec",
    "sched/sched_process_exit",
    "sched/sched_pi_setprio",
    "task/task_newtask",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "timer/hrtimer_expire_entry",
    "block/block_rq_insert",
    "block/block_rq_issue",
    "block/block_rq_complete",
    "power/cpu_frequency",
    "vmscan/mm_vmscan_direct_reclaim_begin",
    "vmscan/mm_vmscan_direct_reclaim_end",
    "tcp/tcp_retransmit_skb",
];

/// The smallest buffer of a CPU.
const LEAST: Bytes = Bytes::from_kib(256);

/// Two trace instances, of which one always records.
#[derive(Debug)]
pub struct Recorder {
    root: Root,
    instances: [Instance; 2],
    /// The one that records: an index of `instances`.
    active: usize,
    /// Events that each instance had not recorded by its last freeze: the kernel counts them from
    /// its creation on.
    dropped: [u64; 2],
    /// The size of both buffers of all CPUs.
    memory: Bytes,
}

/// What was recorded until a freeze.
#[derive(Debug, Clone)]
pub struct Frozen {
    /// The events.
    pub trace: Trace,
    /// When it was frozen.
    pub at: Timestamp,
}

impl Frozen {
    /// This recording and the one that began when it was frozen.
    #[must_use]
    pub fn followed_by(self, next: Self) -> Self {
        Self { trace: self.trace.followed_by(next.trace), at: next.at }
    }
}

impl Recorder {
    /// Creates both instances, which take `memory` together, and starts one.
    ///
    /// # Errors
    /// A trace instance cannot be created or started.
    pub fn start(tracefs: &Tracefs, root: &Root, memory: Bytes) -> Result<Self> {
        tracefs.remove_leftovers()?;
        let cpus = online_cpus(root);
        let buffer = per_cpu(memory, cpus);
        let instance = || {
            tracefs.instance(&InstanceOptions {
                buffer,
                events: EVENTS.iter().map(|&event| event.to_owned()).collect(),
                ..InstanceOptions::default()
            })
        };
        let instances = [instance()?, instance()?];
        // Opens the buffers of both now, so that a freeze needs no new file.
        for instance in &instances {
            instance.take_pages(&mut RawPages::default())?;
        }
        instances[0].start()?;
        let memory = Bytes(buffer.get().saturating_mul(2 * cpus.max(1)));
        Ok(Self { root: root.clone(), instances, active: 0, dropped: [0; 2], memory })
    }

    /// Events that this kernel does not have.
    pub fn notes(&self) -> &[Unsupported] {
        self.instances[0].notes()
    }

    /// The memory of the kernel's buffers.
    pub fn memory(&self) -> Bytes {
        self.memory
    }

    /// Freezes the recording, and returns it. From the same moment on, the other instance records:
    /// no event is in neither of them.
    ///
    /// # Errors
    /// A file of an instance cannot be written or read.
    pub fn freeze(&mut self) -> Result<Frozen> {
        let active = self.active;
        let (frozen, next) = (&self.instances[active], &self.instances[1 - active]);
        next.start()?;
        frozen.stop()?;
        let at = Timestamp::now();
        self.active = 1 - active;
        let mut pages = RawPages::default();
        frozen.take_pages(&mut pages)?;
        let mut trace = frozen.decode(pages)?;
        trace.kernel_threads = of_kernel(&self.root);
        // A buffer that overwrites its oldest events has not lost those of the window.
        trace.lost.overwritten = 0;
        let before = std::mem::replace(&mut self.dropped[active], trace.lost.dropped);
        trace.lost.dropped = trace.lost.dropped.saturating_sub(before);
        Ok(Frozen { trace, at })
    }

    /// Stops the recording, or starts it again.
    ///
    /// # Errors
    /// A file of the instance cannot be written or read.
    pub fn pause(&mut self, paused: bool) -> Result<()> {
        let active = &self.instances[self.active];
        if paused {
            active.stop()?;
            // What was recorded is not kept.
            return active.take_pages(&mut RawPages::default());
        }
        active.start()
    }

    /// Ends the recording and removes the instances.
    ///
    /// # Errors
    /// Another program holds a file of an instance open.
    pub fn remove(self) -> Result<()> {
        let [one, other] = self.instances;
        one.remove().and(other.remove())
    }
}

/// The size of one instance's buffer for each CPU.
fn per_cpu(memory: Bytes, cpus: u64) -> Bytes {
    Bytes((memory.get() / 2 / cpus.max(1)).max(LEAST.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_instances_share_the_memory_among_the_cpus() {
        assert_eq!(per_cpu(Bytes::from_mib(32), 2), Bytes::from_mib(8));
        assert_eq!(per_cpu(Bytes::from_mib(32), 1_024), LEAST);
        assert_eq!(per_cpu(Bytes::from_mib(1), 0), Bytes::from_kib(512));
    }
}
