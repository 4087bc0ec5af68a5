//! Samples of the instruction that a thread executes.
//!
//! The event is the kernel's clock of a thread's CPU time
//! (`PERF_COUNT_SW_CPU_CLOCK`), so it also works in virtual machines without
//! hardware counters.

use std::fs::File;
use std::io;

use super::records::{LOST, SAMPLE, records, word};
use super::ring::Ring;
use super::{Attributes, Target, open};
use crate::error::{Error, Result};
use crate::sched::ThreadId;
use unjank_units::Nanos;

/// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_CPU_CLOCK`, `PERF_SAMPLE_IP`.
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const INSTRUCTION: u64 = 1;
/// `exclude_kernel` and `exclude_hv` of `struct perf_event_attr`: with these,
/// any user may sample their own programs (`perf_event_paranoid` up to 2).
const USER_ONLY: u64 = (1 << 5) | (1 << 6);
/// The size of the buffer: a power of two pages; 1,024 samples in pages of 4
/// KiB.
const PAGES: usize = 4;

/// A thread whose instruction is sampled at intervals of its CPU time, while it
/// is outside the kernel.
#[derive(Debug)]
pub struct InstructionSamples {
    /// Closing it ends the sampling.
    _file: File,
    ring: Ring,
    lost: u64,
}

impl InstructionSamples {
    /// Starts sampling `thread` each time it has used `every` of CPU time.
    ///
    /// # Errors
    /// `Permission` for a thread of another user, or if
    /// `kernel.perf_event_paranoid` is above 2; `Syscall` for a thread that has
    /// ended, or a kernel without perf events.
    pub fn of(thread: ThreadId, every: Nanos) -> Result<Self> {
        let attributes = Attributes {
            kind: SOFTWARE,
            config: CPU_CLOCK,
            sample_period: every.get().max(1),
            sample_type: INSTRUCTION,
            flags: USER_ONLY,
            ..Attributes::default()
        };
        let file =
            open(&attributes, Target::Thread(thread)).map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => Error::Permission {
                    what: "sampling the code of a thread".to_owned(),
                    needs: "root, or one's own thread and kernel.perf_event_paranoid at 2 or below"
                        .to_owned(),
                },
                _ => Error::syscall("perf_event_open", thread.to_string(), error),
            })?;
        let ring = Ring::map(&file, PAGES, &format!("samples of {thread}"))?;
        Ok(Self { _file: file, ring, lost: 0 })
    }

    /// The addresses of the samples since the last call.
    pub fn take(&mut self) -> Vec<u64> {
        let mut bytes = Vec::new();
        self.ring.take(&mut bytes);
        let (addresses, lost) = parse(&bytes);
        self.lost = self.lost.saturating_add(lost);
        addresses
    }

    /// The number of samples lost because the buffer was full.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// The addresses in sample records, and the number of lost samples.
fn parse(bytes: &[u8]) -> (Vec<u64>, u64) {
    let mut addresses = Vec::with_capacity(bytes.len() / 16);
    let mut lost = 0_u64;
    for record in records(bytes) {
        match record.kind {
            SAMPLE => addresses.extend(word(record.body, 0)),
            LOST => lost = lost.saturating_add(word(record.body, 8).unwrap_or(0)),
            _ => {}
        }
    }
    (addresses, lost)
}

/// Parses `bytes` as sample records; for the fuzzer.
#[cfg(fuzzing)]
pub fn parse_for_fuzzing(bytes: &[u8]) {
    let _either = parse(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let mut record = kind.to_ne_bytes().to_vec();
        record.extend(2_u16.to_ne_bytes());
        record.extend((8 + 8 * words.len() as u16).to_ne_bytes());
        record.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        record
    }

    #[test]
    fn other_records_are_skipped() {
        let records = [record(SAMPLE, &[7]), record(5, &[1, 2, 3]), record(LOST, &[0, 4])];
        let bytes = [records.concat(), record(SAMPLE, &[9])].concat();
        assert_eq!(parse(&bytes), (vec![7, 9], 4));
        assert_eq!(parse(&bytes[..bytes.len() - 1]), (vec![7], 4), "the last one is cut");
        assert_eq!(parse(&record(SAMPLE, &[])), (vec![], 0));
        assert_eq!(parse(&[0; 24]), (vec![], 0), "records without length do not hold it up");
    }

    #[test]
    fn a_loop_of_this_thread_is_sampled() {
        let every = Nanos::from_micros(100);
        let mut samples = match InstructionSamples::of(ThreadId::current(), every) {
            Ok(samples) => samples,
            Err(error) => return unjank_needs::skip(error),
        };
        let mut seen = Vec::new();
        let mut number = 1_u64;
        while seen.len() < 20 {
            for _ in 0..100_000 {
                number = std::hint::black_box(number.wrapping_mul(3));
            }
            seen.extend(samples.take());
        }
        let near = samples_near(&seen, seen[seen.len() - 1]);
        assert!(near > 0 && samples.lost() == 0, "{seen:x?}");
    }

    fn samples_near(seen: &[u64], place: u64) -> usize {
        seen.iter().filter(|address| address.abs_diff(place) < 1 << 20).count()
    }

    #[test]
    fn a_missing_thread_is_an_error() {
        let error = InstructionSamples::of(ThreadId(u32::MAX >> 2), Nanos(1_000)).unwrap_err();
        assert!(error.is_not_found() || error.to_string().contains("perf_event"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_parsed(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let (addresses, _) = parse(&bytes);
            assert!(addresses.len() <= bytes.len() / 16);
        }
    }
}
