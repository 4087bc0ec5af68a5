//! The content of an event: the text after its name, as the kernel prints it
//! (`include/trace/events`), or as `trace-cmd report` does, with and without
//! `-R`.

use super::super::super::binder_role::BinderRole;
use super::super::super::event::{EventKind, Irq, PrevState, Softirq, Task};
use super::super::super::lock_flags::LockFlags;
use super::super::super::name::{Comm, Label, Name};
use super::super::super::storage::{DeviceRequest, FilePages, StorageEvent};
use super::super::super::system_call::SystemCall;
use super::fields::{
    Wrong, between, hexadecimal, hexadecimal_word, number, short_task, task, word,
};
use crate::block_device::DeviceNumber;
use crate::sched::ThreadId;
use unjank_units::Hertz;

/// `CLONE_THREAD` of `clone(2)`.
const CLONE_THREAD: u64 = 0x0001_0000;
/// The page size that is assumed where the text has an offset in a file. On a kernel with
/// larger pages, the index of a page is a multiple of the kernel's.
const PRINTED_PAGE: u64 = 4096;
/// The number of bits of the minor number in a device number (`MINORBITS` of
/// `include/linux/kdev_t.h`).
const MINOR_BITS: u32 = 20;

/// The kind and content of an event; `None` for events that are not used.
pub(super) fn kind(event: &str, text: &str) -> Result<Option<EventKind>, Wrong> {
    Ok(Some(match event {
        "sched_switch" => switch(text)?,
        "sched_waking" => {
            let (task, cpu) = woken(text)?;
            EventKind::Waking { task, cpu }
        }
        "sched_wakeup" | "sched_wakeup_new" => {
            let (task, cpu) = woken(text)?;
            EventKind::Wakeup { task, cpu }
        }
        "ipi_send_cpu" => EventKind::IpiSent {
            cpu: number(text, "cpu=")?,
            reschedules: hexadecimal(text, "callback=") == Ok(0),
        },
        "sched_migrate_task" => EventKind::Migrate {
            task: task(text, "")?,
            from: number(text, "orig_cpu=")?,
            to: number(text, "dest_cpu=")?,
        },
        "sched_pi_setprio" => EventKind::Inherits {
            thread: ThreadId(number(text, "pid=")?),
            from: number(text, "oldprio=")?,
            to: number(text, "newprio=")?,
        },
        "irq_handler_entry" => EventKind::IrqEntry(Irq {
            number: number(text, "irq=")?,
            name: Label::new(text.split_once("name=").map_or("", |(_, name)| name).as_bytes()),
        }),
        "irq_handler_exit" => EventKind::IrqExit(number(text, "irq=")?),
        "softirq_entry" => EventKind::SoftirqEntry(Softirq(number(text, "vec=")?)),
        "softirq_exit" => EventKind::SoftirqExit(Softirq(number(text, "vec=")?)),
        "hrtimer_start" => EventKind::TimerArmed { timer: hexadecimal(text, "hrtimer=")? },
        "hrtimer_expire_entry" => EventKind::TimerExpires { timer: hexadecimal(text, "hrtimer=")? },
        "timer_expire_entry" => EventKind::TimerExpires { timer: hexadecimal(text, "timer=")? },
        "hrtimer_expire_exit" | "timer_expire_exit" => EventKind::TimerEnds,
        "workqueue_queue_work" => EventKind::WorkQueued { item: item(text)?, function: 0 },
        "workqueue_execute_start" => EventKind::WorkBegins { item: item(text)?, function: 0 },
        "cpu_frequency" => EventKind::Frequency {
            cpu: number(text, "cpu_id=")?,
            frequency: Hertz::from_khz(number(text, "state=")?),
        },
        "cpu_idle" => EventKind::Idle(match number(text, "state=")? {
            // The kernel's −1: the CPU leaves its idle state.
            u32::MAX => None,
            state => Some(state),
        }),
        "page_fault_user" => EventKind::PageFault { address: address(text)? },
        "mm_vmscan_direct_reclaim_begin" | "mm_vmscan_memcg_reclaim_begin" => {
            EventKind::ReclaimBegins
        }
        "mm_vmscan_direct_reclaim_end" | "mm_vmscan_memcg_reclaim_end" => EventKind::ReclaimEnds,
        "tcp_retransmit_skb" => EventKind::TcpRetransmits,
        "contention_begin" => EventKind::LockContended { lock: lock(text)?, flags: flags(text)? },
        "contention_end" => EventKind::LockAcquired { lock: lock(text)? },
        "binder_transaction" => sent(text)?,
        "binder_transaction_received" => {
            EventKind::BinderReceived { transaction: transaction(text)? }
        }
        "sys_enter" => EventKind::SystemCall(call(text)?),
        "sys_exit" => EventKind::SystemCall(call_end(text)?),
        "block_rq_insert" => EventKind::Storage(StorageEvent::Queued(request(text)?)),
        "block_rq_issue" => EventKind::Storage(StorageEvent::Issued(request(text)?)),
        "block_rq_complete" => EventKind::Storage(StorageEvent::Completed(request(text)?)),
        "mm_filemap_fault" => EventKind::Storage(StorageEvent::Touched(pages(text)?)),
        "mm_filemap_add_to_page_cache" => EventKind::Storage(StorageEvent::Cached(pages(text)?)),
        "task_newtask" => EventKind::Storage(StorageEvent::Started {
            thread: ThreadId(number(text, "pid=")?),
            same_process: hexadecimal(text, "clone_flags=")? & CLONE_THREAD != 0,
        }),
        "sched_process_fork" => EventKind::Storage(StorageEvent::Started {
            thread: ThreadId(number(text, "child_pid=")?),
            same_process: false,
        }),
        "sched_process_exec" => {
            let file = between(text, "filename=", " pid=")?;
            let program = file.rsplit('/').next().unwrap_or_default().as_bytes();
            EventKind::Storage(StorageEvent::Executed {
                process: ThreadId(number(text, "pid=")?),
                before: ThreadId(number(text, "old_pid=")?),
                program: Comm::new(&program[..program.len().min(15)]),
            })
        }
        "sched_process_exit" => EventKind::Storage(StorageEvent::Ended {
            thread: ThreadId(number(text, "pid=")?),
            last: word(text, "group_dead=").map(|dead| matches!(dead, "true" | "1")),
        }),
        _ => return Ok(None),
    }))
}

