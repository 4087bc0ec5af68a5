//! Looks after a tier: keeps a server running, and takes the tier down.
//!
//! The supervisor never touches the device itself, nor has a page in its swap area: whatever waits
//! for the device is a [helper](super::helper), and goes on when there is a server again.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use unjank_host::memory::MemoryLock;
use unjank_host::process::{ProcessEnd, ignore_stops};
use unjank_host::ublk::{Control, Found, State, path_of};
use unjank_host::wait::until_readable;
use unjank_host::{Bytes, Error, Nanos, Result, Root, Timestamp};

use super::event::Event;
use super::helper::{Helpers, Started, Task};
use super::lock::{HeldTier, Part};
use super::server::PAGE;
use super::settings::Settings;
use super::{backing, process, room};

/// The time after which everything is looked at again, even if nothing has happened.
const LOOK: Nanos = Nanos::from_millis(500);
/// The same while something is about to happen that no event tells.
const SOON: Nanos = Nanos::from_millis(10);
/// The time after the first failed start of a server until the next one. It doubles, up to [`LOOK`].
const FIRST_PAUSE: Nanos = Nanos::from_millis(20);

/// The supervisor of a tier.
pub struct Supervisor<'a> {
    tier: HeldTier,
    settings: Option<Settings>,
    control: Option<Control>,
    helpers: &'a Helpers,
    say: &'a dyn Fn(&Event),
    /// A server that has not answered yet.
    starting: Option<Started>,
    server: Option<Started>,
    keeper: Option<Started>,
    /// Failed starts since the last success, and when to try again.
    failures: u32,
    retry_at: Option<Timestamp>,
    /// The last failure that was said.
    said: Option<String>,
    /// Whether no server has begun yet. No page depends on the tier then, and every error is final.
    is_new: bool,
    _locked: MemoryLock,
}

/// What a round has found.
#[derive(Debug)]
struct Round<const N: usize> {
    /// Which of the others are readable.
    others: [bool; N],
    /// The device, while it is served.
    served: Option<Found>,
}

impl<'a> Supervisor<'a> {
    /// A supervisor over what another one has left of a tier.
    ///
    /// # Errors
    /// A privilege is missing; the tier's files, or its device, are not visible to this process.
    pub fn over(tier: HeldTier, helpers: &'a Helpers, say: &'a dyn Fn(&Event)) -> Result<Self> {
        let settings = tier.directory.settings()?;
        let control = settings.is_some().then(process::open_control).transpose()?;
        Ok(Self {
            tier,
            settings,
            control,
            helpers,
            say,
            starting: None,
            server: None,
            keeper: None,
            failures: 0,
            retry_at: None,
            said: None,
            is_new: false,
            _locked: process::never_wait_for_reclaim()?,
        })
    }

    /// Makes a tier of these settings, and looks after it until `asked` is readable or another
    /// process requests its end. Then, or if it fails, takes it down.
    ///
    /// # Errors
    /// Why the tier could not be made.
    pub fn run(
        all: &Path,
        settings: &Settings,
        (helpers, say): (&'a Helpers, &'a dyn Fn(&Event)),
        asked: BorrowedFd<'_>,
    ) -> Result<()> {
        process::open_control()?;
        // A supervisor that does not run replaces no server, and the shell that could let it go on
        // may wait for a page.
        ignore_stops();
        let _locked = process::never_wait_for_reclaim()?;
        let tier = HeldTier::make(all)?;
        let keeper = helpers.start(Task::Keep, &tier.directory).and_then(|mut keeper| {
            keeper.answer()?;
            Ok(keeper)
        });
        let keeper = match keeper {
            Ok(keeper) => keeper,
            Err(error) => {
                tier.remove()?;
                return Err(error);
            }
        };
        let made = tier.fill(settings).and_then(|()| prepare(settings, say, asked));
        let mut supervisor = Self::over(tier, helpers, say)?;
        (supervisor.keeper, supervisor.is_new) = (Some(keeper), true);
        let ended = made.and_then(|()| supervisor.until_asked(asked));
        let down = supervisor.take_down();
        ended.and(down)
    }

    fn until_asked(&mut self, asked: BorrowedFd<'_>) -> Result<()> {
        let device = loop {
            match self.round([asked], None)? {
                Round { others: [true], .. } => return Ok(()),
                _ if self.tier.directory.is_down_requested() => return Ok(()),
                Round { served: Some(device), .. } => break path_of(device.id),
                _ => {}
            }
        };
        self.perform(Task::TurnOn)?;
        (self.say)(&Event::Up(device));
        while let Round { others: [false], .. } = self.round([asked], None)?
            && !self.tier.directory.is_down_requested()
        {}
        Ok(())
    }

