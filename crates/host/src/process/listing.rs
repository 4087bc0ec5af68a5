//! All processes of a machine and their threads, for a recording: `/proc`.

use crate::process::stat::Stat;
use crate::root::Root;
use crate::sched::ThreadId;
use crate::threads;

/// A process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedProcess {
    /// Its process id (PID).
    pub number: u32,
    /// The process id of its parent; 0 without one.
    pub parent: u32,
    /// The first word of its command line, up to an option; of a thread of the kernel, its name. It
    /// may contain any characters.
    pub name: String,
    /// Whether it is a thread of the kernel.
    pub of_kernel: bool,
    /// Its threads with their names.
    pub threads: Vec<(ThreadId, String)>,
}

/// The processes that run. Processes and threads that end meanwhile are left out.
pub fn all(root: &Root) -> Vec<ListedProcess> {
    let names = root.list("/proc").unwrap_or_default();
    names.iter().filter_map(|name| name.parse().ok()).filter_map(|id| of(root, id)).collect()
}

fn of(root: &Root, number: u32) -> Option<ListedProcess> {
    let stat = text(root, format!("/proc/{number}/stat"))?;
    let stat = Stat::parse(&stat)?;
    let (parent, of_kernel) = (stat.number(4)?, stat.is_of_kernel());
    let ids = threads::ids(root, number).ok()?;
    let named = ids.into_iter().filter_map(|id| {
        let name = text(root, format!("/proc/{number}/task/{}/comm", id.0))?;
        Some((id, name.strip_suffix('\n').unwrap_or(&name).to_owned()))
    });
    let threads: Vec<(ThreadId, String)> = named.collect();
    let (_, own) = threads.iter().find(|(id, _)| id.0 == number).or(threads.first())?;
    let line = text(root, format!("/proc/{number}/cmdline")).unwrap_or_default();
    let name = Some(program(&line)).filter(|name| !name.is_empty()).unwrap_or(own).to_owned();
    Some(ListedProcess { number, parent, name, of_kernel, threads })
}

/// The program of a command line. Some programs write all words into the first one, with spaces;
/// what follows may be secret.
fn program(line: &str) -> &str {
    let word = line.split('\0').next().unwrap_or_default();
    word.split(" -").next().unwrap_or_default().trim()
}

/// A file whose bytes may be no UTF-8.
fn text(root: &Root, path: String) -> Option<String> {
    Some(String::from_utf8_lossy(&root.read_bytes(path).ok()?).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn processes_have_names_without_arguments() {
        let top = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &[u8]| {
            let path = top.path().join("proc").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let stat = |flags: u32| format!("1 (a) b) S 2 0 0 0 -1 {flags} 0 0 0\n");
        for (number, flags, line) in [
            ("7", 0, &b"/usr/bin/app\0--password\0secret\0"[..]),
            ("8", 0, b"/opt/browser --type=tab --key=1\0"),
            ("9", 0x0020_0000, b""),
            ("11", 0, b"gone"),
        ] {
            write(&format!("{number}/stat"), stat(flags).as_bytes());
            write(&format!("{number}/cmdline"), line);
            if number != "11" {
                write(&format!("{number}/task/{number}/comm"), b"ma)in\xff\n");
            }
        }
        write("7/task/10/comm", b"worker\n");
        fs::create_dir_all(top.path().join("proc/self")).unwrap();
        let mut found = all(&Root::at(top.path()));
        found.sort_by_key(|process| process.number);
        let names = found.iter().map(|it| (it.name.as_str(), it.of_kernel, it.threads.len()));
        let expected =
            [("/usr/bin/app", false, 2), ("/opt/browser", false, 1), ("ma)in\u{fffd}", true, 1)];
        assert_eq!(names.collect::<Vec<_>>(), expected);
        assert_eq!(found[0].threads[1], (ThreadId(10), "worker".to_owned()));
        assert_eq!(found[0].parent, 2);
    }

    #[test]
    fn this_process_is_listed() {
        let own = std::process::id();
        let found = all(&Root::system());
        let own = found.iter().find(|process| process.number == own).unwrap();
        assert!(own.threads.iter().any(|(id, _)| *id == ThreadId::current()));
        assert!(!own.of_kernel && !own.name.is_empty());
    }
}
