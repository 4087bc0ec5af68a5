//! Control groups by their numbers, so that most launches need no lookup in
//! `/proc`.

use std::collections::BTreeMap;

use unjank_host::{Root, process::pid, process::pid_info};

/// The most remembered groups.
const MOST: usize = 256;

/// Known control groups of the unified hierarchy.
#[derive(Debug, Default)]
pub(super) struct Groups(BTreeMap<u64, String>);

impl Groups {
    /// The control group of a process, as in [`pid::control_group`].
    pub(super) fn of(&mut self, root: &Root, process: u32) -> String {
        let number = pid_info::control_group_number(process);
        if let Some(known) = number.and_then(|number| self.0.get(&number)) {
            return known.clone();
        }
        let Some((group, unified)) = pid::control_group_and_hierarchy(root, process) else {
            return String::new();
        };
        // A shell may have moved to another group between the two reads.
        let same = number == pid_info::control_group_number(process);
        if let Some(number) = number.filter(|_| unified && same) {
            // Groups come and go: those still in use are soon known again.
            if self.0.len() >= MOST {
                self.0.clear();
            }
            self.0.insert(number, group.clone());
        }
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_group_is_the_same_again() {
        let (root, me) = (Root::system(), std::process::id());
        let mut groups = Groups::default();
        let seen = groups.of(&root, me);
        assert_eq!(Some(&seen), pid::control_group(&root, me).as_ref());
        assert_eq!(groups.of(&root, me), seen);
        assert!(groups.0.len() <= 1);
        assert_eq!(groups.of(&root, u32::MAX), "");
    }

    #[test]
    fn no_more_groups_are_remembered_than_are_bounded() {
        let (root, me) = (Root::system(), std::process::id());
        let old = (0..MOST as u64).map(|number| (u64::MAX - number, "/old".to_owned()));
        let mut groups = Groups(old.collect());
        groups.of(&root, me);
        assert!(groups.0.len() <= MOST);
    }
}
