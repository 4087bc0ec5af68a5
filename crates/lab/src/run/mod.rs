//! From options to the end of the last command.

mod image;
mod listen;
mod place;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use unjank_host::{Bytes, Error as HostError, Nanos, Timestamp};
use unjank_measure::Monitor;

use crate::channel::{Decoder, End, Frame};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::pstates::Profile;
use crate::qemu::{self, Accelerator, KVM_GAVE_UP, Machine};
use crate::tail::Tail;
use image::Image;
use listen::{Heard, Listener};

/// The label of what was measured where QEMU translates instructions.
pub const EMULATED: &str = "emulated";

/// How often the limits and the wish to stop are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Time for the guest to greet. Translated on a slow machine it takes 30 s.
const BOOT: Nanos = Nanos::from_millis(180_000);
/// With KVM it takes a second or two. One that hangs is given up soon.
const BOOT_KVM: Nanos = Nanos::from_millis(15_000);
/// How often an emulated phone is booted until it is up.
const BOOTS: usize = 3;
/// What a boot takes, for the progress bar.
const USUAL_BOOT: f64 = 10.0;
/// Less, and the kernel and its initramfs do not fit.
const LEAST_MEMORY: Bytes = Bytes::from_mib(256);
/// QEMU's q35 takes no more.
const MOST_CPUS: usize = 255;

/// A phone, and how long it may take.
#[derive(Debug)]
pub struct Options {
    /// Its kernel.
    pub kernel: Kernel,
    /// Its program: a static unjank.
    pub guest: PathBuf,
    /// Further static programs for its `/bin`.
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
/// happens. QEMU has ended when this returns, whatever it returns, and ends
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
    emulate(options, commands, monitor, hear)
}

