//! Information about a process in one ioctl: `PIDFD_GET_INFO` of
//! `include/uapi/linux/pidfd.h`, since Linux 6.13.

use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The first version of `struct pidfd_info`.
#[repr(C)]
#[derive(Debug, Default)]
struct Info {
    mask: u64,
    control_group: u64,
    /// `pid` to `fsgid`.
    numbers: [u32; 11],
    exit_code: i32,
}

/// `PIDFD_INFO_CGROUPID`.
const CONTROL_GROUP: u64 = 1 << 2;
/// `PIDFD_GET_INFO`.
const GET_INFO: Opcode = opcode::read_write::<Info>(0xff, 11);

/// The number of the control group of process `process` in the unified
/// hierarchy, which is not reused before the next boot. `None` if there is no
/// such process, or the kernel lacks this request.
///
/// It takes a few microseconds. The first access to `/proc/PID` of a process
/// that has just begun takes tens of microseconds.
pub fn control_group_number(process: u32) -> Option<u64> {
    let pid = Pid::from_raw(i32::try_from(process).ok()?)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let mut info = Info { mask: CONTROL_GROUP, ..Info::default() };
    // SAFETY: the kernel reads and writes the number of bytes that is encoded in
    // the request, which is the size of an `Info`, and any bytes are a valid one.
    unsafe { ioctl(&pidfd, Updater::<GET_INFO, Info>::new(&mut info)) }.ok()?;
    (info.mask & CONTROL_GROUP != 0).then_some(info.control_group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Helper;

    #[test]
    fn the_request_is_that_of_the_kernel() {
        assert_eq!((size_of::<Info>(), GET_INFO), (64, 0xc040_ff0b));
    }

    #[test]
    fn a_child_is_in_the_group_of_its_parent() {
        let helper = Helper::start(std::process::Command::new("sleep").arg("600")).unwrap();
        let number = helper.id();
        assert_eq!(control_group_number(number), control_group_number(std::process::id()));
        drop(helper);
        assert_eq!(control_group_number(number), None);
    }
}
