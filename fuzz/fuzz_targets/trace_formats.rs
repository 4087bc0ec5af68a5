//! The files in which a kernel describes its trace records.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::Timestamp;
use unjank_host::tracefs::Decoder;
use unjank_host::tracefs::format::Format;
use unjank_host::tracefs::page::{Layout, Page, Record};

fuzz_target!(|file: &[u8]| {
    let text = String::from_utf8_lossy(file);
    if let Ok(layout) = Layout::parse(&text)
        && let Ok(page) = Page::parse(&layout, file)
    {
        assert!(page.records().count() <= file.len());
    }
    let Ok(format) = Format::parse(&text) else { return };
    let data = [&format.id.to_le_bytes(), file].concat();
    let systems = [
        "sched",
        "irq",
        "irq_vectors",
        "power",
        "ftrace",
        "block",
        "filemap",
        "vmscan",
        "task",
        "timer",
        "workqueue",
        "net",
        "raw_syscalls",
        "exceptions",
        "lock",
        "ipi",
        "binder",
        "rust_binder",
    ];
    for system in systems {
        let mut decoder = Decoder::default();
        if decoder.learn(system, &format).is_ok() {
            let record = Record { at: Timestamp::from_nanos(0), data: &data };
            let _decoded_or_none = decoder.decode(&record);
        }
    }
});
