//! One run of an arm.

use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use unjank_host::cgroup::memory::MemoryGroup;
use unjank_host::journal::Session;
use unjank_host::memory::page_size;
use unjank_host::storage::ScratchFile;
use unjank_host::{Bytes, Error, Nanos, Result, Root, Support, Timestamp};

use super::arm::Arm;
use super::message::{Kind, Touch};
use super::options::{Options, Programs};
use super::plan::{Plan, SYSTEM, Step};
use super::skew;
use super::stage::Stage;
use super::surroundings::{Surroundings, Traffic};

/// What all runs share.
pub(super) struct Place<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) options: &'a Options,
    pub(super) programs: &'a Programs,
    pub(super) session: &'a Session,
    pub(super) root: &'a Root,
}

/// What one run of an arm has measured.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    /// The launches, in their order.
    pub(super) launches: Vec<Launched>,
    /// Pages that went to and from swap.
    pub(super) traffic: Traffic,
    /// Touches that waited for a page of an app, and for one of a file.
    pub(super) waited: [u64; 2],
    /// Such touches of the hottest tenth of the pages that had any, and all of them.
    pub(super) hottest: (u64, u64),
    /// Apps that were killed, and launches of apps that had been killed.
    pub(super) killed: [u64; 2],
    /// The memory that zram took at the end, if there was any.
    pub(super) zram: Option<Bytes>,
    /// The memory of all apps together, with what their processes need besides.
    pub(super) limit: Bytes,
}

/// A launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launched {
    pub(super) actor: usize,
    /// Its number among the launches of its app, from 0.
    pub(super) round: usize,
    /// Whether the app had to start.
    pub(super) starts: bool,
    /// The time that the app waited for its touches, and that it took to start.
    pub(super) time: Nanos,
}

impl Place<'_> {
    /// Runs `arm`; `None` if the user interrupted it. `No` if this machine cannot.
    pub(super) fn run(
        &self,
        arm: Arm,
        tell: &dyn Fn(f64),
        is_over: &dyn Fn() -> bool,
    ) -> Result<Support<Option<Measured>>> {
        tell(0.0);
        let directory = &self.options.directory;
        let file = match ScratchFile::create(directory).map_err(Error::of_named_file)? {
            Support::Yes(file) => file,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let file = self.fill(file, is_over)?;
        let own: u64 = self.plan.pages.iter().copied().map(u64::from).sum();
        // A quarter more: a page that came back may keep its place in swap.
        let size = Bytes((own + own / 4) * page_size().get() + (64 << 20));
        let memory = self.options.memory_in(arm)?;
        let pinned = self.options.pinned;
        let group = match MemoryGroup::make(self.session, self.root, Bytes(1 << 40))? {
            Support::Yes(group) => group,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        group.set_swappiness(self.options.swappiness)?;
        let set_up =
            Surroundings::new(arm, size, self.options, self.programs, self.session, self.root)?;
        // Dropped after the stage: no app is left when pages are brought back.
        let surroundings = match set_up {
            Support::Yes(surroundings) => surroundings,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.file().as_raw_fd());
        let path = PathBuf::from(path);
        let mut stage = Stage::new(self.plan, &self.programs.app, group, path, pinned)?;
        let limit = stage.limit(memory)?;
        let mut running = Running::new(self.plan, limit, self.options, arm);
        let before = surroundings.traffic()?;
        let launches = self.plan.launches().max(1);
        for step in self.plan.steps() {
            if is_over() {
                return Ok(Support::Yes(None));
            }
            if matches!(step, Step::Launch(_)) {
                tell(running.measured.launches.len() as f64 / launches as f64);
            }
            running.step(&mut stage, step)?;
        }
        let mut measured = running.finish();
        measured.killed[0] += stage.killed_by_kernel();
        measured.traffic = surroundings.traffic()?.since(before);
        measured.zram = surroundings.memory_of_zram()?;
        measured.limit = limit;
        drop(stage);
        Ok(Support::Yes(Some(measured)))
    }

    /// Gives the file of all apps its pages, and evicts them.
    fn fill(&self, mut file: ScratchFile, is_over: &dyn Fn() -> bool) -> Result<ScratchFile> {
        const CHUNK: u32 = 256;
        let page = page_size().get() as usize;
        let mut left = self.plan.file_pages.max(1);
        let mut chunk = vec![0_u8; page * CHUNK as usize];
        while left > 0 && !is_over() {
            let pages = left.min(CHUNK);
            for byte in &mut chunk {
                *byte = byte.wrapping_mul(5).wrapping_add(left as u8);
            }
            file.append(&chunk[..page * pages as usize])?;
            left -= pages;
        }
        file.evict()?;
        Ok(file)
    }
}

/// A run of an arm.
struct Running<'a> {
    plan: &'a Plan<'a>,
    limit: Bytes,
    minfree: Bytes,
    pinned: Bytes,
    arm: Arm,
    /// The app that was launched last.
    front: usize,
    /// How often each page was waited for: first those of apps, then those of files.
    waits: Vec<Vec<u32>>,
    rounds: Vec<usize>,
    measured: Measured,
}

