//! What the processes of a tier do.

use std::io;
use std::path::Path;

use unjank_host::process::outlive_owner;
use unjank_host::ublk::path_of;
use unjank_host::{Error, Result, swap_switch};

use super::directory::{Part, SupervisorLock, TierDirectory};
use super::event::Event;
use super::helper::{Helpers, Task};
use super::settings::Settings;
use super::supervisor::Supervisor;
use super::{failure, process};

/// How a helper reports.
#[derive(Debug, Clone, Copy)]
pub struct Voice {
    /// Answers the supervisor: one line.
    pub answer: fn(&str),
    /// Tells the user. Must not wait.
    pub say: fn(&Event),
    /// Ends the process at once.
    pub fatal: fn(&Error) -> !,
}

/// Performs a task, in a process of its own.
///
/// # Errors
/// Why it failed, which the supervisor, or the user, has been told.
pub fn run(task: Task, directory: &TierDirectory, helpers: &Helpers, voice: Voice) -> Result<()> {
    let answered = || (voice.answer)(&failure::line(Ok(())));
    let done = match task {
        Task::Serve => process::serve(directory, answered, voice.fatal),
        Task::Keep => keep(directory, helpers, voice),
        Task::TurnOn => {
            turn(directory, |path, settings| swap_switch::turn_on(path, settings.priority, true))
                .map(|()| answered())
        }
        Task::TurnOff => {
            turn(directory, |path, _| swap_switch::turn_off(path)).map(|()| answered())
        }
    };
    if let Err(error) = &done {
        (voice.answer)(&failure::line(Err(error)));
    }
    done
}

/// Waits for the supervisor's end, and takes down what it has left.
fn keep(directory: &TierDirectory, helpers: &Helpers, voice: Voice) -> Result<()> {
    outlive_owner(c"unjank-keeper");
    // Before it waits: its pages are needed when nothing comes back from the tier.
    let _locked = process::never_wait_for_reclaim()?;
    let lock = directory.lock()?;
    (voice.answer)(&failure::line(Ok(())));
    let Some(held) = lock.map_or(Ok(None), SupervisorLock::wait)? else { return Ok(()) };
    let rescue = || {
        (voice.say)(&Event::CutOff);
        Supervisor::over(held, helpers, &voice.say)?.take_down()
    };
    // Nobody may wait for the answer any more.
    rescue().inspect_err(|error| (voice.say)(&Event::NotTakenDown(error.to_string())))
}

fn turn(directory: &TierDirectory, turn: impl Fn(&Path, &Settings) -> Result<()>) -> Result<()> {
    let gone = || Error::Busy("the tier is gone, or its area is turned on or off".to_owned());
    let _part = directory.take_part(Part::Use)?.ok_or_else(gone)?;
    let settings = directory.settings()?.ok_or_else(gone)?;
    let found = process::open_control()?.find(settings.mark)?.ok_or_else(gone)?;
    loop {
        match turn(&path_of(found.id), &settings) {
            // The end of the ring of `open_control` counts as a signal for swapoff(2).
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::Interrupted => {}
            turned => return turned,
        }
    }
}