/// A kernel changes its own code while it boots, and once in a while QEMU's
/// translating threads let one of its CPUs run half a change: such a crash says
/// nothing about the phone, and the next boot works.
fn emulate(
    options: &Options,
    commands: &[Vec<String>],
    monitor: &dyn Monitor,
    hear: &mut dyn FnMut(Event<'_>),
) -> Result<Outcome> {
    for _ in 1..BOOTS {
        match Boot::start(options, Accelerator::Tcg, commands)?.follow(options, monitor, hear) {
            Err(Error::Ended { doing: BOOTING, console }) if !has_no_init(&console) => {
                hear(Event::Remark("the emulated phone crashed while booting: booting it again"));
            }
            done => return done,
        }
    }
    Boot::start(options, Accelerator::Tcg, commands)?.follow(options, monitor, hear)
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

/// What a phone does until its guest greets.
const BOOTING: &str = "booting";
/// And then.
const RUNNING: &str = "running its commands";

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

/// A phone that is on.
#[derive(Debug)]
struct Boot {
    // Dropped in this order: QEMU ends before its files are gone.
    listener: Listener,
    _image: Image,
    accelerator: Accelerator,
    start: Timestamp,
    console: Tail,
    up: bool,
    ends: Vec<End>,
}

/// Whether there is more to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    Over,
}

impl Boot {
    fn start(
        options: &Options,
        accelerator: Accelerator,
        commands: &[Vec<String>],
    ) -> Result<Self> {
        let labels = match accelerator {
            Accelerator::Kvm => Vec::new(),
            Accelerator::Tcg => vec![EMULATED.to_owned()],
        };
        let image = Image::build(options, commands, labels)?;
        let machine = Machine {
            accelerator,
            cpus: options.cpus,
            memory: options.memory,
            kernel: &options.kernel.image,
            initramfs: &image.initramfs,
            table: image.table.as_deref(),
            parameters: &parameters(options),
        };
        Ok(Self {
            start: Timestamp::now(),
            listener: Listener::new(machine.start()?),
            _image: image,
            accelerator,
            console: Tail::default(),
            up: false,
            ends: Vec::new(),
        })
    }

    /// Hears it out.
    fn follow(
        mut self,
        options: &Options,
        monitor: &dyn Monitor,
        hear: &mut dyn FnMut(Event<'_>),
    ) -> Result<Outcome> {
        let mut decoder = Decoder::default();
        loop {
            match self.listener.next(LOOK) {
                Heard::Channel(bytes) => {
                    decoder.push(&bytes);
                    while let Some(frame) = decoder.next_frame()? {
                        if self.take(frame, hear) == Next::Over {
                            return Ok(self.outcome(false));
                        }
                    }
                }
                Heard::Console(bytes) => {
                    hear(Event::Console(&bytes));
                    self.console.push(&bytes);
                    if !self.up && self.console.contains(KVM_GAVE_UP) {
                        return Err(self.ended());
                    }
                }
                Heard::Nothing => {}
                Heard::End => return Err(self.ended()),
            }
            if monitor.stop_requested() {
                return Ok(self.outcome(true));
            }
            self.look_at_the_clock(options, monitor)?;
        }
    }

    fn take(&mut self, frame: Frame, hear: &mut dyn FnMut(Event<'_>)) -> Next {
        match frame {
            Frame::Greeting(_) => {
                self.up = true;
                hear(Event::Up { after: Timestamp::now().since(self.start) });
            }
            Frame::Stdout(bytes) => hear(Event::Stdout(&bytes)),
            Frame::Stderr(bytes) => hear(Event::Stderr(&bytes)),
            Frame::Ended(end) => {
                self.ends.push(end);
                hear(Event::Ended(end));
            }
            Frame::Record(text) => hear(Event::Record(&labelled(text, self.accelerator))),
            Frame::Remark(text) => hear(Event::Remark(&text)),
            Frame::Done => return Next::Over,
        }
        Next::More
    }

    /// Tells how far a boot is, and ends what takes too long.
    fn look_at_the_clock(&mut self, options: &Options, monitor: &dyn Monitor) -> Result<()> {
        let after = Timestamp::now().since(self.start);
        let boot_limit = match self.accelerator {
            Accelerator::Kvm => BOOT_KVM,
            Accelerator::Tcg => BOOT,
        };
        let boot_limit = Some(boot_limit).filter(|_| !self.up);
        let limit = boot_limit.into_iter().chain(options.limit).min();
        if let Some(limit) = limit.filter(|&limit| after >= limit) {
            let (doing, console) = (self.doing(), self.console.lines());
            return Err(Error::TimedOut { limit, doing, console });
        }
        if !self.up {
            let seconds = after.as_secs_f64();
            monitor.progress(seconds / USUAL_BOOT, &format!("booting, {seconds:.0} s"));
        }
        Ok(())
    }

    fn doing(&self) -> &'static str {
        if self.up { RUNNING } else { BOOTING }
    }

    fn ended(mut self) -> Error {
        Error::Ended { doing: self.doing(), console: self.console.lines() }
    }

    fn outcome(self, interrupted: bool) -> Outcome {
        Outcome { ends: self.ends, accelerator: self.accelerator, interrupted }
    }
}

/// The kernel's command line.
fn parameters(options: &Options) -> String {
    // The guest brings the other CPUs up when the kernel has changed its code.
    let mut parameters = "console=ttyS0 panic=-1 maxcpus=1 rdinit=/bin/unjank".to_owned();
    parameters.push_str(if options.talkative { " ignore_loglevel" } else { " quiet" });
    if let Some(profile) = &options.profile {
        // A processor of the host's kind may have a driver of its own.
        parameters.push_str(" intel_pstate=disable amd_pstate=disable cpufreq.default_governor=");
        parameters.push_str(&profile.governor);
    }
    parameters + " -- lab init"
}

/// The record with the label of the machine that it was measured on, whatever
/// the guest thinks of that.
fn labelled(text: String, accelerator: Accelerator) -> String {
    if accelerator == Accelerator::Kvm {
        return text;
    }
    let Ok(mut record) = serde_json::from_str::<Value>(&text) else {
        // No record; whoever keeps it will say so.
        return text;
    };
    if let Some(object) = record.as_object_mut() {
        let labels = object.entry("labels").or_insert_with(|| Value::Array(Vec::new()));
        match labels.as_array_mut() {
            Some(labels) if labels.iter().any(|label| label == EMULATED) => return text,
            Some(labels) => labels.push(EMULATED.into()),
            None => return text,
        }
    }
    record.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_labelled_once() {
        let label = |text: &str, accelerator| labelled(text.to_owned(), accelerator);
        let tcg = |text| label(text, Accelerator::Tcg);
        assert_eq!(tcg(r#"{"id":"x"}"#), r#"{"id":"x","labels":["emulated"]}"#);
        assert_eq!(tcg(r#"{"labels":["a"]}"#), r#"{"labels":["a","emulated"]}"#);
        for same in [r#"{ "labels": ["emulated"] }"#, "no record", "[1]", r#"{"labels":1}"#] {
            assert_eq!(tcg(same), same);
        }
        assert_eq!(label("{}", Accelerator::Kvm), "{}");
    }

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
