//! From options to the end of the last command.

mod boot;
mod event;
mod image;
mod interrupt;
mod listen;
mod options;
mod outcome;
mod place;

pub use event::Event;
pub use options::Options;
pub use outcome::Outcome;

use unjank_measure::Monitor;

use crate::error::{Error, Result};
use crate::qemu::{self, Accelerator};
use boot::{BOOT_KVM, BOOTING, Boot};

/// How often an emulated phone is booted until it is up.
const BOOTS: usize = 3;

/// Boots a phone, runs `commands` in it until one fails, and tells `hear` what
/// happens. Where `monitor` wants it to stop, a phone that boots is ended, and
/// in one that is up the command gets a SIGINT and some time to tell what it
/// has measured. QEMU has ended when this returns, whatever it returns, and ends
/// with the calling thread however that does.
///
/// # Errors
/// `Host` for options that cannot work or where QEMU is missing, `Ended` and
/// `TimedOut` with the last lines of the console.
pub fn run(
    options: &Options,
    commands: &[Vec<String>],
    monitor: &dyn Monitor,
    hear: &mut dyn FnMut(Event<'_>),
) -> Result<Outcome> {
    options.check()?;
    let first = match options.accelerator {
        Some(accelerator) => accelerator,
        None if qemu::may_use_kvm() => Accelerator::Kvm,
        None => Accelerator::Tcg,
    };
    if first == Accelerator::Kvm {
        match Boot::start(options, first, commands)?.follow(options, monitor, hear) {
            Err(error) if options.accelerator.is_none() && is_for_want_of_kvm(first, &error) => {
                hear(Event::Remark("KVM does not work on this machine: emulating"));
            }
            done => return done,
        }
    }
    let emulator = if first == Accelerator::Kvm { Accelerator::Tcg } else { first };
    emulate(options, emulator, commands, monitor, hear)
}

/// A kernel changes its own code while it boots, and once in a while QEMU's
/// translating threads let one of its CPUs run half a change: such a crash says
/// nothing about the phone, and the next boot works.
fn emulate(
    options: &Options,
    emulator: Accelerator,
    commands: &[Vec<String>],
    monitor: &dyn Monitor,
    hear: &mut dyn FnMut(Event<'_>),
) -> Result<Outcome> {
    for _ in 1..BOOTS {
        match Boot::start(options, emulator, commands)?.follow(options, monitor, hear) {
            Err(Error::Ended { doing: BOOTING, console }) if !has_no_init(&console) => {
                hear(Event::Remark("the emulated phone crashed while booting: booting it again"));
            }
            done => return done,
        }
    }
    Boot::start(options, emulator, commands)?.follow(options, monitor, hear)
}

/// Whether the kernel has come as far as the guest's program, and cannot start
/// it. No further boot will.
fn has_no_init(console: &[String]) -> bool {
    console.iter().any(|line| line.contains("No working init found"))
}

/// Whether a boot with KVM has failed before the guest had any part in it.
fn is_for_want_of_kvm(accelerator: Accelerator, error: &Error) -> bool {
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
    fn only_an_early_end_under_kvm_is_blamed_on_it() {
        let ended = |doing| Error::Ended { doing, console: Vec::new() };
        let late = |limit| Error::TimedOut { limit, doing: BOOTING, console: Vec::new() };
        assert!(is_for_want_of_kvm(Accelerator::Kvm, &ended(BOOTING)));
        assert!(is_for_want_of_kvm(Accelerator::Kvm, &late(BOOT_KVM)));
        assert!(!is_for_want_of_kvm(Accelerator::Kvm, &late(Nanos(1))), "the user's own limit");
        assert!(!is_for_want_of_kvm(Accelerator::Kvm, &ended(RUNNING)));
        assert!(!is_for_want_of_kvm(Accelerator::Tcg, &ended(BOOTING)));
    }

    #[test]
    fn a_program_that_cannot_be_started_is_no_crash() {
        let panic = |why: &str| [format!("[    3.3] Kernel panic - not syncing: {why}")];
        assert!(has_no_init(&panic("No working init found.  Try passing init= option to kernel.")));
        assert!(!has_no_init(&panic("Attempted to kill init! exitcode=0x0000000b")));
        assert!(!has_no_init(&[]));
    }
}
