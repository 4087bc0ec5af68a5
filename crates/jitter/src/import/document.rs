//! Threads and histograms in the JSON of both tools.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use unjank_host::machine::{Kernel, Machine};
use unjank_host::{Error, Nanos, Result, Unsupported};

/// The most buckets of a histogram (`HIST_MAX` of `cyclictest.c`; jitterdebugger
/// has fewer).
pub(super) const MOST_BUCKETS: usize = 1_000_000;
/// More than the CPUs of any machine.
const MOST_THREADS: usize = 8_192;
/// More wake-ups than a run of years.
const MOST_WAKE_UPS: u64 = 1 << 48;

/// The measurements of one thread of another tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thread {
    /// The thread's number in the file.
    pub(super) index: u64,
    /// The CPU that it was bound to, if the file has it.
    pub(super) cpu: Option<u64>,
    /// Priority and period may differ from those of the first thread.
    pub(super) priority: Option<u8>,
    pub(super) period: Option<Nanos>,
    pub(super) counted: Counted,
}

/// The latencies of one thread, in the file's unit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub(super) struct Counted {
    /// Latencies and their counts, rising.
    pub(super) buckets: Vec<(u64, u64)>,
    /// Wake-ups, including those beyond the histogram.
    pub(super) wakeups: u64,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) mean: Option<f64>,
    pub(super) cpu: Option<i64>,
}

impl Counted {
    /// Number of wake-ups beyond the histogram.
    pub(super) fn beyond(&self) -> u64 {
        let inside = self.buckets.iter().fold(0, |sum: u64, (_, n)| sum.saturating_add(*n));
        self.wakeups.saturating_sub(inside)
    }
}

/// The output of `uname`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SystemInfo {
    pub(super) release: String,
    pub(super) version: String,
    pub(super) machine: String,
    /// 1 on a kernel with `PREEMPT_RT`.
    pub(super) realtime: Option<i64>,
    /// Only jitterdebugger has these two here.
    pub(super) resolution_in_ns: u64,
    pub(super) cpus_online: Option<u64>,
}

/// The machine, as far as the file describes it.
pub(super) fn machine(system: Option<SystemInfo>, tool: &str) -> Machine {
    let system = system.unwrap_or_default();
    let mut machine = Machine {
        kernel: Kernel {
            release: system.release,
            version: system.version,
            architecture: system.machine,
            preemption: (system.realtime == Some(1)).then(|| "rt".to_owned()),
            ..Kernel::default()
        },
        ..Machine::default()
    };
    machine.unsupported.push(Unsupported {
        what: "everything else".to_owned(),
        reason: format!("{tool} records only the kernel of the machine"),
    });
    machine
}

/// The threads of a file, by number.
pub(super) type Threads = Numbered<Counted, MOST_THREADS>;

/// The unit of a file's latencies: a microsecond if `resolution_in_ns` is 0.
pub(super) fn resolution(written: u64, path: &str) -> Result<Nanos> {
    match written {
        0 | 1_000 => Ok(Nanos(1_000)),
        1 => Ok(Nanos(1)),
        other => Err(Error::parse(path, 1, format!("an unknown resolution of {other} ns"))),
    }
}

/// A thread in the file. The number of wake-ups is `cycles` in cyclictest's
/// files, `count` in jitterdebugger's.
#[derive(Deserialize)]
struct Written {
    histogram: Numbered<u64, MOST_BUCKETS>,
    #[serde(alias = "cycles")]
    count: u64,
    min: u64,
    max: u64,
    #[serde(default)]
    avg: Option<f64>,
    #[serde(default)]
    cpu: Option<i64>,
}

impl TryFrom<Written> for Counted {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { histogram: Numbered(buckets), count, min, max, avg, cpu } = written;
        let buckets: Vec<_> = buckets.into_iter().filter(|(_, times)| *times > 0).collect();
        let inside = buckets.iter().try_fold(0_u64, |sum, (_, times)| sum.checked_add(*times));
        if inside.is_none_or(|inside| inside > count) {
            return Err(format!("the histogram of this thread has more than its {count} wake-ups"));
        }
        if count > MOST_WAKE_UPS {
            return Err(format!("{count} wake-ups are more than a run can have"));
        }
        if let (Some((first, _)), Some((last, _))) = (buckets.first(), buckets.last())
            && (*first < min || *last > max)
        {
            return Err(format!(
                "the histogram of this thread goes from {first} to {last}, but its latencies from \
                 {min} to {max}"
            ));
        }
        Ok(Self { buckets, wakeups: count, min, max, mean: avg, cpu })
    }
}

/// An object with numeric keys, sorted and unique.
#[derive(Debug)]
pub(super) struct Numbered<T, const MOST: usize>(pub(super) Vec<(u64, T)>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Numbered<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Entries<T, MOST> {
    type Value = Numbered<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with numeric keys")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<u64, T>()? {
            if entries.len() == MOST {
                return Err(de::Error::custom(format!("more than {MOST} entries")));
            }
            entries.push((key, value));
        }
        entries.sort_by_key(|(key, _)| *key);
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(de::Error::custom(format!("the key {} appears twice", twice[0].0)));
        }
        Ok(Numbered(entries))
    }
}
