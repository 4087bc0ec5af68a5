//! One boot, from power-on to the end of the last command.

use std::time::Duration;

use serde_json::Value;
use unjank_host::{Nanos, Timestamp};
use unjank_measure::Monitor;

use super::event::Event;
use super::image::{Image, LIBRARIES};
use super::interrupt::{IGNORED, Interrupt, Step};
use super::listen::{Listener, Output};
use super::options::Options;
use super::result::RunResult;
use crate::channel::{Decoder, End, Frame};
use crate::error::{Error, Result};
use crate::qemu::{Accelerator, KVM_GAVE_UP, Machine};
use crate::tail::Tail;

/// The phase before the guest's greeting.
pub(super) const BOOTING: &str = "booting";
/// The phase after it.
pub(super) const RUNNING: &str = "running its commands";

/// How often limits and stop requests are checked.
const LOOK: Duration = Duration::from_millis(50);
/// Time limit for the greeting. Translated, a boot takes 30 s on a slow
/// machine, and minutes on one that is also busy.
const BOOT: Nanos = Nanos::from_millis(1_200_000);
/// The same with KVM, where a boot takes a second or two. A boot that hangs is
/// ended, and emulated instead.
pub(super) const BOOT_KVM: Nanos = Nanos::from_millis(60_000);
/// The usual length of a boot in seconds, for the progress bar.
const USUAL_BOOT: f64 = 10.0;
/// The name of a guest's build is cut to this length.
const LONGEST_BUILD: usize = 80;

/// A kernel that has crashed ends the phone at once, instead of going on with locks that nobody
/// releases.
const AT_A_CRASH: &str = "panic=-1 oops=panic";

/// Functions with which a kernel prepares what no phone uses: BPF's types, keys of modules, and a
/// source of random numbers where the processor has none. An emulator takes seconds for them.
const NOT_NEEDED: [&str; 4] = [
    "bpf_tcp_ca_kfunc_init",
    "bpf_dummy_struct_ops_init",
    "load_system_certificate_list",
    "jent_mod_init",
];

/// A running phone.
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

/// Whether more frames follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    Over,
}

