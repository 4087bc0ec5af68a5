//! The recording options of an instance.

use std::path::Path;

use super::mount::Tracefs;
use crate::error::{Error, Result};
use crate::sched::{CpuSet, ThreadId};
use crate::support::Unsupported;
use unjank_units::Bytes;

/// The events that explain why a thread ran late. They show which thread,
/// interrupt or idle state had its CPU, and to which CPU the thread moved. Each
/// event costs time itself, so there are no others.
pub const WAKEUP_EVENTS: &[&str] = &[
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup",
    "sched/sched_migrate_task",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "power/cpu_idle",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/local_timer_entry",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/local_timer_exit",
];

/// The recording options of an instance.
#[derive(Debug, Clone)]
pub struct InstanceOptions {
    /// The buffer size for each CPU. If it is full, new events overwrite the
    /// oldest. A switch takes about 70 bytes.
    pub buffer: Bytes,
    /// The events, as `system/name`. An event that this kernel lacks is
    /// recorded as unsupported, not as an error.
    pub events: Vec<String>,
    /// Pairs of an event and a filter expression: of this event, only records
    /// for which the expression is true are recorded
    /// (`Documentation/trace/events.rst`, "Event filtering").
    pub filters: Vec<(String, String)>,
    /// The CPUs to record; `None` for all.
    pub cpus: Option<CpuSet>,
    /// The threads to record, including switches from and to them. Empty: all
    /// threads.
    pub threads: Vec<ThreadId>,
    /// Whether to record also threads and processes that `threads` start from
    /// now on, and their descendants.
    pub and_theirs: bool,
}

/// [`WAKEUP_EVENTS`] of all threads on all CPUs, 2 MiB for each.
impl Default for InstanceOptions {
    fn default() -> Self {
        Self {
            buffer: Bytes::from_mib(2),
            events: WAKEUP_EVENTS.iter().map(|&event| event.to_owned()).collect(),
            filters: Vec::new(),
            cpus: None,
            threads: Vec::new(),
            and_theirs: false,
        }
    }
}

impl InstanceOptions {
    /// Configures the instance in `dir`, which does not record yet. Returns the
    /// events that this kernel lacks.
    pub(super) fn apply(&self, tracefs: &Tracefs, dir: &Path) -> Result<Vec<Unsupported>> {
        let root = tracefs.root();
        let write = |name: &str, value: &str| root.write(dir.join(name), value);
        write("tracing_on", "0")?;
        write("buffer_size_kb", &self.buffer.get().div_ceil(1024).max(1).to_string())?;
        write("trace_clock", "mono").map_err(|error| match error {
            Error::File { ref source, .. } if source.raw_os_error() == Some(libc::EINVAL) => {
                Error::Unsupported("this kernel cannot trace with the clock mono".to_owned())
            }
            error => error,
        })?;
        // When free_buffer is closed, even by SIGKILL, the kernel stops this
        // instance and frees its memory. Kernels before 3.10 only free the
        // memory.
        if root.exists(dir.join("options/disable_on_free")) {
            write("options/disable_on_free", "1")?;
        }
        if let Some(cpus) = &self.cpus {
            write("tracing_cpumask", &hex_mask(cpus))?;
        }
        if self.and_theirs {
            write("options/event-fork", "1")?;
        }
        if !self.threads.is_empty() {
            let threads: Vec<String> =
                self.threads.iter().map(|thread| thread.0.to_string()).collect();
            write("set_event_pid", &threads.join(" "))?;
        }
        let mut missing = Vec::new();
        for event in &self.events {
            check_name(event)?;
            for (_, filter) in self.filters.iter().filter(|(filtered, _)| filtered == event) {
                match write(&format!("events/{event}/filter"), filter) {
                    // The kernel lacks the event, which is noted below.
                    Err(error) if error.is_not_found() => {}
                    other => other?,
                }
            }
            match write(&format!("events/{event}/enable"), "1") {
                Ok(()) => {}
                Err(error) if error.is_not_found() => missing.push(Unsupported {
                    what: event.clone(),
                    reason: "this kernel lacks this trace event".to_owned(),
                }),
                Err(error) => return Err(error),
            }
        }
        Ok(missing)
    }
}