/// Parses a switch in the kernel's form, in trace-cmd's, or in trace-cmd's with `-R`.
fn switch(text: &str) -> Result<EventKind, Wrong> {
    if !text.starts_with("prev_comm=") {
        let (before, after) = text.rsplit_once(" ==> ").ok_or("expected the next thread")?;
        let (prev, state) = short_task(before)?;
        let (next, _) = short_task(after)?;
        return Ok(EventKind::Switch {
            prev,
            prev_state: PrevState::of_letters(state.trim()),
            next,
        });
    }
    let place = text.rfind(" next_comm=").ok_or("expected the next thread")?;
    let (before, after) = text.split_at(place);
    let state = word(before, "prev_state=").ok_or("expected a state")?;
    let prev_state = match state.parse::<i64>() {
        Ok(bits) => PrevState::of_bits(bits),
        Err(_) => PrevState::of_letters(state),
    };
    let next: Task = task(after, "next_")?;
    Ok(EventKind::Switch { prev: task(before, "prev_")?, prev_state, next })
}

fn woken(text: &str) -> Result<(Task, usize), Wrong> {
    if text.starts_with("comm=") {
        return Ok((task(text, "")?, number(text, "target_cpu=")?));
    }
    let (task, rest) = short_task(text)?;
    let (_, cpu) = rest.rsplit_once("CPU:").ok_or("expected a CPU")?;
    Ok((task, cpu.trim().parse().map_err(|_| "expected a CPU")?))
}

/// `work struct=0x…`, `work struct 0x…: …`, `work=0x…`.
fn item(text: &str) -> Result<u64, Wrong> {
    let rest = text.strip_prefix("work").ok_or("expected a work item")?;
    let rest = rest.strip_prefix(" struct").unwrap_or(rest);
    let word = rest.trim_start_matches(['=', ' ']).split_whitespace().next().unwrap_or_default();
    hexadecimal_word(word)
}

/// The address of a page fault; 0 for a symbol, which names an address in the kernel.
fn address(text: &str) -> Result<u64, Wrong> {
    let word = word(text, "address=").ok_or("expected an address")?;
    Ok(hexadecimal_word(word).unwrap_or(0))
}

/// `0xffff8881 (flags=MUTEX|SPIN)`, `lock_addr=0xffff8881 flags=32`.
fn lock(text: &str) -> Result<u64, Wrong> {
    let word = text.split_whitespace().next().unwrap_or_default();
    hexadecimal_word(word.strip_prefix("lock_addr=").unwrap_or(word))
}

