//! Messages of events of the kernel. Numbers are those of
//! `ftrace/ftrace_event_bundle.proto`, `ftrace/ftrace_event.proto` and
//! `ftrace/{sched,task,power,irq,block,raw_syscalls,vmscan,timer,net,generic}.proto`.

use prost::{Message, Oneof};

/// `FtraceEventBundle`: events of one CPU.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Bundle {
    #[prost(uint32, optional, tag = "1")]
    pub(super) cpu: Option<u32>,
    #[prost(message, repeated, tag = "2")]
    pub(super) event: Vec<KernelEvent>,
    /// Whether events are missing before it.
    #[prost(bool, optional, tag = "3")]
    pub(super) lost_events: Option<bool>,
}

/// `FtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct KernelEvent {
    /// In nanoseconds.
    #[prost(uint64, optional, tag = "1")]
    pub(super) timestamp: Option<u64>,
    /// The current thread.
    #[prost(uint32, optional, tag = "2")]
    pub(super) pid: Option<u32>,
    /// What the CPU was doing: bits of `include/linux/trace_events.h`.
    #[prost(uint32, optional, tag = "5")]
    pub(super) common_flags: Option<u32>,
    #[prost(
        oneof = "KernelEventKind",
        tags = "4, 11, 13, 17, 20, 24, 25, 36, 37, 45, 46, 47, 125, 126, 235, 237, 238, 327, 329, 330, \
                353, 360, 491, 551, 553, 554"
    )]
    pub(super) event: Option<KernelEventKind>,
}

/// The event of a [`KernelEvent`].
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum KernelEventKind {
    #[prost(message, tag = "4")]
    SchedSwitch(SchedSwitch),
    #[prost(message, tag = "11")]
    CpuFrequency(OfCpu),
    #[prost(message, tag = "13")]
    CpuIdle(OfCpu),
    #[prost(message, tag = "17")]
    SchedWakeup(Wakeup),
    #[prost(message, tag = "20")]
    SchedWaking(Wakeup),
    #[prost(message, tag = "24")]
    SoftirqEntry(Softirq),
    #[prost(message, tag = "25")]
    SoftirqExit(Softirq),
    #[prost(message, tag = "36")]
    IrqHandlerEntry(IrqHandlerEntry),
    #[prost(message, tag = "37")]
    IrqHandlerExit(IrqHandlerExit),
    #[prost(message, tag = "45")]
    BlockRqIssue(BlockRequest),
    #[prost(message, tag = "46")]
    DirectReclaimBegin(Empty),
    #[prost(message, tag = "47")]
    DirectReclaimEnd(Empty),
    #[prost(message, tag = "125")]
    BlockRqComplete(BlockRequest),
    #[prost(message, tag = "126")]
    BlockRqInsert(BlockRequest),
    #[prost(message, tag = "235")]
    TaskNewtask(NewTask),
    #[prost(message, tag = "237")]
    SchedProcessExec(Exec),
    #[prost(message, tag = "238")]
    SchedProcessExit(Exit),
    #[prost(message, tag = "327")]
    Generic(Generic),
    #[prost(message, tag = "329")]
    SysEnter(SysEnter),
    #[prost(message, tag = "330")]
    SysExit(SysExit),
    #[prost(message, tag = "353")]
    SchedPiSetprio(SetPriority),
    #[prost(message, tag = "360")]
    NetifReceiveSkb(ReceivedPacket),
    #[prost(message, tag = "363")]
    TcpRetransmitSkb(Empty),
    #[prost(message, tag = "491")]
    SchedMigrateTask(Migration),
    #[prost(message, tag = "551")]
    HrtimerStart(Timer),
    #[prost(message, tag = "553")]
    HrtimerExpireEntry(Timer),
    #[prost(message, tag = "554")]
    HrtimerExpireExit(Timer),
}

/// `MmVmscanDirectReclaimBeginFtraceEvent`, `…End…`, `TcpRetransmitSkbFtraceEvent`, whose fields are
/// not recorded.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Empty {}

