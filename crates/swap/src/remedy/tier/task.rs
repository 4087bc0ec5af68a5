//! What the processes of a tier do.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use unjank_host::machine::swap;
use unjank_host::process::outlive_owner;
use unjank_host::ublk::path_of;
use unjank_host::{Error, ErrorClass, Result, Root, swap_switch};

use super::directory::TierDirectory;
use super::event::Event;
use super::helper::{Helpers, Task};
use super::lock::{HeldTier, Part, SupervisorLock};
use super::published::Published;
use super::settings::Settings;
use super::supervisor::Supervisor;
use super::{failure, process, room};

/// The time between two tries to look at a tier.
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

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
        Task::TurnOn => turn(directory, |path, settings| turn_on(directory, path, settings))
            .map(|()| answered()),
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
        until_visible(&held)?;
        Supervisor::over(held, helpers, &voice.say)?.take_down()
    };
    // Nobody may wait for the answer any more.
    rescue().inspect_err(|error| (voice.say)(&Event::NotTakenDown(error.to_string())))
}

/// Waits until the driver and the files of the tier can be used, unless they never will be: nobody
/// else looks after the tier any more.
fn until_visible(tier: &HeldTier) -> Result<()> {
    loop {
        match tier.directory.settings().and_then(|_| process::open_control()) {
            Err(error) if error.class() == ErrorClass::Other => thread::sleep(BETWEEN_TRIES),
            looked => return looked.map(drop),
        }
    }
}

/// Turns the area on. The kernel gives it the lowest number that is free, and lists all areas by
/// their numbers: those before it have all lower ones.
fn turn_on(directory: &TierDirectory, path: &Path, settings: &Settings) -> Result<()> {
    swap_switch::turn_on(path, settings.priority, true)?;
    let areas = swap::paths(&Root::system())?;
    let number = areas.iter().position(|area| room::is_at(area, path));
    if let Some(number) = number.and_then(|number| u8::try_from(number).ok()) {
        Published::set_area(&directory.counts()?, number);
    }
    Ok(())
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
