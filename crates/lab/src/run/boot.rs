//! One boot, from power-on to the end of the last command.

use std::time::Duration;

use serde_json::Value;
use unjank_host::{Nanos, Timestamp};
use unjank_measure::Monitor;

use super::event::Event;
use super::image::{Image, LIBRARIES};
use super::interrupt::{IGNORED, Interrupt, Step};
use super::listen::{Heard, Listener};
use super::options::Options;
use super::outcome::Outcome;
use crate::channel::{Decoder, End, Frame};
use crate::error::{Error, Result};
use crate::qemu::{Accelerator, KVM_GAVE_UP, Machine};
use crate::tail::Tail;

/// What a phone does until its guest greets.
pub(super) const BOOTING: &str = "booting";
/// And then.
pub(super) const RUNNING: &str = "running its commands";

/// How often the limits and the wish to stop are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Time for the guest to greet. Translated it takes 30 s on a slow machine, and minutes on one that
/// is busy as well.
const BOOT: Nanos = Nanos::from_millis(1_200_000);
/// With KVM it takes a second or two. One that hangs is given up sooner, and emulated instead.
pub(super) const BOOT_KVM: Nanos = Nanos::from_millis(60_000);
/// What a boot takes, for the progress bar.
const USUAL_BOOT: f64 = 10.0;
/// Of the name of a guest's build, this much is told.
const LONGEST_BUILD: usize = 80;

/// A phone that is on.
#[derive(Debug)]
pub(super) struct Boot {
    // Dropped in this order: QEMU ends before its files are gone.
    listener: Listener,
    interrupt: Interrupt,
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
    /// Turns it on.
    pub(super) fn start(
        options: &Options,
        accelerator: Accelerator,
        commands: &[Vec<String>],
    ) -> Result<Self> {
        let labels = accelerator.labels().iter().map(|&label| label.to_owned()).collect();
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
        let start = Timestamp::now();
        let mut qemu = machine.start()?;
        Ok(Self {
            start,
            interrupt: Interrupt::through(qemu.take_input()),
            listener: Listener::new(qemu),
            _image: image,
            accelerator,
            console: Tail::default(),
            up: false,
            ends: Vec::new(),
        })
    }

    /// Hears it out.
    pub(super) fn follow(
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
                        if self.take(frame, options, hear) == Next::Over {
                            return Ok(self.outcome());
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
                match self.interrupt.step(self.up, Timestamp::now()) {
                    Step::Wait => {}
                    Step::End => return Ok(self.outcome()),
                    Step::GiveUp => {
                        hear(Event::Remark(IGNORED));
                        return Ok(self.outcome());
                    }
                }
            }
            self.look_at_the_clock(options, monitor)?;
        }
    }

    fn take(&mut self, frame: Frame, options: &Options, hear: &mut dyn FnMut(Event<'_>)) -> Next {
        match frame {
            Frame::Greeting(build) => {
                self.up = true;
                hear(Event::Up { after: Timestamp::now().since(self.start) });
                if let Some(remark) = other_build(options.build.as_deref(), build.as_deref()) {
                    hear(Event::Remark(&remark));
                }
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
            Accelerator::Tcg | Accelerator::Icount => BOOT,
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

    fn outcome(self) -> Outcome {
        let interrupted = self.interrupt.was_wanted();
        Outcome { ends: self.ends, accelerator: self.accelerator, interrupted }
    }
}

/// What to say of a guest that is another build of unjank, if both are known.
fn other_build(this: Option<&str>, guest: Option<&str>) -> Option<String> {
    let (this, guest) = this.zip(guest).filter(|(this, guest)| this != guest)?;
    let guest: String = guest.chars().take(LONGEST_BUILD).collect();
    Some(format!("its unjank is of another build ({guest}; this one is {this})"))
}

/// The kernel's command line.
fn parameters(options: &Options) -> String {
    // The guest brings the other CPUs up when the kernel has changed its code. What is no
    // parameter of the kernel is a variable of init's environment.
    let mut parameters =
        format!("console=ttyS0 panic=-1 maxcpus=1 rdinit=/bin/unjank LD_LIBRARY_PATH={LIBRARIES}");
    parameters.push_str(if options.talkative { " ignore_loglevel" } else { " quiet" });
    if let Some(profile) = &options.profile {
        // A processor of the host's kind may have a driver of its own.
        parameters.push_str(" intel_pstate=disable amd_pstate=disable cpufreq.default_governor=");
        parameters.push_str(&profile.governor);
    }
    parameters + " -- lab init"
}

/// The record with the labels of the machine that it was measured on, whatever
/// the guest thinks of that.
fn labelled(text: String, accelerator: Accelerator) -> String {
    let Ok(mut record) = serde_json::from_str::<Value>(&text) else {
        // No record; whoever keeps it will say so.
        return text;
    };
    let Some(object) = record.as_object_mut() else { return text };
    let labels = object.entry("labels").or_insert_with(|| Value::Array(Vec::new()));
    let Some(labels) = labels.as_array_mut() else { return text };
    let missing: Vec<Value> = accelerator
        .labels()
        .iter()
        .filter(|&wanted| labels.iter().all(|label| label != wanted))
        .map(|&wanted| wanted.into())
        .collect();
    if missing.is_empty() {
        return text;
    }
    labels.extend(missing);
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
        assert_eq!(
            label(r#"{"labels":["emulated"]}"#, Accelerator::Icount),
            r#"{"labels":["emulated","icount"]}"#
        );
    }

    #[test]
    fn a_guest_of_another_build_is_told_where_both_are_known() {
        assert_eq!(
            other_build(Some("1.0.0 of b"), Some("1.0.0 of a")).unwrap(),
            "its unjank is of another build (1.0.0 of a; this one is 1.0.0 of b)"
        );
        assert!(other_build(Some("b"), Some(&"a".repeat(1_000))).unwrap().len() < 200);
        for (this, guest) in [(Some("a"), Some("a")), (Some("a"), None), (None, Some("a"))] {
            assert_eq!(other_build(this, guest), None);
        }
    }
}
