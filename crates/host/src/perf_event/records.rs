//! The records of a ring buffer: *The layout of the mmap buffer* in
//! `perf_event_open(2)`.

use super::stack_recorder::{FEWEST_NANOS, REGISTERS, TRAILER};
use crate::address_space::MappedFile;
use crate::clock::Timestamp;
use crate::sched::ThreadId;

/// Kinds of records: `enum perf_event_type` in `include/uapi/linux/perf_event.h`.
pub(super) const LOST: u32 = 2;
const COMM: u32 = 3;
const FORK: u32 = 7;
pub(super) const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
const LOST_SAMPLES: u32 = 13;

/// `PERF_RECORD_MISC_COMM_EXEC` and `PERF_RECORD_MISC_MMAP_BUILD_ID`.
const BY_EXEC: u16 = 1 << 13;
const HAS_BUILD_ID: u16 = 1 << 14;
/// `PERF_SAMPLE_REGS_ABI_64`.
const ABI_64: u64 = 2;

#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) kind: u32,
    misc: u16,
    /// The bytes after the header.
    pub(super) body: &'a [u8],
}

/// The records in these bytes. A record that is cut off ends them.
pub(super) fn records(bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let header = rest.first_chunk::<8>()?;
        let size = usize::from(u16::from_ne_bytes([header[6], header[7]])).max(8);
        let body = rest.get(8..size)?;
        let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let misc = u16::from_ne_bytes([header[4], header[5]]);
        rest = &rest[size..];
        Some(Record { kind, misc, body })
    })
}

/// The eight bytes at this place.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A record of a [`StackRecorder`](super::StackRecorder).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordedEvent<'a> {
    /// A process maps a file with code.
    Mapped(Mapped<'a>),
    /// A process, or a thread of it, begins.
    Forked(Fork),
    /// A process executes a program; its mappings are gone.
    Executed { process: u32 },
    /// The stack of a thread.
    Sample(Sample<'a>),
    /// The buffer was full.
    Lost {
        /// How many records did not fit.
        count: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapped<'a> {
    pub(crate) process: u32,
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// Offset in the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) file: MappedFile,
    /// As the kernel names it: `/usr/lib/libc.so.6`, `//anon`, `[vdso]`.
    pub(crate) path: &'a [u8],
}

/// A new thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fork {
    pub(crate) process: u32,
    /// The process that created it; for a thread, its own process.
    pub(crate) parent: u32,
}

/// The stack of a thread at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample<'a> {
    pub(crate) process: u32,
    pub(crate) thread: ThreadId,
    pub(crate) at: Timestamp,
    pub(crate) cause: StackCause,
    /// Words: addresses, and marks between those of the kernel and of the program.
    pub(crate) chain: &'a [u8],
    /// Of the program, in the order of [`REGISTERS`]; `None` for a thread without
    /// any, and for a 32-bit program.
    pub(crate) registers: Option<[u64; REGISTERS.len()]>,
    /// Content of the stack from its stack pointer on.
    pub(crate) stack: &'a [u8],
}

/// Why a stack was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackCause {
    /// The thread lost its CPU: it fell asleep, or another one took over.
    Switch,
    /// It had used an interval of CPU time.
    Clock,
}

/// The time of each record, and its offset.
pub(crate) fn times(bytes: &[u8]) -> impl Iterator<Item = (Timestamp, usize)> + '_ {
    let begin = bytes.as_ptr() as usize;
    records(bytes).filter_map(move |record| {
        let at = match record.kind {
            SAMPLE => word(record.body, 8)?,
            _ => word(record.body, record.body.len().checked_sub(8)?)?,
        };
        Some((Timestamp::from_nanos(at), record.body.as_ptr() as usize - begin - 8))
    })
}

impl<'a> RecordedEvent<'a> {
    /// The record at the beginning of these bytes; `None` if it says nothing about
    /// stacks.
    pub(crate) fn first(bytes: &'a [u8]) -> Option<Self> {
        let Record { kind, misc, body } = records(bytes).next()?;
        match kind {
            SAMPLE => Sample::parse(body).map(Self::Sample),
            MMAP2 => {
                let file = if misc & HAS_BUILD_ID == 0 {
                    let device = (half(body, 32)?, half(body, 36)?);
                    MappedFile { device, inode: word(body, 40)? }
                } else {
                    MappedFile::default()
                };
                let path = body.get(64..body.len().checked_sub(TRAILER)?)?;
                let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
                Some(Self::Mapped(Mapped {
                    process: half(body, 0)?,
                    start: word(body, 8)?,
                    length: word(body, 16)?,
                    offset: word(body, 24)?,
                    file,
                    path: &path[..end],
                }))
            }
            FORK => Some(Self::Forked(Fork { process: half(body, 0)?, parent: half(body, 4)? })),
            COMM if misc & BY_EXEC != 0 => Some(Self::Executed { process: half(body, 0)? }),
            LOST => Some(Self::Lost { count: word(body, 8)? }),
            LOST_SAMPLES => Some(Self::Lost { count: word(body, 0)? }),
            _ => None,
        }
    }
}