    /// Has a helper turn the area on or off, and keeps a server running meanwhile.
    fn perform(&mut self, task: Task) -> Result<()> {
        let mut helper = self.helpers.start(task, &self.tier.directory)?;
        let answered = helper.as_fd().try_clone_to_owned();
        let answered = answered.map_err(|error| Error::syscall("dup", "a pipe", error))?;
        while let Round { others: [false], .. } = self.round([answered.as_fd()], None)? {}
        let answer = helper.answer();
        helper.reap();
        answer
    }

    /// Starts a server if there is none, and waits for an event: one of `others` is readable,
    /// something has happened to the server, or it is `until`, at most [`LOOK`]. Once pages may
    /// depend on the tier, an error is only a reason to try again.
    fn round<const N: usize>(
        &mut self,
        others: [BorrowedFd<'_>; N],
        until: Option<Timestamp>,
    ) -> Result<Round<N>> {
        match self.try_round(others, until) {
            Err(error) if !self.is_new => {
                self.fail(&error);
                let (others, _) = wait(others, None, Timestamp::now() + LOOK)?;
                Ok(Round { others, served: None })
            }
            round => round,
        }
    }

    fn try_round<const N: usize>(
        &mut self,
        others: [BorrowedFd<'_>; N],
        until: Option<Timestamp>,
    ) -> Result<Round<N>> {
        let now = Timestamp::now();
        let until = until.unwrap_or(now + LOOK).min(now + LOOK);
        if let Some(starting) = &self.starting {
            let (others, answered) = wait(others, Some(starting.as_fd()), until)?;
            if answered {
                self.take_answer()?;
            }
            return Ok(Round { others, served: None });
        }
        let found = self.find()?;
        if let Some(Found { state: State::Live { server }, .. }) = found
            && let Some(end) = ProcessEnd::of(server)?.filter(|end| !end.has_come())
        {
            self.keep_the_keeper();
            let (others, _) = wait(others, Some(end.as_fd()), until)?;
            return Ok(Round { others, served: found });
        }
        let is_served = self.tier.directory.is_taken(Part::Server)?;
        let is_over = matches!(found, Some(Found { state: State::Live { .. }, .. }));
        let until = match self.retry_at {
            // A server of a former supervisor is about to start, or one is about to end.
            _ if is_served || is_over => until.min(now + SOON),
            Some(at) if at > now => until.min(at),
            _ => {
                self.start_server(found)?;
                now
            }
        };
        let (others, _) = wait(others, None, until)?;
        Ok(Round { others, served: None })
    }

    fn find(&mut self) -> Result<Option<Found>> {
        match (&mut self.control, &self.settings) {
            (Some(control), Some(settings)) => control.find(settings.mark),
            _ => Ok(None),
        }
    }

    fn start_server(&mut self, found: Option<Found>) -> Result<()> {
        if let Some(server) = self.server.take() {
            server.reap();
        }
        // A server that ended before the start of its device.
        if let (Some(Found { id, state: State::NotStarted }), Some(control)) =
            (found, &mut self.control)
        {
            control.remove(id)?;
        }
        self.starting = Some(self.helpers.start(Task::Serve, &self.tier.directory)?);
        Ok(())
    }

    /// Takes the answer of a server that was started.
    fn take_answer(&mut self) -> Result<()> {
        let Some(mut server) = self.starting.take() else { return Ok(()) };
        if let Err(error) = server.answer() {
            server.reap();
            let pause = FIRST_PAUSE.get() << self.failures.min(10);
            self.failures += 1;
            self.retry_at = Some(Timestamp::now() + Nanos(pause).min(LOOK));
            return Err(error);
        }
        if !std::mem::take(&mut self.is_new) {
            (self.say)(&Event::Replaced);
        }
        (self.failures, self.retry_at, self.said) = (0, None, None);
        self.server = Some(server);
        Ok(())
    }

    /// Says a failure, once.
    fn fail(&mut self, error: &Error) {
        let why = error.to_string();
        if self.said.as_ref() != Some(&why) {
            (self.say)(&Event::Failed(why.clone()));
            self.said = Some(why);
        }
    }

    /// Starts another keeper if this one was killed. It is not waited for.
    fn keep_the_keeper(&mut self) {
        if let Some(keeper) = &mut self.keeper
            && !keeper.runs()
            && let Ok(another) = self.helpers.start(Task::Keep, &self.tier.directory)
        {
            *keeper = another;
        }
    }

    /// Brings all pages back into memory, removes the device and everything else. Waits until there
    /// is memory enough.
    ///
    /// # Errors
    /// The kernel's error, if no page depends on the tier. It stays as it is then, and can be taken
    /// down later.
    pub fn take_down(mut self) -> Result<()> {
        let (mut is_short, may_fail) = (false, self.is_new);
        loop {
            match self.step_down(&mut is_short) {
                Ok(Some(part)) => return self.clear(part),
                Ok(None) => {}
                Err(error) if may_fail => return Err(error),
                Err(error) => {
                    self.fail(&error);
                    self.round([], None)?;
                }
            }
        }
    }

    /// A step of taking down. When nothing is left to do with the device, returns the part of the
    /// server, so that none can begin any more.
    fn step_down(&mut self, is_short: &mut bool) -> Result<Option<File>> {
        let directory = self.tier.directory.clone();
        let server_part = directory.take_part(Part::Server)?;
        let Found { id, state } = match (self.find()?, server_part.is_some()) {
            (None, true) if self.starting.is_none() => return Ok(server_part),
            (None, _) => return self.let_server_end(),
            (Some(found), _) => found,
        };
        let no_device = || Error::Busy("the device of the tier is gone".to_owned());
        if state == State::NotStarted {
            if server_part.is_none() || self.starting.is_some() {
                return self.let_server_end();
            }
            self.control.as_mut().ok_or_else(no_device)?.remove(id)?;
            return Ok(None);
        }
        drop(server_part);
        let Some(use_part) = directory.take_part(Part::Use)? else {
            // A helper of a former supervisor needs a server.
            self.round([], Some(Timestamp::now() + SOON))?;
            return Ok(None);
        };
        match room::look(&Root::system(), &path_of(id))? {
            // Nobody can turn it on meanwhile.
            None => self.control.as_mut().ok_or_else(no_device)?.stop(id)?,
            Some((_, Bytes(0))) => {
                drop(use_part);
                *is_short = false;
                self.perform(Task::TurnOff)?;
            }
            Some((_, missing)) => {
                drop(use_part);
                if !std::mem::replace(is_short, true) {
                    (self.say)(&Event::Short(missing));
                }
                self.round([], None)?;
            }
        }
        Ok(None)
    }

    /// Waits for a server that is about to end, or to get its device.
    fn let_server_end(&mut self) -> Result<Option<File>> {
        wait([], None, Timestamp::now() + SOON)?;
        if let Some(starting) = &mut self.starting
            && !starting.runs()
        {
            self.starting = None;
        }
        Ok(None)
    }

    /// Removes the files, when there is no device any more.
    fn clear(self, _server_part: File) -> Result<()> {
        if let Some(server) = self.server {
            server.reap();
        }
        if let Some(settings) = &self.settings {
            for backing in settings.fast.iter().chain([&settings.slow]) {
                if let Err(error) = backing::give_back(backing, settings.mark) {
                    (self.say)(&Event::Left(error.to_string()));
                }
            }
        }
        self.tier.remove()?;
        if let Some(keeper) = self.keeper {
            // It waits for the lock, and would find nothing.
            keeper.kill();
        }
        if !self.is_new {
            (self.say)(&Event::Down);
        }
        Ok(())
    }
}

/// Makes and marks the backings.
fn prepare(settings: &Settings, say: &dyn Fn(&Event), asked: BorrowedFd<'_>) -> Result<()> {
    let is_asked = || {
        let asked = until_readable([Some(asked)], Some(Timestamp::now()));
        asked.is_ok_and(|[asked]| asked)
    };
    let fast = settings.fast.iter().map(|fast| (fast, settings.frames + 1));
    for (backing, pages) in fast.chain([(&settings.slow, settings.slots)]) {
        if backing.is_ours {
            let size = Bytes(u64::from(pages) * PAGE);
            say(&Event::Making(backing.path.clone(), size));
        }
        backing::prepare(backing, pages, settings.mark, &is_asked)?;
    }
    Ok(())
}

/// Waits for one of `others` or `mine`, at most until `until`.
fn wait<const N: usize>(
    others: [BorrowedFd<'_>; N],
    mine: Option<BorrowedFd<'_>>,
    until: Timestamp,
) -> Result<([bool; N], bool)> {
    const MOST: usize = 2;
    let mut all = [None; MOST];
    for (place, other) in all.iter_mut().zip(others) {
        *place = Some(other);
    }
    all[MOST - 1] = mine;
    let ready = until_readable(all, Some(until))?;
    Ok((std::array::from_fn(|number| ready[number]), ready[MOST - 1]))
}
