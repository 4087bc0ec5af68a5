//! The attributes and state of another process: `/proc/PID`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, getpgid};

use crate::clock::{since_boot, user_tick};
use crate::process::stat::Stat;
use crate::root::Root;
use unjank_units::{Bytes, Nanos};

/// The most processes of a tree that are listed.
pub const LARGEST_TREE: usize = 4_096;
/// What the kernel appends to the link of a program whose file was removed.
const DELETED: &str = " (deleted)";

/// The waits of a process. The difference of two of these shows whether it is
/// delayed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// How long its first thread was runnable without running; zero if the
    /// kernel does not count that (`CONFIG_SCHED_INFO`).
    pub ready: Nanos,
    /// Major page faults of all its threads.
    pub major_faults: u64,
    /// Whether its first thread waits now: uninterruptibly, mostly for storage
    /// (state D), or for a CPU (state R), which `ready` counts only after it has
    /// got one.
    pub blocked: bool,
}

impl Waits {
    /// Reads process `number`; `None` if it has ended.
    pub fn of(root: &Root, number: u32) -> Option<Self> {
        let (state, major_faults) =
            of_live(root, number, |stat| Some((stat.state()?, stat.number(12)?)))?;
        let schedstat = root.read(file(number, "schedstat")).unwrap_or_default();
        let ready = schedstat.split_whitespace().nth(1).and_then(|nanos| nanos.parse().ok());
        Some(Self {
            ready: Nanos(ready.unwrap_or(0)),
            major_faults,
            blocked: matches!(state, 'D' | 'R'),
        })
    }
}

/// The program that process `number` runs; `None` for a kernel thread and for a
/// process that has ended.
pub fn executable(root: &Root, number: u32) -> Option<PathBuf> {
    let link = fs::read_link(root.resolve(file(number, "exe"))).ok()?;
    match link.to_str().and_then(|link| link.strip_suffix(DELETED)) {
        Some(link) => Some(PathBuf::from(link)),
        None => Some(link),
    }
}

/// The command line of process `number`, word by word.
pub fn command_line(root: &Root, number: u32) -> Option<Vec<OsString>> {
    let bytes = root.read_bytes(file(number, "cmdline")).ok()?;
    let words = bytes.strip_suffix(&[0]).unwrap_or(&bytes).split(|&byte| byte == 0);
    Some(words.map(|word| OsString::from_vec(word.to_vec())).collect())
}

/// The control group of process `number` in the unified hierarchy, else in that
/// of `cpuset`; `/` is the root.
pub fn control_group(root: &Root, number: u32) -> Option<String> {
    control_group_and_hierarchy(root, number).map(|(group, _)| group)
}

/// As [`control_group`], with whether it is in the unified hierarchy.
pub fn control_group_and_hierarchy(root: &Root, number: u32) -> Option<(String, bool)> {
    let text = root.read(file(number, "cgroup")).ok()?;
    group_in(&text).map(|(group, unified)| (group.to_owned(), unified))
}

/// The user that process `number` runs as.
pub fn user(root: &Root, number: u32) -> Option<u32> {
    fs::metadata(root.resolve(Path::new("/proc").join(number.to_string())))
        .ok()
        .map(|metadata| metadata.uid())
}

/// Whether process `number` of this machine leads a process group: shells and
/// desktops put each program that a user starts into its own group, and
/// programs leave their children in theirs. `None` if there is no such process.
pub fn leads_group(number: u32) -> Option<bool> {
    let pid = Pid::from_raw(i32::try_from(number).ok()?)?;
    getpgid(Some(pid)).ok().map(|group| group == pid)
}

/// The processes in process group `group` that run: those that have ended, but were not waited
/// for, do not. Looks at all processes of the machine.
pub fn in_group(root: &Root, group: u32) -> Vec<u32> {
    let all = root.list("/proc").unwrap_or_default();
    let numbers = all.iter().filter_map(|entry| entry.parse().ok());
    numbers.filter(|number| runs_in_group(root, *number, group)).collect()
}

/// Whether process `number` runs and is in process group `group`.
pub fn runs_in_group(root: &Root, number: u32, group: u32) -> bool {
    of_live(root, number, |stat| stat.number(5)) == Some(group)
}

/// The processes with one of `names` as the kernel's name (`comm`): at most 15
/// characters.
pub fn running(root: &Root, names: &[&str]) -> Vec<(u32, String)> {
    named(root, |name| names.contains(&name))
}

/// The processes whose name (`comm`) is wanted, with it.
pub fn named(root: &Root, is_wanted: impl Fn(&str) -> bool) -> Vec<(u32, String)> {
    let all = root.list("/proc").unwrap_or_default();
    let numbers = all.iter().filter_map(|entry| entry.parse().ok());
    let known = numbers.filter_map(|number| Some((number, root.read(file(number, "comm")).ok()?)));
    known.filter(|(_, name)| is_wanted(name)).collect()
}

