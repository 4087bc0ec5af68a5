//! The threads of a running program, and the choice of one by number or name.

use unjank_host::sched::ThreadId;
use unjank_host::threads::{self, Thread};
use unjank_host::{Error, Result, Root};

/// The most threads that an error lists.
const LISTED: usize = 50;

/// The thread of `process` whose number or name is `name`; without a name, the main
/// thread.
///
/// # Errors
/// `Invalid` if no thread or several threads match; it lists the threads.
pub fn choose_thread(root: &Root, process: u32, name: Option<&str>) -> Result<ThreadId> {
    let main = ThreadId(process);
    let Some(name) = name else {
        threads::ids(root, process)?;
        if !matches!(threads::state(root, process, main), Some('Z' | 'X') | None) {
            return Ok(main);
        }
        let others = threads_of(root, process)?;
        return Err(Error::Invalid(if others.is_empty() {
            format!("process {process} has ended")
        } else {
            format!(
                "the main thread of process {process} has ended; choose another with --thread: {}",
                list(others)
            )
        }));
    };
    let threads = threads_of(root, process)?;
    let number = name.parse().ok().map(ThreadId);
    if let Some(thread) = threads.iter().find(|thread| Some(thread.id) == number) {
        return Ok(thread.id);
    }
    let (named, others): (Vec<_>, Vec<_>) =
        threads.into_iter().partition(|thread| thread.name == name);
    match named.as_slice() {
        [thread] => Ok(thread.id),
        [] => Err(Error::Invalid(format!(
            "process {process} has no thread {name:?}; it has: {}",
            list(others)
        ))),
        several => Err(Error::Invalid(format!(
            "{} threads of process {process} are called {name:?}; choose one by its number with \
             --thread: {}",
            several.len(),
            list(named)
        ))),
    }
}

/// The threads of a process that have not ended.
fn threads_of(root: &Root, process: u32) -> Result<Vec<Thread>> {
    let ids = threads::ids(root, process)?.into_iter();
    let alive = ids.filter(|&id| !matches!(threads::state(root, process, id), Some('Z' | 'X')));
    Ok(alive.filter_map(|id| threads::look(root, process, id).ok().flatten()).collect())
}

/// `worker 4712 (1.20 s of CPU time), …`, the busiest first.
fn list(mut threads: Vec<Thread>) -> String {
    threads.sort_by_key(|thread| (std::cmp::Reverse(thread.cpu_time), thread.id.0));
    let shown = threads.iter().take(LISTED);
    let mut words: Vec<String> = shown
        .map(|it| format!("{} {} ({} of CPU time)", it.name.escape_debug(), it.id.0, it.cpu_time))
        .collect();
    if threads.len() > LISTED {
        words.push(format!("and {} more", threads.len() - LISTED));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use unjank_needs::wait::until;

    use super::*;

    #[test]
    fn a_process_that_has_ended_has_no_threads_to_choose_from() {
        let mut child = Command::new("true").spawn().unwrap();
        let (root, id) = (Root::system(), child.id());
        until("it is a zombie", || threads::state(&root, id, ThreadId(id)) == Some('Z'));
        let error = choose_thread(&root, id, None).unwrap_err();
        assert_eq!(error.to_string(), format!("process {id} has ended"));
        child.wait().unwrap();
    }
}
