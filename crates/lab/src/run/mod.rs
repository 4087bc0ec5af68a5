//! From options to the end of the last command.

mod boot;
mod boot_directory;
mod disk;
mod event;
mod image;
mod interrupt;
mod listen;
mod options;
mod result;

pub use event::Event;
pub use options::Options;
pub use result::RunResult;

use unjank_measure::Monitor;

use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::qemu::{self, Accelerator};
use boot::{BOOT_KVM, BOOTING, Boot};

/// How often an emulated phone is booted before its crash is an error.
const BOOTS: usize = 3;

/// Boots a phone and runs `commands` in it until one fails; `on_event` receives the
/// events. If `monitor` requests a stop, a phone that is still booting is
/// ended; in one that is up, the command gets a SIGINT and time to report its
/// measurements. QEMU has ended when this returns, even with an error, and ends
/// if the calling thread is killed.
///
/// # Errors
/// `Host` for options that cannot work or if QEMU is missing, `Ended` and
/// `TimedOut` with the last lines of the console.
pub fn run(
    options: &Options,
    commands: &[Vec<String>],
    monitor: &dyn Monitor,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<RunResult> {
    options.check()?;
    let first = match options.accelerator {
        Some(accelerator) => accelerator,
        None if options.architecture == Architecture::default() && qemu::may_use_kvm() => {
            Accelerator::Kvm
        }
        None => Accelerator::Tcg,
    };
    if first == Accelerator::Kvm {
        match Boot::start(options, first, commands)?.follow(options, monitor, on_event) {
            Err(error) if options.accelerator.is_none() && is_failure_of_kvm(first, &error) => {
                on_event(Event::Remark("KVM does not work on this machine: emulating"));
            }
            done => return done,
        }
    }
    let emulator = if first == Accelerator::Kvm { Accelerator::Tcg } else { first };
    emulate(options, emulator, commands, monitor, on_event)
}

/// A kernel patches its own code while it boots. Occasionally QEMU's
/// translating threads let a CPU execute half a patch. Such a crash says
/// nothing about the phone, and the next boot works.
fn emulate(
    options: &Options,
    emulator: Accelerator,
    commands: &[Vec<String>],
    monitor: &dyn Monitor,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<RunResult> {
    for _ in 1..BOOTS {
        match Boot::start(options, emulator, commands)?.follow(options, monitor, on_event) {
            Err(Error::Ended { doing: BOOTING, console }) if !has_no_init(&console) => {
                on_event(Event::Remark(
                    "the emulated phone crashed while booting: booting it again",
                ));
            }
            done => return done,
        }
    }
    Boot::start(options, emulator, commands)?.follow(options, monitor, on_event)
}

/// Whether the kernel reached the guest's program but cannot start it. Another
/// boot would not help.
fn has_no_init(console: &[String]) -> bool {
    console.iter().any(|line| line.contains("No working init found"))
}

/// Whether a boot with KVM failed before the guest's program took part in it.
fn is_failure_of_kvm(accelerator: Accelerator, error: &Error) -> bool {
    let early = match error {
        Error::Ended { doing, .. } => *doing == BOOTING,
        Error::TimedOut { doing, limit, .. } => *doing == BOOTING && *limit == BOOT_KVM,
        _ => false,
    };
    accelerator == Accelerator::Kvm && early
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;

    use super::boot::RUNNING;
    use super::*;

    #[test]
    fn only_an_early_end_is_attributed_to_kvm() {
        let ended = |doing| Error::Ended { doing, console: Vec::new() };
        let late = |limit| Error::TimedOut { limit, doing: BOOTING, console: Vec::new() };
        assert!(is_failure_of_kvm(Accelerator::Kvm, &ended(BOOTING)));
        assert!(is_failure_of_kvm(Accelerator::Kvm, &late(BOOT_KVM)));
        assert!(!is_failure_of_kvm(Accelerator::Kvm, &late(Nanos(1))), "the user's own limit");
        assert!(!is_failure_of_kvm(Accelerator::Kvm, &ended(RUNNING)));
        assert!(!is_failure_of_kvm(Accelerator::Tcg, &ended(BOOTING)));
    }

    #[test]
    fn a_program_that_cannot_be_started_is_not_a_crash() {
        let panic = |why: &str| [format!("[    3.3] Kernel panic - not syncing: {why}")];
        assert!(has_no_init(&panic("No working init found.  Try passing init= option to kernel.")));
        assert!(!has_no_init(&panic("Attempted to kill init! exitcode=0x0000000b")));
        assert!(!has_no_init(&[]));
    }
}
