//! The CPUs on which a thread may run: `sched_setaffinity(2)`.

use std::fmt;
use std::str::FromStr;

use rustix::thread::{self, CpuSet as KernelSet};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A set of CPUs by number, in ascending order. Parses and prints the kernel's
/// list form: `0-3,8`. Repetitions in the text use no memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CpuSet(Vec<usize>);

impl CpuSet {
    /// The set of these CPUs.
    pub fn new(cpus: impl IntoIterator<Item = usize>) -> Self {
        let mut cpus: Vec<usize> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        Self(cpus)
    }

    /// The CPUs of the calling thread's affinity.
    ///
    /// # Errors
    /// Never for a live thread.
    pub fn allowed() -> Result<Self> {
        let set = thread::sched_getaffinity(None)
            .map_err(|error| Error::syscall("sched_getaffinity", "this thread", error))?;
        Ok(Self((0..KernelSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()))
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// Two different CPUs for the start number `turn`, if there are two: the
    /// first two for the first start. Every ordered pair is used before one
    /// repeats.
    pub fn pair(&self, turn: usize) -> Option<(usize, usize)> {
        let count = self.len();
        if count < 2 {
            return None;
        }
        let turn = turn % (count * (count - 1));
        let first = turn % count;
        let second = (first + 1 + turn / count) % count;
        Some((self.0[first], self.0[second]))
    }

    /// One CPU for the start number `turn`, if there is any.
    pub fn one(&self, turn: usize) -> Option<usize> {
        self.0.get(turn % self.len().max(1)).copied()
    }

    /// This set, if all its CPUs are in `allowed`.
    ///
    /// # Errors
    /// Names the first CPU that is not, and the allowed ones.
    pub fn within(self, allowed: &Self) -> Result<Self> {
        let outside = self.iter().find(|&cpu| !allowed.contains(cpu));
        match outside {
            Some(cpu) => Err(Error::Invalid(format!(
                "CPU {cpu} does not exist or is not allowed: this process may use CPUs {allowed}"
            ))),
            None => Ok(self),
        }
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        Self::new(cpus)
    }
}

impl From<CpuSet> for String {
    fn from(cpus: CpuSet) -> Self {
        cpus.to_string()
    }
}

impl TryFrom<String> for CpuSet {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl FromStr for CpuSet {
    type Err = Error;

    /// Parses `0-3,8`; an empty text is the empty set.
    fn from_str(text: &str) -> Result<Self> {
        let invalid = || {
            let start: String = text.chars().take(40).collect();
            Error::Invalid(format!("{start:?} is not a list of CPUs such as 0-3,8"))
        };
        let mut there = vec![false; KernelSet::MAX_CPU];
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: usize = first.trim().parse().map_err(|_| invalid())?;
            let last: usize = last.trim().parse().map_err(|_| invalid())?;
            if first > last || last >= KernelSet::MAX_CPU {
                return Err(invalid());
            }
            there[first..=last].fill(true);
        }
        Ok(there.iter().enumerate().filter_map(|(cpu, &there)| there.then_some(cpu)).collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut separator = "";
        while let [first, ..] = *rest {
            let length = rest.iter().zip(first..).take_while(|(cpu, want)| *cpu == want).count();
            match length {
                1 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{}", first + length - 1)?,
            }
            separator = ",";
            rest = &rest[length..];
        }
        Ok(())
    }
}

/// The CPU of the calling thread at this moment.
pub fn current_cpu() -> usize {
    thread::sched_getcpu()
}

/// Restricts the calling thread to some CPUs until dropped, then restores its
/// former CPUs. Bound to the thread that created it.
#[derive(Debug)]
pub struct AffinityGuard {
    before: KernelSet,
    _this_thread_only: std::marker::PhantomData<*const ()>,
}

impl AffinityGuard {
    /// Restricts the calling thread to `cpus`.
    ///
    /// # Errors
    /// `Invalid` if a CPU does not exist or the cpuset forbids it.
    pub fn pin(cpus: &CpuSet) -> Result<Self> {
        let before = thread::sched_getaffinity(None)
            .map_err(|error| Error::syscall("sched_getaffinity", "this thread", error))?;
        let mut wanted = KernelSet::new();
        for cpu in cpus.iter().filter(|&cpu| cpu < KernelSet::MAX_CPU) {
            wanted.set(cpu);
        }
        thread::sched_setaffinity(None, &wanted).map_err(|error| match error {
            rustix::io::Errno::INVAL => {
                Error::Invalid(format!("no CPU of {cpus} exists and is allowed"))
            }
            error => Error::syscall("sched_setaffinity", format!("CPUs {cpus}"), error),
        })?;
        Ok(Self { before, _this_thread_only: std::marker::PhantomData })
    }

    /// Restricts the calling thread to one CPU.
    ///
    /// # Errors
    /// As [`pin`](Self::pin).
    pub fn pin_to(cpu: usize) -> Result<Self> {
        Self::pin(&CpuSet::new([cpu]))
    }
}

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        // The former set was valid. If a cpuset change has made it invalid
        // since, the kernel has already moved the thread.
        let _moved_by_cpuset = thread::sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ordered_pair_is_used() {
        let cpus = CpuSet::new([2, 5, 7]);
        assert_eq!(cpus.pair(0), Some((2, 5)));
        let pairs: std::collections::BTreeSet<_> =
            (0..6).filter_map(|turn| cpus.pair(turn)).collect();
        assert_eq!(pairs.len(), 6);
        assert!(pairs.iter().all(|(one, other)| one != other));
        assert_eq!(cpus.pair(6), cpus.pair(0));
        assert_eq!(CpuSet::new([4]).pair(3), None);
        assert_eq!((cpus.one(4), CpuSet::default().one(0)), (Some(5), None));
    }

    #[test]
    fn a_set_survives_its_text_form() {
        let cpus = CpuSet::new([0, 1, 2, 8]);
        let text = serde_json::to_string(&cpus).unwrap();
        assert_eq!(text, "\"0-2,8\"");
        assert_eq!(serde_json::from_str::<CpuSet>(&text).unwrap(), cpus);
        assert!(serde_json::from_str::<CpuSet>("\"3-1\"").is_err());
    }

    #[test]
    fn lists_read_and_print_as_the_kernel_does() {
        for text in ["", "0", "0-3", "0-3,8", "1,3,5-6"] {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), text);
        }
        assert_eq!("3,0-1,2".parse::<CpuSet>().unwrap().to_string(), "0-3");
        assert_eq!("0-1023,".repeat(10_000).parse::<CpuSet>().unwrap().len(), 1024);
        for text in ["x", "3-1", "-1", "0-99999999999", "0-4000000000"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_guard_restores_the_cpus() {
        let before = CpuSet::allowed().unwrap();
        let first = before.iter().next().unwrap();
        {
            let _guard = AffinityGuard::pin_to(first).unwrap();
            assert_eq!(CpuSet::allowed().unwrap(), CpuSet::new([first]));
            assert_eq!(current_cpu(), first);
        }
        assert_eq!(CpuSet::allowed().unwrap(), before);
    }

    #[test]
    fn a_missing_cpu_is_named() {
        let allowed = CpuSet::new([0, 1]);
        let error = CpuSet::new([1, 7]).within(&allowed).unwrap_err().to_string();
        assert_eq!(error, "CPU 7 does not exist or is not allowed: this process may use CPUs 0-1");
    }

    proptest::proptest! {
        #[test]
        fn printing_and_parsing_give_the_same_set(cpus in proptest::collection::vec(0_usize..1024, 0..40)) {
            let set = CpuSet::new(cpus);
            proptest::prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        }
    }
}
