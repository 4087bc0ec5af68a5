//! System calls of a machine with another architecture, by this machine's numbers.

use unjank_host::tracefs::{Event, EventKind, SystemCall, Trace};

/// Replaces the numbers of system calls that were recorded on an architecture, as `uname -m` prints
/// it, by this machine's. A call that this machine lacks is removed. Returns the number of removed
/// calls, or `None` if the numbers of the architecture are not known: all calls are removed.
pub fn translate(trace: &mut Trace, architecture: &str) -> Option<u64> {
    let Some(name_of) = names(architecture) else {
        for cpu in &mut trace.cpus {
            cpu.events.retain(|event| !matches!(event.kind, EventKind::SystemCall(_)));
        }
        return None;
    };
    let number_here = |number: i64| number_of(name_of(usize::try_from(number).ok()?)?);
    let mut removed = 0;
    for cpu in &mut trace.cpus {
        let translated = cpu.events.iter().filter_map(|event| {
            let call = match event.kind {
                EventKind::SystemCall(SystemCall::Begins { number, arguments }) => {
                    number_here(number).map(|number| SystemCall::Begins { number, arguments })
                }
                // The kernel has −1 where it no longer knows the call.
                EventKind::SystemCall(call @ SystemCall::Ends { number: -1, .. }) => Some(call),
                EventKind::SystemCall(SystemCall::Ends { number, result }) => {
                    number_here(number).map(|number| SystemCall::Ends { number, result })
                }
                _ => return Some(event),
            };
            removed += u64::from(call.is_none());
            Some(Event { kind: EventKind::SystemCall(call?), ..event })
        });
        cpu.events = translated.collect();
    }
    Some(removed)
}

/// Whether a name that `uname -m` prints is that of this machine's architecture.
pub fn is_native(architecture: &str) -> bool {
    is_of(architecture, std::env::consts::ARCH)
}

/// Whether a name that `uname -m` prints is that of an architecture.
fn is_of(name: &str, architecture: &str) -> bool {
    match architecture {
        "arm" => name.starts_with("armv"),
        "x86" => matches!(name.as_bytes(), [b'i', b'3'..=b'6', b'8', b'6']),
        _ => name == architecture,
    }
}

/// The names of an architecture's calls, by number.
fn names(architecture: &str) -> Option<fn(usize) -> Option<&'static str>> {
    Some(match architecture {
        _ if is_of(architecture, "aarch64") => {
            |number| syscalls::aarch64::Sysno::new(number).map(|call| call.name())
        }
        _ if is_of(architecture, "x86_64") => {
            |number| syscalls::x86_64::Sysno::new(number).map(|call| call.name())
        }
        _ if is_of(architecture, "arm") => {
            |number| syscalls::arm::Sysno::new(number).map(|call| call.name())
        }
        _ if is_of(architecture, "riscv64") => {
            |number| syscalls::riscv64::Sysno::new(number).map(|call| call.name())
        }
        _ => return None,
    })
}

/// This machine's number of a call. Newer architectures lack some old calls, whose successors wait
/// alike. Calls with 64-bit times are for 32-bit programs; tables of 64-bit architectures have their
/// numbers, too (`include/uapi/asm-generic/unistd.h`).
fn number_of(name: &str) -> Option<i64> {
    let here = |name: &str| name.parse::<syscalls::Sysno>().ok().map(|call| i64::from(call.id()));
    here(name.strip_suffix("_time64").unwrap_or(name)).or_else(|| {
        here(match name {
            "epoll_wait" => "epoll_pwait",
            "poll" => "ppoll",
            "select" | "_newselect" => "pselect6",
            "fork" | "vfork" => "clone",
            _ => return None,
        })
    })
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::Context;
    use unjank_host::tracefs::script::Script;

    use super::*;

    fn calls(architecture: &str, numbers: &[i64]) -> (Vec<i64>, Option<u64>) {
        let mut script = Script::new().runs(0, 0, 9, 7);
        for (&number, at) in numbers.iter().zip(10..) {
            let call = SystemCall::Begins { number, arguments: [1, 2, 3, 4, 5, 6] };
            script = script.happens(0, at, Context::Thread, EventKind::SystemCall(call));
        }
        let mut trace = script.trace();
        let removed = translate(&mut trace, architecture);
        let events = trace.cpus.iter().flat_map(|cpu| cpu.events.iter());
        let numbers = events.filter_map(|event| match event.kind {
            EventKind::SystemCall(SystemCall::Begins { number, arguments }) => {
                assert_eq!(arguments, [1, 2, 3, 4, 5, 6]);
                Some(number)
            }
            _ => None,
        });
        (numbers.collect(), removed)
    }

    #[test]
    #[allow(clippy::unnecessary_cast, reason = "c_long has 32 bits on some machines")]
    fn calls_of_other_machines_have_this_machine_s_numbers() {
        let here = [libc::SYS_futex as i64, libc::SYS_read as i64];
        // On 64-bit ARM and RISC-V, on 32-bit ARM, and on x86-64.
        assert_eq!(calls("aarch64", &[98, 63]), (here.to_vec(), Some(0)));
        assert_eq!(calls("riscv64", &[98, 63]), (here.to_vec(), Some(0)));
        assert_eq!(
            calls("armv8l", &[240, 3, 422]),
            ([here[0], here[1], here[0]].to_vec(), Some(0))
        );
        assert_eq!(calls("x86_64", &[202, 0]), (here.to_vec(), Some(0)));
        let waits = [libc::SYS_ppoll as i64];
        assert_eq!(calls("aarch64", &[73, 9_999, -1]), (waits.to_vec(), Some(2)));
        assert_eq!(calls("sparc64", &[1, 2]), (vec![], None));
    }

    #[test]
    fn the_kernel_has_other_names_of_architectures() {
        for (name, architecture) in
            [("x86_64", "x86_64"), ("aarch64", "aarch64"), ("armv7l", "arm"), ("i686", "x86")]
        {
            assert!(is_of(name, architecture), "{name}");
            assert!(!is_of(name, "riscv64"), "{name}");
        }
        assert!(!is_of("x86_64", "x86") && !is_of("aarch64", "arm"));
    }
}
