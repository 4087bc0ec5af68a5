//! Values in the text of an event.
//!
//! A thread's name may contain any text, including text that looks like a field.
//! So the fields after a name are searched from the end.

use super::super::super::event::Task;
use super::super::super::name::Comm;
use crate::sched::ThreadId;

/// A field that is missing or malformed.
pub(super) type Wrong = &'static str;

/// The word behind the last `key`, which ends with `=`.
pub(super) fn word<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut places = text.rmatch_indices(key).map(|(place, _)| place);
    let is_field = |place: &usize| *place == 0 || text[..*place].ends_with([' ', '(', ',']);
    let place = places.find(is_field)?;
    text[place + key.len()..].split_whitespace().next()
}

/// The number behind the last `key`.
pub(super) fn number<T: std::str::FromStr>(text: &str, key: &str) -> Result<T, Wrong> {
    let word = word(text, key).ok_or("expected a field")?;
    word.trim_end_matches(',').parse().map_err(|_| "expected a number")
}

/// The number behind the last `key`, with or without `0x`.
pub(super) fn hexadecimal(text: &str, key: &str) -> Result<u64, Wrong> {
    let word = word(text, key).ok_or("expected a field")?;
    hexadecimal_word(word)
}

/// A number with or without `0x`.
pub(super) fn hexadecimal_word(word: &str) -> Result<u64, Wrong> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    u64::from_str_radix(digits.trim_end_matches(':'), 16).map_err(|_| "expected a number")
}

/// The text between the first `key` and the last `next`.
pub(super) fn between<'a>(text: &'a str, key: &str, next: &str) -> Result<&'a str, Wrong> {
    let begin = text.find(key).ok_or("expected a name")? + key.len();
    let rest = &text[begin..];
    Ok(&rest[..rest.rfind(next).ok_or("expected the end of a name")?])
}

/// `comm=a pid=5 prio=120`, with a prefix of each key.
pub(super) fn task(text: &str, prefix: &str) -> Result<Task, Wrong> {
    let key = |name: &str| format!("{prefix}{name}=");
    let comm = between(text, &key("comm"), &format!(" {}", key("pid")))?;
    Ok(Task {
        tid: ThreadId(number(text, &key("pid"))?),
        comm: Comm::new(comm.as_bytes()),
        prio: number(text, &key("prio"))?,
    })
}

/// `a:5 [120]` of trace-cmd, and what follows.
pub(super) fn short_task(text: &str) -> Result<(Task, &str), Wrong> {
    let (name, behind) = text.rsplit_once(" [").ok_or("expected a priority")?;
    let (prio, rest) = behind.split_once(']').ok_or("expected a priority")?;
    let (comm, tid) = name.rsplit_once(':').ok_or("expected a thread")?;
    let task = Task {
        tid: ThreadId(tid.parse().map_err(|_| "expected a thread")?),
        comm: Comm::new(comm.trim_start_matches(' ').as_bytes()),
        prio: prio.parse().map_err(|_| "expected a priority")?,
    };
    Ok((task, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_fields_does_not_hide_them() {
        let hostile = "comm=x pid=1 prio=2 pid=77 prio=120 target_cpu=001";
        let task = task(hostile, "").unwrap();
        assert_eq!((task.tid, task.prio), (ThreadId(77), 120));
        assert_eq!(task.comm, Comm::from("x pid=1 prio=2"));
        assert_eq!(number::<usize>(hostile, "target_cpu="), Ok(1));
        assert_eq!(number::<usize>(hostile, "cpu="), Err("expected a field"));
    }

    #[test]
    fn the_short_form_of_trace_cmd_is_read() {
        let (task, rest) = short_task("kworker/1:0H:9599 [100] CPU:001").unwrap();
        assert_eq!((task.tid, task.prio, rest), (ThreadId(9599), 100, " CPU:001"));
        assert_eq!(task.comm, Comm::from("kworker/1:0H"));
        assert!(short_task("nobody").is_err());
        let (task, rest) = short_task("[pango] fontcon:901 [120] S").unwrap();
        assert_eq!((task.tid, task.prio, rest), (ThreadId(901), 120, " S"));
        assert_eq!(task.comm, Comm::from("[pango] fontcon"));
    }
}
