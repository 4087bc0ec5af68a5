//! Everything that happened on a machine in the time of a trace, and questions
//! about it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use foldhash::fast::RandomState;
use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Comm, Label};

use super::by_id::ById;
use super::interrupt_names::InterruptNames;
use super::life::Life;
use super::origin::{InterruptId, RequestId};
use super::requests::Request;
use super::work::WorkItem;

/// What happened on a machine in the time of a trace.
#[derive(Debug, Default)]
pub struct History {
    /// All threads that the trace names, but for the idle tasks. Those with the
    /// same id are in order of time.
    pub(super) lives: ById<Vec<Life>>,
    /// The last name of each thread.
    pub(super) names: ById<Comm>,
    /// Kernel threads that the recorder listed, or that `kthreadd` started.
    pub(super) kernel: HashSet<ThreadId, RandomState>,
    /// Whether the recorder listed them. Otherwise kernel threads are also recognised by name.
    pub(super) kernel_is_listed: bool,
    /// Interrupts of block devices.
    pub(super) storage: HashSet<InterruptId>,
    pub(super) interrupt_names: InterruptNames,
    /// Requests that a device served.
    pub(super) requests: Vec<Request>,
    /// Work items that a worker thread began, by thread, in order of time.
    pub(super) work: ById<Vec<WorkItem>>,
    /// Clock frequencies in kHz by CPU, in order of time.
    pub(super) clocks: BTreeMap<usize, Vec<(Timestamp, u64)>>,
    /// The first threads of the processes of threads that ran before the recording.
    pub(super) processes: BTreeMap<ThreadId, ThreadId>,
}

impl History {
    /// The life of the thread that had an id at a moment; `None` if the trace
    /// does not name it.
    pub fn life(&self, thread: ThreadId, at: Timestamp) -> Option<&Life> {
        let lives = self.lives.get(&thread)?;
        let begun = lives.partition_point(|life| life.begin() <= at);
        lives.get(begun.saturating_sub(1))
    }

    /// The first thread of a thread's process, as far as the births in between are in the trace or
    /// the process was known before.
    pub fn first_of_process(&self, thread: ThreadId, at: Timestamp) -> ThreadId {
        let birth = self.life(thread, at).and_then(|life| life.birth);
        let first = birth.map_or(thread, |birth| birth.first);
        self.processes.get(&first).copied().unwrap_or(first)
    }

    /// These threads ran before the recording, each in the process with this number.
    pub fn began_with(&mut self, threads: &BTreeSet<(u32, ThreadId)>) {
        self.processes = threads.iter().map(|&(process, id)| (id, ThreadId(process))).collect();
    }

    /// The threads that ran before the recording, each with the first thread of its process, as far
    /// as these are known.
    pub fn older_threads(&self) -> impl Iterator<Item = (ThreadId, ThreadId)> + '_ {
        self.processes.iter().map(|(&thread, &first)| (thread, first))
    }

    /// The threads of a process that ran before the recording, as far as they are known.
    pub fn older_threads_of(&self, first: ThreadId) -> impl Iterator<Item = ThreadId> + '_ {
        let threads = self.processes.iter().filter(move |(_, of)| **of == first);
        threads.map(|(&thread, _)| thread)
    }

    /// All threads.
    pub fn lives(&self) -> impl Iterator<Item = (ThreadId, &Life)> {
        self.lives.iter().flat_map(|(thread, lives)| lives.iter().map(|life| (*thread, life)))
    }

    /// The last name of a thread that the trace has.
    pub fn name(&self, thread: ThreadId) -> Option<Comm> {
        self.names.get(&thread).copied()
    }

    /// Whether a thread is a kernel thread, or an `io_uring` worker, which belongs to a process.
    pub fn is_kernel(&self, thread: ThreadId) -> bool {
        let by_name = |name: Comm| {
            let name = name.as_bytes();
            is_name_of_worker(name) || !self.kernel_is_listed && is_kernel_name(name)
        };
        self.kernel.contains(&thread) || self.name(thread).is_some_and(by_name)
    }

    /// Whether an interrupt is that of a block device.
    pub fn is_storage(&self, interrupt: InterruptId) -> bool {
        self.storage.contains(&interrupt)
    }

    /// The name of an interrupt.
    pub fn interrupt_name(&self, interrupt: InterruptId) -> Label {
        self.interrupt_names.name(interrupt)
    }

    /// A request by its number.
    pub fn request(&self, id: RequestId) -> Option<&Request> {
        self.requests.get(id.0 as usize)
    }

    /// The last work item that a thread began in the given time, its end
    /// included.
    pub fn work_begun(
        &self,
        thread: ThreadId,
        from: Timestamp,
        to: Timestamp,
    ) -> Option<&WorkItem> {
        let items = self.work.get(&thread)?;
        let end = items.partition_point(|item| item.begun <= to);
        items.get(end.checked_sub(1)?).filter(|item| item.begun >= from)
    }

    /// Sets the clock frequencies in kHz with which the trace begins.
    pub fn begin_with_clocks(&mut self, clocks: &BTreeMap<usize, u64>) {
        for (&cpu, &khz) in clocks {
            self.clocks.entry(cpu).or_default().insert(0, (Timestamp::default(), khz));
        }
    }

    /// The clock frequencies in kHz with which the trace begins, by CPU.
    pub(crate) fn clocks_at_start(&self) -> BTreeMap<usize, u64> {
        let clocks = self.clocks.iter().filter_map(|(&cpu, changes)| {
            let &(at, khz) = changes.first()?;
            (at == Timestamp::default()).then_some((cpu, khz))
        });
        clocks.collect()
    }

    /// The clock frequency of a CPU in kHz at each of its changes.
    pub fn clock(&self, cpu: usize) -> &[(Timestamp, u64)] {
        self.clocks.get(&cpu).map_or(&[], Vec::as_slice)
    }
}

/// Whether a name is that of an `io_uring` worker or polling thread.
fn is_name_of_worker(name: &[u8]) -> bool {
    [&b"iou-wrk-"[..], b"iou-sqp-"].iter().any(|worker| name.starts_with(worker))
}

/// Whether a name is that of a kernel thread, for traces whose recorder did not list these threads.
/// Names that programs have as well (`loop0`, `nvme`) are left out.
pub(super) fn is_kernel_name(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 29] = [
        b"kworker/",
        b"kthreadd",
        b"ksoftirqd/",
        b"migration/",
        b"cpuhp/",
        b"irq/",
        b"rcu_",
        b"rcuo",
        b"kswapd",
        b"kcompactd",
        b"khugepaged",
        b"ksmd",
        b"oom_reaper",
        b"napi/",
        b"kauditd",
        b"jbd2/",
        b"xfsaild/",
        b"btrfs-cleaner",
        b"btrfs-transacti",
        b"f2fs_gc",
        b"f2fs_flush",
        b"f2fs_discard",
        b"f2fs_ckpt",
        b"erofs_worker/",
        b"dmcrypt_write",
        b"kdmflush",
        b"kcryptd",
        b"mmcqd/",
        b"scsi_eh_",
    ];
    NAMES.iter().any(|kernel| name.starts_with(kernel))
}