impl<'a> Sample<'a> {
    fn parse(body: &'a [u8]) -> Option<Self> {
        // What the sample stands for: a few switches, or nanoseconds.
        let is_switch = word(body, 16)? < FEWEST_NANOS;
        let cause = if is_switch { StackCause::Switch } else { StackCause::Clock };
        let (chain, rest) = counted(body.get(24..)?, 8)?;
        let mut sample = Self {
            process: half(body, 0)?,
            thread: ThreadId(half(body, 4)?),
            at: Timestamp::from_nanos(word(body, 8)?),
            cause,
            chain,
            registers: None,
            stack: &[],
        };
        if !REGISTERS.is_empty() {
            let abi = word(rest, 0)?;
            let count = if abi == 0 { 0 } else { REGISTERS.len() };
            let (words, rest) = rest.get(8..)?.split_at_checked(count * 8)?;
            if abi == ABI_64 {
                let mut registers = [0; REGISTERS.len()];
                for (at, register) in registers.iter_mut().enumerate() {
                    *register = word(words, at * 8)?;
                }
                sample.registers = Some(registers);
            }
            let (stack, rest) = counted(rest, 1)?;
            // Behind it is the size of the part that the kernel could read.
            let read = if stack.is_empty() { 0 } else { word(rest, 0)? };
            sample.stack = &stack[..stack.len().min(usize::try_from(read).unwrap_or(0))];
        }
        Some(sample)
    }
}

/// A count, and as many parts of `size` bytes: these, and the rest.
fn counted(bytes: &[u8], size: usize) -> Option<(&[u8], &[u8])> {
    let count = usize::try_from(word(bytes, 0)?).ok()?;
    bytes.get(8..)?.split_at_checked(count.checked_mul(size)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut record = kind.to_ne_bytes().to_vec();
        record.extend(misc.to_ne_bytes());
        record.extend((8 + body.len() as u16).to_ne_bytes());
        record.extend(body);
        record
    }

    fn halves(halves: &[u32]) -> Vec<u8> {
        halves.iter().flat_map(|half| half.to_ne_bytes()).collect()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_mapping_has_a_place_and_a_file() {
        let path = b"/usr/bin/x\0\0\0\0\0\0";
        let body = [
            halves(&[7, 8]),
            words(&[0x1000, 0x2000, 0x3000, 2 << 32 | 1, 99, 0, 5]),
            path.to_vec(),
            halves(&[7, 8]),
            words(&[123]),
        ];
        let body = body.concat();
        let bytes = record(MMAP2, 0, &body);
        let mapped = Mapped {
            process: 7,
            start: 0x1000,
            length: 0x2000,
            offset: 0x3000,
            file: MappedFile { device: (1, 2), inode: 99 },
            path: b"/usr/bin/x",
        };
        assert_eq!(RecordedEvent::first(&bytes), Some(RecordedEvent::Mapped(mapped)));
        let bytes = [bytes, record(FORK, 0, &[halves(&[9, 7, 9, 7]), words(&[200])].concat())];
        let bytes = bytes.concat();
        let times: Vec<_> = times(&bytes).map(|(at, offset)| (at.as_nanos(), offset)).collect();
        assert_eq!(times, [(123, 0), (200, 8 + body.len())]);
        let fork = Fork { process: 9, parent: 7 };
        assert_eq!(
            RecordedEvent::first(&bytes[8 + body.len()..]),
            Some(RecordedEvent::Forked(fork))
        );
    }

    #[test]
    fn only_a_name_by_exec_is_a_new_program() {
        let body =
            [halves(&[7, 8]), b"name\0\0\0\0".to_vec(), halves(&[7, 8]), words(&[1])].concat();
        assert_eq!(RecordedEvent::first(&record(COMM, 0, &body)), None);
        let executed = Some(RecordedEvent::Executed { process: 7 });
        assert_eq!(RecordedEvent::first(&record(COMM, BY_EXEC, &body)), executed);
    }

    #[test]
    fn a_sample_has_a_chain_registers_and_the_read_part_of_the_stack() {
        let registers: Vec<u64> = (1..=REGISTERS.len() as u64).collect();
        let mut body = [halves(&[7, 8]), words(&[55, 1, 2, 0x10, 0x20])].concat();
        if !registers.is_empty() {
            body.extend(words(&[ABI_64]));
            body.extend(words(&registers));
            body.extend(words(&[16, 0xaa, 0xbb, 8]));
        }
        let bytes = record(SAMPLE, 0, &body);
        let Some(RecordedEvent::Sample(sample)) = RecordedEvent::first(&bytes) else {
            panic!("no sample");
        };
        assert_eq!((sample.process, sample.thread, sample.at.as_nanos()), (7, ThreadId(8), 55));
        assert_eq!((sample.cause, sample.chain), (StackCause::Switch, &words(&[0x10, 0x20])[..]));
        if !registers.is_empty() {
            assert_eq!(sample.registers.unwrap().to_vec(), registers);
            assert_eq!(sample.stack, words(&[0xaa]));
        }
        for end in 0..bytes.len() {
            assert_eq!(RecordedEvent::first(&bytes[..end]), None, "cut after {end} bytes");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_parsed(bytes in proptest::collection::vec(0_u8.., 0..300), kind in 0_u8..16) {
            let header = [kind, 0, 0, 0, 0, 0, bytes.len() as u8, 0];
            let bytes = [&header[..], &bytes].concat();
            for (_, offset) in times(&bytes) {
                let _either = RecordedEvent::first(&bytes[offset..]);
            }
        }
    }
}
