//! The fields of a process or a thread: `stat` in `/proc`, `proc_pid_stat(5)`.

use std::str::FromStr;

/// `PF_KTHREAD` of `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The fields of a `stat` file, by their numbers in `proc_pid_stat(5)`.
#[derive(Debug)]
pub(crate) struct Stat<'a> {
    name: &'a str,
    /// From field 3 on.
    rest: &'a str,
}

impl<'a> Stat<'a> {
    /// `None` for text that has no name in brackets. The name may contain anything, brackets too, so
    /// it ends at the last one.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
        Some(Self { name, rest })
    }

    /// Field 2, without its brackets.
    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    /// Field 3: `R` for running or runnable.
    pub(crate) fn state(&self) -> Option<char> {
        self.field(3)?.chars().next()
    }

    /// A field from 4 on.
    pub(crate) fn number<T: FromStr>(&self, field: usize) -> Option<T> {
        self.field(field)?.parse().ok()
    }

    fn field(&self, number: usize) -> Option<&'a str> {
        self.rest.split_ascii_whitespace().nth(number.checked_sub(3)?)
    }

    /// Whether it is a zombie, or dead.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state(), Some('Z' | 'X'))
    }

    /// Whether it is a thread of the kernel.
    pub(crate) fn is_of_kernel(&self) -> bool {
        self.number::<u64>(9).is_some_and(|flags| flags & KERNEL_THREAD != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_fields() {
        let text = "7 (a) b) (c) D 1 7 7 0 -1 4194560 10 20 33 40 1 2 3 4 20 0 1 0 5 6 7";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.name(), stat.state()), ("a) b) (c", Some('D')));
        assert_eq!(
            (stat.number(4), stat.number(12), stat.number(22)),
            (Some(1), Some(33), Some(5))
        );
        assert_eq!((stat.number::<u64>(25), stat.number::<u64>(1)), (None, None));
        assert!(!stat.has_ended() && !stat.is_of_kernel());
        assert!(Stat::parse("7 (a").is_none());
    }

    #[test]
    fn the_state_and_a_flag_say_what_it_is() {
        assert!(Stat::parse("7 (a) Z 1").unwrap().has_ended());
        let kernel = "9 (kworker/0:0) S) I 2 0 0 0 -1 69238880 0 0";
        assert!(Stat::parse(kernel).unwrap().is_of_kernel());
        assert_eq!(Stat::parse("7 (a)").unwrap().state(), None);
    }
}