/// `GenericFtraceEvent`: an event that Perfetto has no message for, or draws wrongly if the
/// recording lacks its other half.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Generic {
    #[prost(string, optional, tag = "1")]
    pub(super) event_name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    pub(super) field: Vec<GenericField>,
}

/// `GenericFtraceEvent.Field`: a name, and a text or a number.
#[derive(Clone, PartialEq, Message)]
pub(super) struct GenericField {
    #[prost(string, optional, tag = "1")]
    pub(super) name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub(super) str_value: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) uint_value: Option<u64>,
}

/// `NetifReceiveSkbFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ReceivedPacket {
    #[prost(uint64, optional, tag = "3")]
    pub(super) skbaddr: Option<u64>,
}

/// `HrtimerStartFtraceEvent`, `HrtimerExpireEntryFtraceEvent`, `HrtimerExpireExitFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Timer {
    #[prost(uint64, optional, tag = "1")]
    pub(super) hrtimer: Option<u64>,
}

/// `SchedSwitchFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SchedSwitch {
    #[prost(string, optional, tag = "1")]
    pub(super) prev_comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(super) prev_pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) prev_prio: Option<i32>,
    #[prost(int64, optional, tag = "4")]
    pub(super) prev_state: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub(super) next_comm: Option<String>,
    #[prost(int32, optional, tag = "6")]
    pub(super) next_pid: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    pub(super) next_prio: Option<i32>,
}

/// `CpuFrequencyFtraceEvent` (in kHz), `CpuIdleFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OfCpu {
    #[prost(uint32, optional, tag = "1")]
    pub(super) state: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub(super) cpu_id: Option<u32>,
}

/// `SchedWakingFtraceEvent`, `SchedWakeupFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Wakeup {
    #[prost(string, optional, tag = "1")]
    pub(super) comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(super) pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) prio: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(super) success: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(super) target_cpu: Option<i32>,
}

/// `SoftirqEntryFtraceEvent`, `SoftirqExitFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Softirq {
    #[prost(uint32, optional, tag = "1")]
    pub(super) vec: Option<u32>,
}

/// `IrqHandlerEntryFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct IrqHandlerEntry {
    #[prost(int32, optional, tag = "1")]
    pub(super) irq: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
}

/// `IrqHandlerExitFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct IrqHandlerExit {
    #[prost(int32, optional, tag = "1")]
    pub(super) irq: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub(super) ret: Option<i32>,
}

/// `BlockRqInsertFtraceEvent`, `BlockRqIssueFtraceEvent`, `BlockRqCompleteFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct BlockRequest {
    #[prost(uint64, optional, tag = "1")]
    pub(super) dev: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) sector: Option<u64>,
    #[prost(uint32, optional, tag = "3")]
    pub(super) nr_sector: Option<u32>,
    #[prost(string, optional, tag = "5")]
    pub(super) rwbs: Option<String>,
}

/// `TaskNewtaskFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct NewTask {
    #[prost(int32, optional, tag = "1")]
    pub(super) pid: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub(super) comm: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    pub(super) clone_flags: Option<u64>,
}

/// `SchedProcessExecFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Exec {
    #[prost(string, optional, tag = "1")]
    pub(super) filename: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(super) pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) old_pid: Option<i32>,
}

/// `SchedProcessExitFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Exit {
    #[prost(string, optional, tag = "1")]
    pub(super) comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(super) pid: Option<i32>,
}

/// `SysEnterFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SysEnter {
    #[prost(int64, optional, tag = "1")]
    pub(super) id: Option<i64>,
    #[prost(uint64, repeated, packed = "false", tag = "2")]
    pub(super) args: Vec<u64>,
}

/// `SysExitFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SysExit {
    #[prost(int64, optional, tag = "1")]
    pub(super) id: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    pub(super) ret: Option<i64>,
}

/// `SchedPiSetprioFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SetPriority {
    #[prost(string, optional, tag = "1")]
    pub(super) comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(super) newprio: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) oldprio: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(super) pid: Option<i32>,
}

/// `SchedMigrateTaskFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Migration {
    #[prost(string, optional, tag = "1")]
    pub(super) comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(super) pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) prio: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(super) orig_cpu: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(super) dest_cpu: Option<i32>,
}
