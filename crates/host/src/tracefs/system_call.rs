//! Trace events at the start and end of system calls: `raw_syscalls/sys_enter`
//! and `raw_syscalls/sys_exit`.
//!
//! Source: `include/trace/events/syscalls.h` of Linux. These two events cover
//! every call by its number, and work without `CONFIG_FTRACE_SYSCALLS`, which
//! Android's kernels lack.

use super::format::{Field, Format};

/// A system call of the current thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemCall {
    /// The thread enters the kernel: `sys_enter`.
    Begins {
        /// Its number on the thread's architecture.
        number: i64,
        /// Its arguments; unused ones have arbitrary values.
        arguments: [u64; 6],
    },
    /// The thread leaves the kernel: `sys_exit`.
    Ends {
        /// Its number; −1 if the kernel no longer knows it, such as after the
        /// return from a signal handler.
        number: i64,
        /// Its result; an error is a negative number.
        result: i64,
    },
}

/// The positions of such an event's fields in its records.
#[derive(Debug, Clone, Copy)]
pub(super) enum Recipe {
    Begins { number: Field, arguments: Field },
    Ends { number: Field, result: Field },
}

impl Recipe {
    /// The recipe for an event of `system`; `None` for other events.
    pub(super) fn learn(system: &str, format: &Format) -> Result<Option<Self>, String> {
        let field =
            |name: &str| format.field(name).ok_or_else(|| format!("it has no field {name}"));
        Ok(Some(match (system, format.name.as_str()) {
            ("raw_syscalls", "sys_enter") => {
                Self::Begins { number: field("id")?, arguments: field("args")? }
            }
            ("raw_syscalls", "sys_exit") => {
                Self::Ends { number: field("id")?, result: field("ret")? }
            }
            _ => return Ok(None),
        }))
    }

    #[inline]
    pub(super) fn apply(&self, record: &[u8]) -> Option<SystemCall> {
        Some(match self {
            Self::Begins { number, arguments } => SystemCall::Begins {
                number: number.number(record)?,
                arguments: words(arguments.bytes(record)?)?,
            },
            Self::Ends { number, result } => {
                SystemCall::Ends { number: number.number(record)?, result: result.number(record)? }
            }
        })
    }
}

/// Parses an `unsigned long[6]`, whose elements have 4 bytes on 32-bit kernels;
/// `None` for other sizes.
fn words(bytes: &[u8]) -> Option<[u64; 6]> {
    let size = bytes.len() / 6;
    if !bytes.len().is_multiple_of(6) {
        return None;
    }
    let mut words = [0; 6];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(size.max(1))) {
        *word = match size {
            8 => u64::from_le_bytes(bytes.try_into().ok()?),
            4 => u64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
            _ => return None,
        };
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTER: &str = "\
name: sys_enter
ID: 350
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;
\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;

print fmt: \"NR %ld\", REC->id
";

    fn record(words: &[u64]) -> Vec<u8> {
        let head = [0x5e, 1, 0, 0, 7, 0, 0, 0];
        head.into_iter().chain(words.iter().flat_map(|word| word.to_le_bytes())).collect()
    }

    #[test]
    fn a_call_has_a_number_arguments_and_a_result() {
        let enter = Format::parse(ENTER).unwrap();
        let begins = Recipe::learn("raw_syscalls", &enter).unwrap().unwrap();
        let decoded = begins.apply(&record(&[202, 1, 2, 3, 4, 5, u64::MAX]));
        let arguments = [1, 2, 3, 4, 5, u64::MAX];
        assert_eq!(decoded, Some(SystemCall::Begins { number: 202, arguments }));
        assert_eq!(begins.apply(&record(&[202, 1])), None, "cut");
        let exit = ENTER.replace("sys_enter", "sys_exit");
        let exit = exit.replace(
            "unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0",
            "long ret;\toffset:16;\tsize:8;\tsigned:1",
        );
        let ends = Recipe::learn("raw_syscalls", &Format::parse(&exit).unwrap()).unwrap().unwrap();
        let decoded = ends.apply(&record(&[202, (-110_i64).cast_unsigned()]));
        assert_eq!(decoded, Some(SystemCall::Ends { number: 202, result: -110 }));
    }

    #[test]
    fn other_events_are_ignored_and_a_missing_field_is_an_error() {
        let mut enter = Format::parse(ENTER).unwrap();
        assert!(Recipe::learn("syscalls", &enter).unwrap().is_none());
        enter.fields.pop();
        assert_eq!(Recipe::learn("raw_syscalls", &enter).unwrap_err(), "it has no field args");
    }

    #[test]
    fn the_size_of_a_word_follows_from_six_of_them() {
        assert_eq!(words(&[1; 24]).unwrap(), [0x0101_0101; 6]);
        assert_eq!((words(&[1; 12]), words(&[1; 25])), (None, None));
    }
}
