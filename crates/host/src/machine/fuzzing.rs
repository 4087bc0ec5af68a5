//! The parsers, for the fuzzer. Compiled only when the fuzzer builds this
//! crate.

use std::path::Path;

use super::cgroup::{Hierarchies, parse_cpu_max};
use super::cpuinfo::CpuInfo;
use super::realtime::Limits;
use super::residency::{parse_idle_times, parse_time_in_state};
use super::{CpuTime, MemInfo, Stall, VmStat, auxv, kernel, private, swap, zram};
use crate::sched::CpuSet;
use unjank_units::Nanos;

/// Gives one file to every parser, so that every file of a recorded machine can
/// be a seed.
///
/// # Panics
/// If a parser or its result is wrong.
pub fn parse(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let path = Path::new("/file");
    let _any_answer_will_do = (
        CpuInfo::parse(&text),
        Limits::parse(&text),
        CpuTime::parse(&text),
        MemInfo::parse(&text),
        VmStat::parse(&text),
        swap::parse(&text),
        zram::parse_mm_stat(&text, path),
        parse_cpu_max(&text, path),
        auxv::parse(bytes),
        parse_time_in_state(&text, path, Nanos::from_millis(10)),
        parse_idle_times(&text, Nanos::from_millis(10)),
    );
    if let Ok(stall) = Stall::parse(&text, "/proc/pressure/io") {
        assert!(stall.some_avg10.is_finite() && stall.full_avg10.is_finite());
    }
    for parameter in kernel::keep_latency_parameters(&text) {
        assert!(!parameter.contains(char::is_control));
    }
    let (own, mounts) = text.split_once('\0').unwrap_or((&text, &text));
    if let Ok(hierarchies) = Hierarchies::parse(own, mounts) {
        for location in ["cpu", "memory", "cpuset"].map(|name| hierarchies.of(name)) {
            assert!(location.is_none_or(|location| !location.levels.is_empty()));
        }
    }
    if let Ok(set) = text.parse::<CpuSet>() {
        assert_eq!(set.to_string().parse::<CpuSet>().ok(), Some(set));
    }
    for path in ["/proc/cmdline", "/proc/1/environ", "/proc/self/mountinfo"].map(Path::new) {
        let kept = private::keep(path, bytes.to_owned());
        assert_eq!(private::keep(path, kept.clone()), kept, "{path:?} is kept differently twice");
    }
}
