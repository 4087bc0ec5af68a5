//! Knobs that the kernel locks at some value until the next boot. Writing their
//! present value shows nothing about that, because it is not the value that locks.

/// The knobs, and the values after which they can still be written:
/// `bpf_unpriv_handler` in `kernel/bpf/syscall.c`, `kernel/kexec_core.c`,
/// `kernel/module/main.c`, `yama_dointvec_minmax` in `security/yama/yama_lsm.c`.
const ONE_WAY: [(&str, &[&str]); 6] = [
    ("/proc/sys/kernel/unprivileged_bpf_disabled", &["0", "2"]),
    ("/proc/sys/kernel/kexec_load_disabled", &["0"]),
    ("/proc/sys/kernel/kexec_load_limit_panic", &[]),
    ("/proc/sys/kernel/kexec_load_limit_reboot", &[]),
    ("/proc/sys/kernel/modules_disabled", &["0"]),
    ("/proc/sys/kernel/yama/ptrace_scope", &["0", "1", "2"]),
];

/// Whether the kernel may refuse every other value for `path` after `value`.
pub(super) fn is_final(path: &str, value: &str) -> bool {
    ONE_WAY.iter().any(|(knob, open)| *knob == path && !open.contains(&value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_lock_a_knob_are_final() {
        let bpf = "/proc/sys/kernel/unprivileged_bpf_disabled";
        let ptrace = "/proc/sys/kernel/yama/ptrace_scope";
        for (path, value) in [(bpf, "1"), (bpf, "0x1"), (ptrace, "3"), (ptrace, "03\n")] {
            assert!(is_final(path, value), "{path}={value}");
        }
        assert!(is_final("/proc/sys/kernel/modules_disabled", "1"));
        assert!(is_final("/proc/sys/kernel/kexec_load_limit_panic", "3"));
    }

    #[test]
    fn other_values_and_knobs_are_not() {
        let path = "/proc/sys/kernel/unprivileged_bpf_disabled";
        assert!(!is_final(path, "2") && !is_final(path, "0\n"));
        assert!(!is_final("/proc/sys/kernel/yama/ptrace_scope", "2"));
        assert!(!is_final("/proc/sys/vm/swappiness", "1"));
    }
}
