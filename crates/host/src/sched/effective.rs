//! The effective priority of a thread.

use std::str::FromStr;

use super::ThreadId;
use crate::error::{Error, Result};
use crate::root::Root;

const PATH: &str = "/proc/thread-self/stat";

/// The effective priority of the calling thread, including inherited priority:
/// −2 … −100 for real-time priority 1 … 99, −101 for `SCHED_DEADLINE`, and 0 …
/// 39 for nice −20 … 19. `sched_getattr(2)` does not show priority inherited
/// through a futex; field 18 of `/proc/<pid>/stat` does (`proc_pid_stat(5)`).
///
/// # Errors
/// Without procfs.
pub fn effective_priority(root: &Root) -> Result<i32> {
    let stat = root.read(PATH)?;
    field(&stat, 18).ok_or_else(|| Error::parse(PATH, 1, "expected a priority in field 18"))
}

/// The priority that the kernel runs `thread` at, as [`effective_priority`] gives it, and the
/// CPU that it last ran on; `None` if it has ended.
pub fn standing(root: &Root, thread: ThreadId) -> Option<(i32, u32)> {
    let stat = root.read(format!("/proc/{}/stat", thread.0)).ok()?;
    Some((field(&stat, 18)?, field(&stat, 39)?))
}

/// A field of `proc_pid_stat(5)` after the name, by its number there.
fn field<T: FromStr>(stat: &str, number: usize) -> Option<T> {
    // The name of the thread, field 2, may contain spaces and brackets.
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_ascii_whitespace().nth(number - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_priority_is_field_18() {
        let stat = "77 (a) b) (c) S 1 77 77 0 -1 4194560 100 0 0 0 1 2 0 0 -81 0 3 0 900";
        assert_eq!(field(stat, 18), Some(-81));
        assert_eq!(field::<i32>("77 (a) S 1", 18), None);
        assert_eq!(field::<i32>("", 18), None);
    }

    #[test]
    fn a_thread_that_ended_has_no_standing() {
        let root = Root::system();
        let (_, cpu) = standing(&root, ThreadId::current()).unwrap();
        assert!(cpu < 4_096, "{cpu}");
        assert_eq!(standing(&root, ThreadId(u32::MAX)), None);
    }

    #[test]
    fn an_ordinary_thread_runs_at_its_nice_value() {
        let priority = effective_priority(&Root::system()).unwrap();
        assert!((-101..=39).contains(&priority), "{priority}");
    }
}
