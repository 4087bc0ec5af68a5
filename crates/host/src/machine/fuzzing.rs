//! The door through which the fuzzer reaches the parsers; only there when the
//! fuzzer builds this crate.

use std::path::Path;

use super::cgroup::{Hierarchies, parse_cpu_max};
use super::cpuinfo::CpuInfo;
use super::realtime::Limits;
use super::{CpuTime, MemInfo, Stall, VmStat, auxv, kernel, private, swap, zram};
use crate::sched::CpuSet;

/// Gives `bytes` to one of the parsers.
pub fn parse(parser: u8, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let text = text.as_ref();
    let path = Path::new("/file");
    match parser % 13 {
        0 => drop(CpuInfo::parse(text)),
        1 => drop(Limits::parse(text)),
        2 => drop(Stall::parse(text, "/proc/pressure/io")),
        3 => drop(CpuTime::parse(text)),
        4 => drop(MemInfo::parse(text)),
        5 => drop(VmStat::parse(text)),
        6 => drop(swap::parse(text)),
        7 => drop(zram::parse_mm_stat(text, path)),
        8 => drop(parse_cpu_max(text, path)),
        9 => drop(kernel::keep_latency_parameters(text)),
        10 => drop(auxv::parse(bytes)),
        11 => {
            let (own, mounts) = text.split_once('\0').unwrap_or((text, ""));
            if let Ok(hierarchies) = Hierarchies::parse(own, mounts) {
                drop(["cpu", "memory", "cpuset"].map(|controller| hierarchies.of(controller)));
            }
        }
        _ => {
            if let Ok(set) = text.parse::<CpuSet>() {
                assert_eq!(set.to_string().parse::<CpuSet>().ok(), Some(set));
            }
            for path in ["/proc/cmdline", "/proc/1/environ", "/proc/self/mountinfo"] {
                let kept = private::keep(Path::new(path), bytes.to_owned());
                assert_eq!(private::keep(Path::new(path), kept.clone()), kept);
            }
        }
    }
}
