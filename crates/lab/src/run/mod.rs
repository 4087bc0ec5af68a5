//! From options to the end of the last command.

mod boot;
mod image;
mod interrupt;
mod listen;
mod place;

use std::path::PathBuf;

use unjank_host::{Bytes, Error as HostError, Nanos};
use unjank_measure::Monitor;

use crate::channel::End;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::pstates::Profile;
use crate::qemu::{self, Accelerator};
use boot::{BOOT_KVM, BOOTING, Boot};

/// How often an emulated phone is booted until it is up.
const BOOTS: usize = 3;
/// Less, and the kernel and its initramfs do not fit.
const LEAST_MEMORY: Bytes = Bytes::from_mib(256);
/// QEMU's q35 takes no more.
const MOST_CPUS: usize = 255;

/// A phone, and how long it may take.
#[derive(Debug)]
pub struct Options {
    /// Its kernel.
    pub kernel: Kernel,
    /// Its program: an unjank.
    pub guest: PathBuf,
    /// Which build of unjank this is, to tell a guest of another one; `None`
    /// where that is not known.
    pub build: Option<String>,
    /// Further programs for its `/bin`.
    pub programs: Vec<PathBuf>,
    /// Virtual CPUs.
    pub cpus: usize,
    /// Its memory.
    pub memory: Bytes,
    /// Its P-states, if it is to have any.
    pub profile: Option<Profile>,
    /// Who runs it; `None` tries KVM and falls back to emulation.
    pub accelerator: Option<Accelerator>,
    /// The limit on everything from power-on to the end of the last command.
    pub limit: Option<Nanos>,
    /// Whether the kernel tells its console all.
    pub talkative: bool,
    /// A directory for files that are gone when the run is over.
    pub scratch: PathBuf,
}

/// Something that happens while the phone is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// Its console: the kernel's messages, and QEMU's.
    Console(&'a [u8]),
    /// It has booted, and begins with the first command.
    Up {
        /// How long that took.
        after: Nanos,
    },
    /// What a command prints on stdout.
    Stdout(&'a [u8]),
    /// What it prints on stderr.
    Stderr(&'a [u8]),
    /// A command has ended.
    Ended(End),
    /// The record of a run that was measured there, as JSON.
    Record(&'a str),
    /// Something that the user should know.
    Remark(&'a str),
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How each command ended that was begun.
    pub ends: Vec<End>,
    /// Who ran the phone.
    pub accelerator: Accelerator,
    /// Whether the user has ended it.
    pub interrupted: bool,
}

impl Outcome {
    /// The exit code of the last command.
    pub fn code(&self) -> u8 {
        self.ends.last().map_or(0, |end| end.code())
    }
}

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
    check(options)?;
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

fn check(options: &Options) -> Result<()> {
    let wrong = |what: String| Err(HostError::Invalid(what).into());
    if options.cpus == 0 || options.cpus > MOST_CPUS {
        return wrong(format!("a phone has 1 to {MOST_CPUS} CPUs, not {}", options.cpus));
    }
    if options.memory < LEAST_MEMORY {
        return wrong(format!(
            "{} are too little: the kernel and its programs need {LEAST_MEMORY}",
            options.memory
        ));
    }
    Ok(())
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

    #[test]
    fn the_outcome_is_that_of_the_last_command() {
        let mut outcome = Outcome {
            ends: vec![End::Code(0), End::Signal(9)],
            accelerator: Accelerator::Tcg,
            interrupted: false,
        };
        assert_eq!(outcome.code(), 137);
        outcome.ends.clear();
        assert_eq!(outcome.code(), 0);
    }
}