/// Flags of a lock by name, or as a number.
fn flags(text: &str) -> Result<LockFlags, Wrong> {
    let word = word(text, "flags=").ok_or("expected flags")?.trim_end_matches(')');
    if let Ok(number) = word.parse() {
        return Ok(LockFlags(number));
    }
    let bit = |name: &str| LockFlags::NAMES.iter().find(|(named, _)| *named == name);
    word.split('|').filter(|name| !name.is_empty()).try_fold(LockFlags::default(), |all, name| {
        let (_, bit) = bit(name).ok_or("expected the name of a flag")?;
        Ok(LockFlags(all.0 | bit))
    })
}

/// `transaction=7 dest_node=…`, or `debug_id=7 target_node=…`.
fn transaction(text: &str) -> Result<u32, Wrong> {
    let id: Result<i32, Wrong> =
        number(text, "transaction=").or_else(|_| number(text, "debug_id="));
    id.map(i32::cast_unsigned)
}

/// `transaction=7 dest_node=0 dest_proc=31 dest_thread=33 reply=1 flags=0x0 code=0x0`; the fields
/// after the number may be missing.
fn sent(text: &str) -> Result<EventKind, Wrong> {
    let process = number(text, "dest_proc=").or_else(|_| number(text, "to_proc="));
    let reply = number(text, "reply=").unwrap_or_default();
    let flags = hexadecimal(text, "flags=").unwrap_or_default();
    Ok(EventKind::BinderSent {
        transaction: transaction(text)?,
        process: ThreadId(process.unwrap_or_default()),
        role: BinderRole::of(reply, flags),
    })
}

/// `NR 202 (1, 2, …)`, or `id=202 args=ARRAY[…]`.
fn call(text: &str) -> Result<SystemCall, Wrong> {
    let mut arguments = [0; 6];
    if let Some(rest) = text.strip_prefix("NR ") {
        let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let listed = rest.trim().trim_start_matches('(').trim_end_matches(')').split(", ");
        for (argument, text) in arguments.iter_mut().zip(listed.filter(|text| !text.is_empty())) {
            *argument = hexadecimal_word(text)?;
        }
        let number = number.parse().map_err(|_| "expected a number")?;
        return Ok(SystemCall::Begins { number, arguments });
    }
    if let Some((_, bytes)) = text.split_once("args=ARRAY[") {
        let mut bytes = bytes.trim_end_matches(']').split(", ");
        for argument in &mut arguments {
            let mut word = [0; 8];
            for (byte, text) in word.iter_mut().zip(bytes.by_ref().take(8)) {
                *byte = u8::from_str_radix(text, 16).map_err(|_| "expected a byte")?;
            }
            *argument = u64::from_le_bytes(word);
        }
    }
    Ok(SystemCall::Begins { number: number(text, "id=")?, arguments })
}

/// `NR 202 = 0`, or `id=202 ret=0`.
fn call_end(text: &str) -> Result<SystemCall, Wrong> {
    let Some(rest) = text.strip_prefix("NR ") else {
        return Ok(SystemCall::Ends {
            number: number(text, "id=")?,
            result: number(text, "ret=")?,
        });
    };
    let (number, result) = rest.split_once(" = ").ok_or("expected a result")?;
    let parse = |text: &str| text.trim().parse().map_err(|_| "expected a number");
    Ok(SystemCall::Ends { number: parse(number)?, result: parse(result)? })
}

/// `254,0 WS 4096 () 1234 + 8 none,0,0 [comm]`, or `dev=… sector=… nr_sector=…
/// rwbs=…`.
fn request(text: &str) -> Result<DeviceRequest, Wrong> {
    if text.starts_with("dev=") {
        return Ok(DeviceRequest {
            device: DeviceNumber(number(text, "dev=")?),
            sector: number(text, "sector=")?,
            sectors: number(text, "nr_sector=")?,
            letters: Name::from(word(text, "rwbs=").unwrap_or_default()),
        });
    }
    let (device, rest) = text.split_once(' ').ok_or("expected a device")?;
    let device = device_number(device, ',')?;
    let (letters, rest) = rest.split_once(' ').ok_or("expected an operation")?;
    // The text before the sector may contain a command in parentheses; a thread's name follows
    // the sector.
    let rest = rest.split_once(") ").map_or(rest, |(_, behind)| behind);
    let (sector, rest) = rest.split_once(" + ").ok_or("expected a sector")?;
    let sectors = rest.split_whitespace().next().unwrap_or_default();
    Ok(DeviceRequest {
        device,
        sector: sector.trim().parse().map_err(|_| "expected a sector")?,
        sectors: sectors.parse().map_err(|_| "expected a number of sectors")?,
        letters: Name::from(letters),
    })
}

