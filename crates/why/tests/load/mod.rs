//! Long recordings that are invented, and an allocator that counts bytes.
#![allow(unsafe_code, reason = "a global allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use unjank_host::tracefs::script::{Script, task};
use unjank_host::tracefs::{Context, EventKind, SystemCall, Trace};
use unjank_measure::stats::random::{Random, seeded};

const CPUS: usize = 3;
const THREADS: u32 = 64;

/// What is recorded of threads that compute, wake each other, are preempted and
/// sleep.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Recorded {
    /// Who runs and who wakes whom.
    Scheduling,
    /// Also system calls, as many as other events.
    Calls,
}

/// At least `most` events of three busy CPUs and 64 threads, and the time of the last one in
/// nanoseconds.
pub(crate) fn recording(recorded: Recorded, most: usize) -> (Trace, u64) {
    use rand::RngExt as _;
    let mut chance: Random = seeded(1, "million");
    let mut running = [0; CPUS];
    let mut ready = Vec::new();
    let mut asleep: Vec<u32> = (1..=THREADS).collect();
    let (mut script, mut now, mut events) = (Script::new(), 0, 0);
    while events < most {
        now += chance.random_range(200..4_000_u64);
        let cpu = chance.random_range(0..CPUS);
        let current = running[cpu];
        if let Recorded::Calls = recorded
            && current != 0
            && chance.random_bool(0.7)
        {
            let arguments = [now, 2, 3, 4, 5, 6];
            let call = SystemCall::Begins { number: libc::SYS_read, arguments };
            script = script.happens(cpu, now, Context::Thread, EventKind::SystemCall(call));
            events += 1;
            continue;
        }
        match chance.random_range(0..5) {
            0 | 1 => {
                let next = if ready.is_empty() { 0 } else { ready.swap_remove(0) };
                if current == 0 && next == 0 {
                    continue;
                }
                running[cpu] = next;
                if current != 0 && chance.random_bool(0.3) {
                    ready.push(current);
                    script = script.runs(cpu, now, current, next);
                } else {
                    asleep.extend((current != 0).then_some(current));
                    script = script.sleeps(cpu, now, current, next);
                }
                events += 1;
            }
            2 | 3 if current != 0 && !asleep.is_empty() => {
                let woken = asleep.swap_remove(chance.random_range(0..asleep.len()));
                ready.push(woken);
                script = script.wakes(cpu, now, woken, cpu);
                events += 2;
            }
            _ if !asleep.is_empty() => {
                let woken = asleep.swap_remove(0);
                ready.push(woken);
                let waking = EventKind::Waking { task: task(woken), cpu };
                script = script.expires(cpu, now).happens(cpu, now, Context::Irq, waking);
                events += 2;
            }
            _ => {}
        }
    }
    (script.trace(), now)
}

/// Bytes that are allocated now, and the most since [`forget_peak`].
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are allocated now.
pub(crate) fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// The most bytes that were allocated at a time.
pub(crate) fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}

/// Resets the peak to the number of bytes that are allocated now.
pub(crate) fn forget_peak() {
    PEAK.store(held(), Ordering::Relaxed);
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn grows(by: usize) {
    PEAK.fetch_max(HELD.fetch_add(by, Ordering::Relaxed) + by, Ordering::Relaxed);
}

fn shrinks(by: usize) {
    HELD.fetch_sub(by, Ordering::Relaxed);
}

// SAFETY: the system allocator does all work; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grows(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grows(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shrinks(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large blocks are moved page by page, without a copy.
        grows(size.saturating_sub(layout.size()));
        shrinks(layout.size().saturating_sub(size));
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