impl Boot {
    /// Starts QEMU.
    pub(super) fn start(
        options: &Options,
        accelerator: Accelerator,
        commands: &[Vec<String>],
    ) -> Result<Self> {
        let image = Image::build(options, commands, accelerator)?;
        let machine = Machine {
            architecture: options.architecture,
            accelerator,
            cpus: options.cpus,
            memory: options.memory,
            kernel: &image.kernel,
            initramfs: &image.initramfs,
            table: image.table.as_deref(),
            disk: image.disk.as_deref(),
            parameters: &parameters(options, accelerator),
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

    /// Handles the phone's output until it ends.
    pub(super) fn follow(
        mut self,
        options: &Options,
        monitor: &dyn Monitor,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<RunResult> {
        let mut decoder = Decoder::default();
        loop {
            match self.listener.next(LOOK) {
                Output::Channel(bytes) => {
                    decoder.push(&bytes);
                    while let Some(frame) = decoder.next_frame()? {
                        if self.take(frame, options, on_event) == Next::Over {
                            return Ok(self.result());
                        }
                    }
                }
                Output::Console(bytes) => {
                    on_event(Event::Console(&bytes));
                    self.console.push(&bytes);
                    if !self.up && self.console.contains(KVM_GAVE_UP) {
                        return Err(self.ended());
                    }
                }
                Output::Nothing => {}
                Output::End => return Err(self.ended()),
            }
            if monitor.stop_requested() {
                match self.interrupt.step(self.up, Timestamp::now()) {
                    Step::Wait => {}
                    Step::End => return Ok(self.result()),
                    Step::GiveUp => {
                        on_event(Event::Remark(IGNORED));
                        return Ok(self.result());
                    }
                }
            }
            self.check_time(options, monitor)?;
        }
    }

    fn take(
        &mut self,
        frame: Frame,
        options: &Options,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Next {
        match frame {
            Frame::Greeting(build) => {
                self.up = true;
                on_event(Event::Up { after: Timestamp::now().since(self.start) });
                if let Some(remark) = other_build(options.build.as_deref(), build.as_deref()) {
                    on_event(Event::Remark(&remark));
                }
            }
            Frame::Stdout(bytes) => on_event(Event::Stdout(&bytes)),
            Frame::Stderr(bytes) => on_event(Event::Stderr(&bytes)),
            Frame::Ended(end) => {
                self.ends.push(end);
                on_event(Event::Ended(end));
            }
            Frame::Record(text) => on_event(Event::Record(&labelled(text, self.accelerator))),
            Frame::Remark(text) => on_event(Event::Remark(&text)),
            Frame::Done => return Next::Over,
        }
        Next::More
    }

    /// Reports the progress of a boot, and enforces the time limits.
    fn check_time(&mut self, options: &Options, monitor: &dyn Monitor) -> Result<()> {
        let after = Timestamp::now().since(self.start);
        let boot_limit = match self.accelerator {
            Accelerator::Kvm => BOOT_KVM,
            Accelerator::Tcg | Accelerator::Icount(_) => BOOT,
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

    fn result(self) -> RunResult {
        let interrupted = self.interrupt.was_wanted();
        RunResult { ends: self.ends, accelerator: self.accelerator, interrupted }
    }
}

/// A remark if the guest's build of unjank differs from this one and both are
/// known.
fn other_build(this: Option<&str>, guest: Option<&str>) -> Option<String> {
    let (this, guest) = this.zip(guest).filter(|(this, guest)| this != guest)?;
    let guest: String = guest.chars().take(LONGEST_BUILD).collect();
    Some(format!("its unjank is of another build ({guest}; this one is {this})"))
}

/// The kernel's command line.
fn parameters(options: &Options, accelerator: Accelerator) -> String {
    // The guest brings up the other CPUs after the kernel has patched its own
    // code. Parameters unknown to the kernel become variables of init's
    // environment.
    let mut parameters = format!(
        "console={} {AT_A_CRASH} maxcpus=1 rdinit=/bin/unjank LD_LIBRARY_PATH={LIBRARIES}",
        options.architecture.console()
    );
    parameters.push_str(if options.verbose { " ignore_loglevel" } else { " quiet" });
    if accelerator != Accelerator::Kvm {
        // The emulator does not speculate. Separate page tables would have it translate
        // addresses anew after each system call.
        parameters.push_str(" mitigations=off cryptomgr.notests initcall_blacklist=");
        parameters.push_str(&NOT_NEEDED.join(","));
    }
    if let Some(profile) = &options.profile {
        // A processor like the host's may have a driver of its own.
        parameters.push_str(" intel_pstate=disable amd_pstate=disable cpufreq.default_governor=");
        parameters.push_str(&profile.governor);
    }
    parameters + " -- lab init"
}

/// The record with the labels of the accelerator, whatever labels the guest has
/// given it.
fn labelled(text: String, accelerator: Accelerator) -> String {
    let Ok(mut record) = serde_json::from_str::<Value>(&text) else {
        // Not a record; storing it will fail with the reason.
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
    use crate::qemu::InstructionTime;

    #[test]
    fn a_record_is_labelled_once() {
        let label = |text: &str, accelerator| labelled(text.to_owned(), accelerator);
        let tcg = |text| label(text, Accelerator::Tcg);
        assert_eq!(tcg(r#"{"id":"x"}"#), r#"{"id":"x","labels":["emulated"]}"#);
        assert_eq!(tcg(r#"{"labels":["a"]}"#), r#"{"labels":["a","emulated"]}"#);
        for same in [r#"{ "labels": ["emulated"] }"#, "not a record", "[1]", r#"{"labels":1}"#] {
            assert_eq!(tcg(same), same);
        }
        assert_eq!(label("{}", Accelerator::Kvm), "{}");
        let time = InstructionTime::new(Nanos(2)).unwrap();
        assert_eq!(
            label(r#"{"labels":["emulated"]}"#, Accelerator::Icount(time)),
            r#"{"labels":["emulated","icount"]}"#
        );
    }

    #[test]
    fn a_guest_of_another_build_is_reported_if_both_are_known() {
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
