//! Pages of a kernel's trace buffer, and a CPU's events in them.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use unjank_host::Timestamp;
use unjank_host::tracefs::format::Format;
use unjank_host::tracefs::page::Layout;
use unjank_host::tracefs::{CpuTrace, Decoder};

macro_rules! recorded {
    ($file:literal) => {
        include_str!(concat!("../../crates/host/fixtures/tracefs-6.18-x86_64/events/", $file))
    };
}

/// The layout of pages and records of a recorded kernel.
static KERNEL: LazyLock<(Layout, Decoder)> = LazyLock::new(|| {
    let layout = Layout::parse(recorded!("header_page")).expect("a kernel wrote it");
    let mut decoder = Decoder::default();
    for (system, format) in [
        ("sched", recorded!("sched/sched_switch/format")),
        ("sched", recorded!("sched/sched_waking/format")),
        ("sched", recorded!("sched/sched_wakeup/format")),
        ("sched", recorded!("sched/sched_migrate_task/format")),
        ("irq", recorded!("irq/irq_handler_entry/format")),
        ("irq", recorded!("irq/irq_handler_exit/format")),
        ("irq", recorded!("irq/softirq_entry/format")),
        ("irq", recorded!("irq/softirq_exit/format")),
        ("irq_vectors", recorded!("irq_vectors/local_timer_entry/format")),
        ("irq_vectors", recorded!("irq_vectors/local_timer_exit/format")),
        ("power", recorded!("power/cpu_idle/format")),
        ("ftrace", recorded!("ftrace/print/format")),
    ] {
        let format = Format::parse(format).expect("a kernel wrote it");
        decoder.learn(system, &format).expect("this crate knows it");
    }
    (layout, decoder)
});

fuzz_target!(|pages: &[u8]| {
    let (layout, decoder) = &*KERNEL;
    let mut trace = CpuTrace::new(0);
    for page in pages.chunks(layout.page_size()) {
        if trace.push_page(layout, decoder, page).is_err() {
            break;
        }
    }
    let (start, end) = (Timestamp::from_nanos(0), Timestamp::from_nanos(u64::MAX));
    trace.finish(start, end);
    let mut until = start;
    for stretch in trace.between(start, end) {
        assert!(until <= stretch.from && stretch.from < stretch.to);
        assert!(!stretch.who.to_string().contains(char::is_control));
        until = stretch.to;
    }
});
