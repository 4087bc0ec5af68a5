//! The apps in their control group, and the one to kill.

use std::io::BufReader;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Stdio};

use rustix::process::Signal;
use unjank_host::cgroup::memory::MemoryGroup;
use unjank_host::memory::page_size;
use unjank_host::process::{Helper, HelperCommand};
use unjank_host::{Bytes, Error, Result, Root};

use super::app::Setup;
use super::message::{self, Done, Touch};
use super::plan::{Plan, SYSTEM};

/// The apps. They end when this is dropped.
pub(super) struct Stage<'a> {
    plan: &'a Plan<'a>,
    command: &'a HelperCommand,
    group: MemoryGroup,
    file: PathBuf,
    pinned: Bytes,
    /// Apps that live; the services are the first.
    actors: Vec<Option<Actor>>,
    /// Apps that live, the one that was launched longest ago first.
    order: Vec<usize>,
    /// Apps that the kernel has killed.
    buried: u64,
}

/// A process that touches its pages.
struct Actor {
    /// Dropped first: its process ends with its input.
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    process: Helper,
}

impl<'a> Stage<'a> {
    /// A stage with the services. `file` is the file that all share; its path must stay valid.
    pub(super) fn new(
        plan: &'a Plan<'a>,
        command: &'a HelperCommand,
        group: MemoryGroup,
        file: PathBuf,
        pinned: Bytes,
    ) -> Result<Self> {
        let actors = (0..plan.actors()).map(|_| None).collect();
        let mut stage =
            Self { plan, command, group, file, pinned, actors, order: Vec::new(), buried: 0 };
        stage.start(SYSTEM)?;
        Ok(stage)
    }

    /// Sets the memory that all have together: `memory` for pages of the plan, and what each
    /// process needs besides, which the services show before their first touch.
    pub(super) fn limit(&mut self, memory: Bytes) -> Result<Bytes> {
        self.touch(SYSTEM, &[])?;
        let each = self.group.anonymous()?.get();
        let limit = Bytes(memory.get() + each * self.plan.actors() as u64);
        self.group.set_limit(limit)?;
        Ok(limit)
    }

    /// Brings an app to the front. Returns whether it has to start.
    pub(super) fn launch(&mut self, actor: usize) -> Result<bool> {
        self.order.retain(|other| *other != actor);
        self.order.push(actor);
        let starts = self.actors[actor].is_none();
        if starts {
            self.start(actor)?;
        }
        Ok(starts)
    }

    /// Whether an app lives. The kernel may have killed it: without swap, memory can run out between
    /// two looks.
    pub(super) fn is_alive(&mut self, actor: usize) -> bool {
        let ended = self.actors[actor].as_mut().is_some_and(|app| app.process.ended().is_some());
        if ended {
            self.bury(actor);
        }
        self.actors[actor].is_some()
    }

    /// How many apps the kernel has killed.
    pub(super) fn killed_by_kernel(&self) -> u64 {
        self.buried
    }

    fn bury(&mut self, actor: usize) {
        self.actors[actor] = None;
        self.order.retain(|other| *other != actor);
        self.buried += 1;
    }

    /// Has one app touch its pages; `None` if it does not live, or is killed meanwhile.
    pub(super) fn touch(&mut self, actor: usize, touches: &[Touch]) -> Result<Option<Done>> {
        let Some(app) = &mut self.actors[actor] else { return Ok(None) };
        let done = message::send_touches(&mut app.input, touches)
            .and_then(|()| message::receive_done(&mut app.output));
        let error = match done {
            Ok(done) => return Ok(Some(done)),
            Err(error) => error,
        };
        let ended = app.process.wait()?;
        if ended.signal() == Some(Signal::KILL.as_raw()) {
            self.bury(actor);
            return Ok(None);
        }
        let name = self.plan.name(actor);
        Err(Error::Unsupported(format!("{name} ended ({ended}; {error})")))
    }

    /// Kills the app that was launched longest ago, but not `front`, while less than `free` of
    /// `limit` is not anonymous memory. Returns how many were killed.
    pub(super) fn make_room(&mut self, limit: Bytes, free: Bytes, front: usize) -> Result<u64> {
        let mut killed = 0;
        while self.group.anonymous()?.get().saturating_add(free.get()) > limit.get() {
            let Some(place) = self.order.iter().position(|actor| *actor != front) else { break };
            let oldest = self.order.remove(place);
            // Dropping it waits for its end, and so for its memory.
            self.actors[oldest] = None;
            killed += 1;
        }
        Ok(killed)
    }

    fn start(&mut self, actor: usize) -> Result<()> {
        let is_app = actor != SYSTEM;
        let pinned = if is_app { self.pinned.get() / page_size().get() } else { 0 };
        let setup = Setup {
            pages: self.plan.pages[actor],
            pinned: u32::try_from(pinned).unwrap_or(u32::MAX),
            file: self.file.clone(),
            file_pages: self.plan.file_pages,
        };
        let mut command = self.command.with_arguments(setup.arguments());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        self.group.enter(&mut command)?;
        let mut process = Helper::start_tied(&mut command)?;
        let input = process.take_input();
        let (output, _) = process.take_output();
        let (Some(input), Some(output)) = (input, output) else {
            return Err(Error::Unsupported("an app has no pipes".to_owned()));
        };
        if is_app {
            // If the kernel has to choose, it chooses an app, as on a phone.
            let path = format!("/proc/{}/oom_score_adj", process.id());
            Root::system().write(path, "900")?;
        }
        self.actors[actor] = Some(Actor { input, output: BufReader::new(output), process });
        Ok(())
    }
}
