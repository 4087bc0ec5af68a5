//! PID namespaces: `pid_namespaces(7)`.
//!
//! A process in a container has other numbers for its threads than the kernel's
//! trace, which has those of the initial namespace.

use crate::journal::visible::namespace;
use crate::root::Root;

/// The initial namespace, as in `/proc/self/ns/pid`: `PROC_PID_INIT_INO` of
/// `include/linux/proc_ns.h`.
const INITIAL: &str = "pid:[4026531836]";

/// Why this process has other numbers for threads than a recording of the
/// kernel's; `None` if it has the same.
pub fn why_foreign(root: &Root) -> Option<String> {
    let own = namespace(root, "pid").filter(|own| own != INITIAL)?;
    Some(format!(
        "this process is in a container: its PID namespace ({own}) has other numbers for threads \
         than a recording; run unjank outside, in the initial PID namespace"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_the_initial_namespace_has_the_numbers_of_a_recording() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert_eq!(why_foreign(&root), None, "a kernel without namespaces");
        let own = dir.path().join("proc/self/ns");
        fs::create_dir_all(&own).unwrap();
        symlink(INITIAL, own.join("pid")).unwrap();
        assert_eq!(why_foreign(&root), None);
        fs::remove_file(own.join("pid")).unwrap();
        symlink("pid:[4026532201]", own.join("pid")).unwrap();
        let why = why_foreign(&root).unwrap();
        assert!(why.contains("PID namespace (pid:[4026532201])"), "{why}");
    }
}