/// Checks that an event has the form `sched/sched_switch`: two names of letters,
/// digits and `_`, because they become part of a path.
pub(super) fn check_name(event: &str) -> Result<()> {
    let plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    match event.split_once('/') {
        Some((system, name)) if plain(system) && plain(name) => Ok(()),
        _ => Err(Error::Invalid(format!(
            "{event:?} is not a trace event such as sched/sched_switch"
        ))),
    }
}

/// The kernel's form of a set of CPUs in `tracing_cpumask`: hexadecimal, in
/// groups of 32 CPUs, the highest first.
fn hex_mask(cpus: &CpuSet) -> String {
    let groups = cpus.iter().last().map_or(1, |last| last / 32 + 1);
    let mut mask = vec![0_u32; groups];
    for cpu in cpus.iter() {
        mask[cpu / 32] |= 1 << (cpu % 32);
    }
    let groups: Vec<String> = mask.iter().rev().map(|group| format!("{group:08x}")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::root::Root;

    /// A synthetic instance with these files, all empty.
    fn instance(files: &[&str]) -> (tempfile::TempDir, Tracefs, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let base = top.path().join("sys/kernel/tracing");
        for file in files {
            let file = base.join("instances/i").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let tracefs = Tracefs::open(&Root::at(top.path())).yes().unwrap();
        let dir = tracefs.path("instances/i");
        (top, tracefs, dir)
    }

    #[test]
    fn an_instance_is_configured() {
        let (_top, tracefs, dir) = instance(&[
            "tracing_on",
            "buffer_size_kb",
            "trace_clock",
            "options/disable_on_free",
            "tracing_cpumask",
            "set_event_pid",
            "options/event-fork",
            "events/sched/sched_switch/enable",
            "events/sched/sched_switch/filter",
        ]);
        let options = InstanceOptions {
            buffer: Bytes(3_000),
            events: vec!["sched/sched_switch".to_owned(), "sched/sched_new".to_owned()],
            filters: vec![
                ("sched/sched_switch".to_owned(), "prev_prio < 100".to_owned()),
                ("sched/sched_new".to_owned(), "pid == 1".to_owned()),
            ],
            cpus: Some(CpuSet::new([1, 33])),
            threads: vec![ThreadId(7), ThreadId(9)],
            and_theirs: true,
        };
        let missing = options.apply(&tracefs, &dir).unwrap();
        let read = |name: &str| tracefs.root().read(dir.join(name)).unwrap();
        assert_eq!(read("tracing_on"), "0");
        assert_eq!(read("buffer_size_kb"), "3");
        assert_eq!(read("trace_clock"), "mono");
        assert_eq!(read("options/disable_on_free"), "1");
        assert_eq!(read("tracing_cpumask"), "00000002,00000002");
        assert_eq!(read("set_event_pid"), "7 9");
        assert_eq!(read("options/event-fork"), "1");
        assert_eq!(read("events/sched/sched_switch/enable"), "1");
        assert_eq!(read("events/sched/sched_switch/filter"), "prev_prio < 100");
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].what, "sched/sched_new");
    }

    #[test]
    fn other_settings_are_left_alone() {
        let files = ["tracing_on", "buffer_size_kb", "trace_clock", "set_event_pid"];
        let (_top, tracefs, dir) = instance(&files);
        let options = InstanceOptions { events: Vec::new(), ..InstanceOptions::default() };
        assert!(options.apply(&tracefs, &dir).unwrap().is_empty());
        assert_eq!(tracefs.root().read(dir.join("set_event_pid")).unwrap(), "");
    }

    #[test]
    fn a_missing_file_is_named_in_the_error() {
        let (_top, tracefs, dir) = instance(&["tracing_on", "buffer_size_kb"]);
        let error = InstanceOptions::default().apply(&tracefs, &dir).unwrap_err().to_string();
        let path = "/sys/kernel/tracing/instances/i/trace_clock";
        assert!(error.starts_with(&format!("cannot write {path}: ")), "{error}");
    }

    #[test]
    fn only_plain_names_become_a_path() {
        assert!(WAKEUP_EVENTS.iter().all(|event| check_name(event).is_ok()));
        for name in ["", "sched", "sched/", "sched/../../tracing_on", "sched/a b", "a/b/c"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn masks_have_32_cpus_in_a_group() {
        assert_eq!(hex_mask(&CpuSet::new([])), "00000000");
        assert_eq!(hex_mask(&CpuSet::new([0, 1])), "00000003");
        assert_eq!(hex_mask(&CpuSet::new([31, 64])), "00000001,00000000,80000000");
    }
}