/// The live children of process `number`; empty if the kernel does not list them
/// (`CONFIG_PROC_CHILDREN`).
pub fn children(root: &Root, number: u32) -> Vec<u32> {
    let mut children = Vec::new();
    for thread in root.list(file(number, "task")).unwrap_or_default() {
        // A thread that has ended meanwhile has no children.
        let list = root.read(file(number, &format!("task/{thread}/children")));
        let list = list.unwrap_or_default();
        children.extend(list.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
    }
    children
}

/// Process `number` and its live descendants, except `without` and its
/// descendants. At most [`LARGEST_TREE`] processes.
pub fn tree(root: &Root, number: u32, without: u32) -> Vec<u32> {
    let mut tree = vec![number];
    let mut at = 0;
    while let Some(&parent) = tree.get(at) {
        // A number that is reused meanwhile must not cause a circle.
        for child in children(root, parent) {
            if child != without && tree.len() < LARGEST_TREE && !tree.contains(&child) {
                tree.push(child);
            }
        }
        at += 1;
    }
    tree
}

/// The inodes of the sockets that process `number` has open; empty without the permission.
pub fn sockets(root: &Root, number: u32) -> BTreeSet<u64> {
    let directory = file(number, "fd");
    let names = root.list(&directory).unwrap_or_default();
    let links =
        names.iter().filter_map(|name| fs::read_link(root.resolve(directory.join(name))).ok());
    let inode = |link: PathBuf| {
        let number = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        number.parse().ok()
    };
    links.filter_map(inode).collect()
}

/// The resident memory of process `number`, including pages of files: `VmRSS`.
pub fn resident(root: &Root, number: u32) -> Option<Bytes> {
    let status = root.read(file(number, "status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok().map(Bytes::from_kib)
}

/// The CPU time of all threads of process `number`, including ended ones, to the
/// nanosecond; `None` if there is no such process. One system call.
pub fn cpu_time(number: u32) -> Option<Nanos> {
    // `CPUCLOCK_SCHED` of a whole process: include/linux/posix-timers.h.
    let clock = (!i32::try_from(number).ok()? << 3) | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime(2) writes a timespec to the given address, and
    // returns EINVAL for an invalid clock.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) } != 0;
    let seconds = u64::try_from(time.tv_sec).ok()?;
    (!failed).then(|| Nanos(seconds.saturating_mul(1_000_000_000) + time.tv_nsec as u64))
}

/// When process `number` began, in clock ticks since boot. The number of a dead
/// process may be reused, but not with the same start.
pub(crate) fn start(root: &Root, number: u32) -> Option<u64> {
    Stat::parse(&root.read(file(number, "stat")).ok()?)?.number(22)
}

/// The time since process `number` began.
pub fn age(root: &Root, number: u32) -> Option<Nanos> {
    let start = user_tick().times(start(root, number)?).get();
    Some(Nanos(since_boot().get().saturating_sub(start)))
}

fn file(number: u32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{number}/{name}"))
}

/// What `read` finds in the `stat` of process `number`; `None` if it has ended.
fn of_live<T>(root: &Root, number: u32, read: impl FnOnce(&Stat<'_>) -> Option<T>) -> Option<T> {
    let text = root.read(file(number, "stat")).ok()?;
    let stat = Stat::parse(&text).filter(|stat| !stat.has_ended())?;
    read(&stat)
}

/// The group, and whether it is in the unified hierarchy.
fn group_in(text: &str) -> Option<(&str, bool)> {
    let of = |wanted: &str| {
        text.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            controllers.split(',').any(|name| name == wanted).then_some(path)
        })
    };
    let unified = of("").map(|group| (group, true));
    unified.or_else(|| of("cpuset").map(|group| (group, false)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Helper;

    #[test]
    fn the_unified_hierarchy_comes_first() {
        assert_eq!(
            group_in("3:cpuset:/top-app\n0::/user.slice/a:b\n"),
            Some(("/user.slice/a:b", true))
        );
        assert_eq!(group_in("4:cpu,cpuset:/top-app\n2:freezer:/\n"), Some(("/top-app", false)));
        assert_eq!(group_in("2:freezer:/\nnonsense"), None);
    }

    #[test]
    fn the_attributes_of_this_process_are_right() {
        let root = Root::system();
        let me = std::process::id();
        assert_eq!(executable(&root, me), std::env::current_exe().ok());
        let words: Vec<OsString> = std::env::args_os().collect();
        assert_eq!(command_line(&root, me), Some(words));
        assert_eq!(user(&root, me), Some(rustix::process::geteuid().as_raw()));
        assert!(control_group(&root, me).is_some_and(|group| group.starts_with('/')));
        let before = cpu_time(me).unwrap();
        assert!(before > Nanos::ZERO);
        while cpu_time(me).unwrap() <= before {}
        let waits = Waits::of(&root, me).unwrap();
        assert!(Waits::of(&root, me).unwrap().major_faults >= waits.major_faults);
    }

    #[test]
    fn a_tree_is_walked_to_its_leaves_even_with_a_circle() {
        let top = tempfile::tempdir().unwrap();
        for (parent, children) in [(5, "6 7 "), (6, "8"), (7, ""), (8, "5 6"), (9, "10")] {
            let task = top.path().join(format!("proc/{parent}/task/{parent}"));
            fs::create_dir_all(&task).unwrap();
            fs::write(task.join("children"), children).unwrap();
        }
        let root = Root::at(top.path());
        assert_eq!(tree(&root, 5, 0), [5, 6, 7, 8]);
        assert_eq!(tree(&root, 5, 6), [5, 7]);
        assert_eq!(tree(&root, 9, 0), [9, 10]);
    }

    #[test]
    fn a_helper_leads_its_group_and_is_a_child_until_it_ends() {
        let root = Root::system();
        let helper = Helper::start(std::process::Command::new("sleep").arg("600")).unwrap();
        let number = helper.id();
        assert_eq!(leads_group(number), Some(true));
        assert!(Waits::of(&root, number).is_some());
        drop(helper);
        assert_eq!(leads_group(number), None);
        assert_eq!((Waits::of(&root, number), cpu_time(number)), (None, None));
        assert_eq!(executable(&root, number), None);
    }
}
