//! A process that goes on when its owner is killed.

use std::ffi::CStr;

use rustix::process::DumpableBehavior;

use crate::root::Root;

/// Leaves the owner's terminal, session and process group, and ignores the signals that end a group
/// or ask a process to end. A control group that is killed as a whole cannot be escaped.
///
/// Programs that this process starts ignore these signals, too.
pub fn outlive_owner(name: &CStr) {
    for signal in [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGTSTP,
        libc::SIGPIPE,
        // A journal that may not grow (`RLIMIT_FSIZE`) must not end the process.
        libc::SIGXFSZ,
        libc::SIGXCPU,
    ] {
        // SAFETY: signal(2) with SIG_IGN installs no code, and these signals
        // may all be ignored.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // All of these may fail: a leader of a process group has left already, `/`
    // always exists, and the name and the protection from the out-of-memory
    // killer are not essential.
    let _left = rustix::process::setsid();
    let _nothing_in_use = rustix::process::chdir("/");
    let _named = rustix::thread::set_name(name);
    spare_from_oom_killer();
}

/// This process is not stopped by Ctrl-Z, nor when it uses a terminal in the background. Programs
/// that it starts are not, either.
pub fn ignore_stops() {
    for signal in [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU] {
        // SAFETY: as above.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// This process leaves no core dump: it has pages of other programs, and ends late while one is
/// written.
pub fn never_dump_core() {
    // It cannot fail for this value.
    let _done = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// The kernel kills this process last when memory is exhausted. Needs a privilege.
pub fn spare_from_oom_killer() {
    let _may_be_refused = Root::system().write("/proc/self/oom_score_adj", "-1000");
}