impl<'a> Running<'a> {
    fn new(plan: &'a Plan<'a>, limit: Bytes, options: &Options, arm: Arm) -> Self {
        let files = std::iter::once(plan.file_pages);
        let waits = plan.pages.iter().copied().chain(files);
        Self {
            plan,
            limit,
            minfree: options.minfree,
            pinned: options.pinned,
            arm,
            front: SYSTEM,
            waits: waits.map(|pages| vec![0; pages as usize]).collect(),
            rounds: vec![0; plan.actors()],
            measured: Measured::default(),
        }
    }

    fn step(&mut self, stage: &mut Stage<'_>, step: Step) -> Result<()> {
        match step {
            Step::Launch(actor) => {
                self.front = actor;
                if !stage.is_alive(actor) {
                    // What it pins comes at once.
                    self.make_room(stage, self.pinned)?;
                }
                let began = Timestamp::now();
                let starts = stage.launch(actor)?;
                let round = self.rounds[actor];
                self.rounds[actor] += 1;
                if starts {
                    // The first answer comes when its memory is there.
                    stage.touch(actor, &[])?;
                }
                let time = if starts { Timestamp::now().since(began) } else { Nanos::ZERO };
                self.measured.launches.push(Launched { actor, round, starts, time });
                if starts && round > 0 {
                    self.measured.killed[1] += 1;
                    for touches in self.plan.start(actor) {
                        self.touch(stage, actor, true, &touches)?;
                    }
                }
                Ok(())
            }
            Step::Touches { actor, launching, touches } => {
                self.touch(stage, actor, launching, &touches)
            }
        }
    }

    fn touch(
        &mut self,
        stage: &mut Stage<'_>,
        actor: usize,
        launching: bool,
        touches: &[Touch],
    ) -> Result<()> {
        let page = page_size().get();
        self.make_room(stage, Bytes(touches.len() as u64 * page))?;
        // A dead app does nothing in the background.
        if !stage.is_alive(actor) && actor != self.front {
            return Ok(());
        }
        let done = match stage.touch(actor, touches)? {
            Some(done) => done,
            None if actor == SYSTEM => return Err(self.killed(actor)),
            // The kernel was faster than the bench, which makes room, and starts it once more.
            None => {
                self.make_room(stage, Bytes(self.limit.get() / 8))?;
                stage.launch(actor)?;
                self.measured.killed[1] += 1;
                for again in self.plan.start(actor) {
                    stage.touch(actor, &again)?;
                }
                stage.touch(actor, touches)?.ok_or_else(|| self.killed(actor))?
            }
        };
        if launching && let Some(launch) = self.measured.launches.last_mut() {
            launch.time = launch.time + done.taken;
        }
        for touch in done.waited {
            let is_of_file = matches!(touch.kind, Kind::ReadFile | Kind::WriteFile);
            self.measured.waited[usize::from(is_of_file)] += 1;
            let files = self.waits.len() - 1;
            let place = if is_of_file { files } else { actor };
            self.waits[place][touch.page as usize] += 1;
        }
        Ok(())
    }

    fn killed(&self, actor: usize) -> Error {
        Error::Unsupported(format!(
            "the kernel killed {}: there is no room for it in memory and swap",
            self.plan.name(actor)
        ))
    }

    /// Without swap: kills apps until there is room for `more`.
    fn make_room(&mut self, stage: &mut Stage<'_>, more: Bytes) -> Result<()> {
        if !self.arm.swaps() {
            let free = Bytes(self.minfree.get() + more.get());
            self.measured.killed[0] += stage.make_room(self.limit, free, self.front)?;
        }
        Ok(())
    }

    fn finish(self) -> Measured {
        let hottest = skew::hottest_tenth(self.waits.into_iter().flatten());
        Measured { hottest, ..self.measured }
    }
}