/// A device number as `major` and `minor`, joined by `separator`.
fn device_number(text: &str, separator: char) -> Result<DeviceNumber, Wrong> {
    let (major, minor) = text.split_once(separator).ok_or("expected a device")?;
    let part = |text: &str| text.parse::<u32>().map_err(|_| "expected a device");
    let (major, minor) = (part(major)?, part(minor)?);
    if major >= 1 << (32 - MINOR_BITS) || minor >= 1 << MINOR_BITS {
        return Err("the device is impossible");
    }
    Ok(DeviceNumber::new(major, minor))
}

/// `dev 254:0 ino 1a pfn=0x1 ofs=16384 order=0`, `dev=254:0 ino=1a ofs=16384`, or
/// `i_ino=0x1a index=0x4 s_dev=0xfe00000 order=0`.
fn pages(text: &str) -> Result<FilePages, Wrong> {
    let order = if word(text, "order=").is_some() { number(text, "order=")? } else { 0 };
    let Some(rest) = text.strip_prefix("dev") else {
        return Ok(FilePages {
            device: DeviceNumber(
                u32::try_from(hexadecimal(text, "s_dev=")?).map_err(|_| "expected a device")?,
            ),
            inode: hexadecimal(text, "i_ino=")?,
            first: hexadecimal(text, "index=")?,
            order,
        });
    };
    let mut words = rest.split([' ', '=']).filter(|word| !word.is_empty());
    let (device, inode) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
    Ok(FilePages {
        device: device_number(device, ':')?,
        inode: hexadecimal_word(inode)?,
        first: number::<u64>(text, "ofs=")? / PRINTED_PAGE,
        order,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(event: &str, text: &str) -> EventKind {
        kind(event, text).unwrap().unwrap()
    }

    #[test]
    fn all_forms_of_an_event_mean_the_same() {
        let kernel = "prev_comm=a b prev_pid=5 prev_prio=120 prev_state=D ==> next_comm=x ==> y \
                      next_pid=0 next_prio=100";
        let raw = "prev_comm=a b prev_pid=5 prev_prio=120 prev_state=2 next_comm=x ==> y \
                   next_pid=0 next_prio=100";
        let EventKind::Switch { prev, prev_state, next } = of("sched_switch", kernel) else {
            panic!()
        };
        assert_eq!(
            (prev.tid, prev_state, next.prio),
            (ThreadId(5), PrevState::Uninterruptible, 100)
        );
        assert_eq!((prev.comm, next.comm), (Comm::from("a b"), Comm::from("x ==> y")));
        assert_eq!(of("sched_switch", kernel), of("sched_switch", raw));
        let short = "a b:5 [120] D ==> x y:0 [100]";
        let plain = kernel.replace("x ==> y", "x y");
        assert_eq!(of("sched_switch", short), of("sched_switch", &plain));
        let woken = "comm=kworker/1:0 pid=9 prio=100 target_cpu=001";
        assert_eq!(of("sched_wakeup", "kworker/1:0:9 [100] CPU:001"), of("sched_wakeup", woken));
        let request = "254,0 RA 1044480 () 10088160 + 2040 0x2,0,4 [kworker/1:0H]";
        let named = request.replace("kworker/1:0H", "a (b) c");
        assert_eq!(of("block_rq_issue", request), of("block_rq_issue", &named));
        let raw = "dev=266338304 sector=10088160 nr_sector=2040 bytes=1044480 rwbs=RA comm=x cmd=";
        assert_eq!(of("block_rq_issue", request), of("block_rq_issue", raw));
        let sent = "cpu=1 callsite=resched_curr+0x48/0xd0 callback=0x0";
        assert_eq!(of("ipi_send_cpu", sent), EventKind::IpiSent { cpu: 1, reschedules: true });
        let sent = sent.replace("0x0", "generic_smp_call_function_single_interrupt+0x0/0x10");
        assert_eq!(of("ipi_send_cpu", &sent), EventKind::IpiSent { cpu: 1, reschedules: false });
        let flags = LockFlags(0b10_0001);
        let contended = EventKind::LockContended { lock: 0xffff_8881, flags };
        assert_eq!(of("contention_begin", "0xffff8881 (flags=SPIN|MUTEX)"), contended);
        assert_eq!(of("contention_begin", "lock_addr=0xffff8881 flags=33"), contended);
        let acquired = EventKind::LockAcquired { lock: 0xffff_8881 };
        assert_eq!(of("contention_end", "00000000ffff8881 (ret=0)"), acquired);
        assert_eq!(of("contention_end", "lock_addr=0xffff8881 ret=0"), acquired);
        let sent =
            "transaction=7 dest_node=0 dest_proc=31 dest_thread=33 reply=1 flags=0x0 code=0x0";
        let raw = "debug_id=7 target_node=0 to_proc=31 to_thread=33 reply=1 code=0x0 flags=0x0";
        let reply = EventKind::BinderSent {
            transaction: 7,
            process: ThreadId(31),
            role: BinderRole::Reply,
        };
        assert_eq!(of("binder_transaction", sent), reply);
        let one_way = "transaction=8 dest_proc=31 dest_thread=0 reply=0 flags=0x11 code=0x1";
        let one_way = of("binder_transaction", one_way);
        let expected = BinderRole::OneWay;
        assert!(matches!(one_way, EventKind::BinderSent { role, .. } if role == expected));
        assert_eq!(of("binder_transaction", raw), of("binder_transaction", sent));
        let received = EventKind::BinderReceived { transaction: 7 };
        assert_eq!(of("binder_transaction_received", "transaction=7"), received);
        assert_eq!(of("binder_transaction_received", "debug_id=7"), received);
        assert_eq!(of("cpu_idle", "state=3 cpu_id=1"), EventKind::Idle(Some(3)));
        assert_eq!(of("cpu_idle", "state=4294967295 cpu_id=1"), EventKind::Idle(None));
        let fault = "dev=254:0 ino=1a ofs=16384";
        let raw = "i_ino=0x1a s_dev=0xfe00000 index=0x4";
        assert_eq!(of("mm_filemap_fault", fault), of("mm_filemap_fault", raw));
        let cached = "dev 254:0 ino 1a pfn=0x1234 ofs=16384 order=2";
        let EventKind::Storage(StorageEvent::Cached(pages)) =
            of("mm_filemap_add_to_page_cache", cached)
        else {
            panic!()
        };
        let device = DeviceNumber::new(254, 0);
        assert_eq!(pages, FilePages { device, inode: 0x1a, first: 4, order: 2 });
        let call = "NR 59 (7fff30e03bd0, 1, 2, 3, 4, 5)";
        let raw = "id=59 args=ARRAY[d0, 3b, e0, 30, ff, 7f, 00, 00, 01, 00, 00, 00, 00, 00, 00, \
                   00, 02, 00, 00, 00, 00, 00, 00, 00, 03, 00, 00, 00, 00, 00, 00, 00, 04, 00, \
                   00, 00, 00, 00, 00, 00, 05, 00, 00, 00, 00, 00, 00, 00]";
        assert_eq!(of("sys_enter", call), of("sys_enter", raw));
        assert_eq!(of("sys_exit", "NR 59 = -2"), of("sys_exit", "id=59 ret=-2"));
        let item = "work struct=0xffff88810254d240 function=f workqueue=w req_cpu=256 cpu=1";
        let begins = "work struct 0xffff88810254d240: function f";
        let EventKind::WorkQueued { item, .. } = of("workqueue_queue_work", item) else { panic!() };
        assert_eq!(
            of("workqueue_execute_start", begins),
            EventKind::WorkBegins { item, function: 0 }
        );
    }

    #[test]
    fn a_preempted_thread_is_runnable_and_a_stopped_one_is_told_from_a_sleeper() {
        use PrevState::{Asleep, Runnable, Stopped, Uninterruptible};
        let states = [("R", Runnable), ("R+", Runnable), ("256", Runnable), ("S", Asleep)];
        let more = [
            ("D", Uninterruptible),
            ("2", Uninterruptible),
            ("T", Stopped),
            ("t", Stopped),
            ("8", Stopped),
        ];
        for (state, expected) in states.into_iter().chain(more) {
            let text = format!(
                "prev_comm=a prev_pid=5 prev_prio=120 prev_state={state} ==> next_comm=b \
                 next_pid=6 next_prio=120"
            );
            let EventKind::Switch { prev_state, .. } = of("sched_switch", &text) else { panic!() };
            assert_eq!(prev_state, expected, "{state}");
        }
    }

    #[test]
    fn a_malformed_event_is_an_error_and_an_unknown_one_is_not() {
        assert_eq!(kind("sched_waking", "comm=a pid=x"), Err("expected a number"));
        assert_eq!(kind("block_rq_issue", "9999999,0 R 1 + 8"), Err("the device is impossible"));
        assert_eq!(kind("ext4_sync", "anything"), Ok(None));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            event in "sched_(switch|waking|wakeup|process_(exec|exit|fork)|migrate_task)|sys_(enter|exit)|block_rq_issue|task_newtask|workqueue_queue_work",
            text in "( |=|comm=|pid=|prev_|next_|prio=|==>|args=ARRAY\\[|NR |\\(|\\)|\\+|[0-9]{1,4}|,|work struct|.){0,30}",
        ) {
            let _read_or_refused = kind(&event, &text);
        }
    }
}
