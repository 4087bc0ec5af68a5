//! Simulates a launch from event to event: tasks run, the governor evaluates the
//! load, the clock changes, and the tasks run faster.
//!
//! | module | subject |
//! |---|---|
//! | `threads` | the steps of each thread, and its CPU |
//! | `domain` | CPUs that share a clock, with their governor |
//! | [`simulated`] | the result: time, energy, transitions |
//! | [`phases`] | the same launch at every moment of the governor's period |
//! | [`replay`] | a governor under an observed load |
//! | [`evaluation_timing`] | whether a governor evaluates the load when its rule says |
//!
//! Steps allocate no memory, except for the list of transitions if that is kept.

mod domain;
pub mod evaluation_timing;
pub mod phases;
pub mod replay;
pub mod simulated;
#[cfg(test)]
mod tests;
mod threads;

use unjank_host::Nanos;

use crate::model::boost::Boost;
use crate::model::clock::Ties;
use crate::model::governor::{Governor, NEVER, TaskChange};
use crate::model::opp::OppTable;
use crate::model::profile::Profile;
use crate::model::tunable::{Refused, Write};

use domain::Domain;
use threads::Threads;

pub use phases::{Phases, over_phases};
pub use simulated::{Simulated, Transition};

/// Longer launches are given up.
const LONGEST: Nanos = Nanos(600_000_000_000);

/// The simulated device: its frequencies and powers, CPUs and tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Frequencies and powers.
    pub table: OppTable,
    /// Number of CPUs, at most 64.
    pub cpus: usize,
    /// Whether they share one clock.
    pub shared: bool,
    /// The length of a tick: 1/HZ.
    pub tick: Nanos,
    /// Choice of the kernel between two equally close frequencies.
    pub ties: Ties,
}

impl Machine {
    /// Number of CPUs of one clock, which a governor sees.
    pub fn cpus_of_a_clock(&self) -> usize {
        if self.shared { self.cpus } else { 1 }
    }
}

/// A launch to simulate.
#[derive(Debug, Clone)]
pub struct Launch<'a> {
    /// The device on which the app is launched.
    pub machine: &'a Machine,
    /// Its governor, before the launch.
    pub governor: &'a Governor,
    /// The tasks of the launch and its background.
    pub profile: &'a Profile,
    /// The writes of a service.
    pub boost: &'a Boost,
    /// Delay of the launch after the profile's lead: its moment within the
    /// governor's period.
    pub phase: Nanos,
    /// Whether transitions are kept.
    pub record: bool,
}

impl Launch<'_> {
    /// Checks that the governor accepts every write of the boost.
    ///
    /// # Errors
    /// The first that it refuses.
    pub fn check(&self) -> Result<(), Refused> {
        let mut domain = Domain::new(self.machine, self.governor.clone());
        let on = self.boost.on.iter().map(|(_, write)| write);
        on.chain(&self.boost.off).try_for_each(|write| domain.write(*write, Nanos::ZERO))
    }

    /// Simulates it. A launch of more than ten minutes has no length.
    pub fn run(&self) -> Simulated {
        Simulation::new(self).run()
    }
}

struct Simulation<'a> {
    launch: &'a Launch<'a>,
    now: Nanos,
    begins: Nanos,
    over: Option<Nanos>,
    threads: Threads<'a>,
    domains: Vec<Domain>,
    /// The index of the boost's next write, and whether it was undone.
    on: usize,
    off: bool,
    simulated: Simulated,
}

impl<'a> Simulation<'a> {
    fn new(launch: &'a Launch<'a>) -> Self {
        let machine = launch.machine;
        let size = machine.cpus_of_a_clock();
        let domains = (0..machine.cpus / size)
            .map(|_| Domain::new(machine, launch.governor.clone()))
            .collect();
        let begins = launch.profile.lead + launch.phase;
        let fastest = machine.table.highest().0 / 1_000;
        Self {
            launch,
            now: Nanos::ZERO,
            begins,
            over: None,
            threads: Threads::new(launch.profile, machine.cpus, begins, fastest),
            domains,
            on: 0,
            off: false,
            simulated: Simulated::default(),
        }
    }

    fn run(mut self) -> Simulated {
        let mut counting = false;
        loop {
            let next = self.next();
            self.advance(next);
            if !counting && self.now >= self.begins {
                counting = true;
                self.domains.iter_mut().for_each(Domain::forget_energy);
            }
            self.switch();
            self.write();
            self.tick();
            let end = self.over.map_or(LONGEST, |over| over + self.launch.profile.tail);
            if self.now >= end {
                break;
            }
        }
        self.finish()
    }

    /// The next moment at which something happens.
    fn next(&self) -> Nanos {
        let mut next = self.over.map_or(LONGEST, |over| over + self.launch.profile.tail);
        if self.now < self.begins {
            next = next.min(self.begins);
        }
        if let Some((offset, _)) = self.launch.boost.on.get(self.on) {
            next = next.min(self.begins + *offset);
        }
        if let Some(over) = self.over.filter(|_| !self.off) {
            next = next.min(over + self.launch.boost.after);
        }
        for domain in &self.domains {
            next = next.min(domain.next_tick());
        }
        let size = self.launch.machine.cpus_of_a_clock();
        let domains = &self.domains;
        next.min(self.threads.next(self.now, |cpu| domains[cpu / size].khz())).max(self.now)
    }

    fn advance(&mut self, to: Nanos) {
        let passed = to - self.now;
        if passed == Nanos::ZERO {
            return;
        }
        self.now = to;
        let size = self.launch.machine.cpus_of_a_clock();
        let domains = &self.domains;
        self.threads.advance(passed, |cpu| domains[cpu / size].khz());
        for domain in &mut self.domains {
            domain.advance(to, passed);
        }
    }

    /// Threads that have finished a step begin the next.
    fn switch(&mut self) {
        let size = self.launch.machine.cpus_of_a_clock();
        while let Some((cpu, switch)) = self.threads.change(self.now) {
            let domain = &mut self.domains[cpu / size];
            let before = domain.khz();
            domain.switch(cpu % size, switch);
            self.note(cpu / size, before);
        }
        if self.over.is_none() && self.threads.launch_is_over() {
            self.over = Some(self.now);
        }
    }

    /// The service's writes.
    fn write(&mut self) {
        while let Some((offset, write)) = self.launch.boost.on.get(self.on) {
            if self.begins + *offset > self.now {
                break;
            }
            self.on += 1;
            // If the launch ended first, the boost is undone already.
            if !self.off {
                self.write_all(*write);
            }
        }
        if let Some(over) = self.over
            && !self.off
            && self.now >= over + self.launch.boost.after
        {
            self.off = true;
            for write in &self.launch.boost.off {
                self.write_all(*write);
            }
        }
    }

    fn write_all(&mut self, write: Write) {
        for index in 0..self.domains.len() {
            let before = self.domains[index].khz();
            // Refused writes change nothing; `check` reports them beforehand.
            let _ = self.domains[index].write(write, self.now);
            self.note(index, before);
        }
    }

    fn tick(&mut self) {
        for index in 0..self.domains.len() {
            if self.domains[index].next_tick() <= self.now {
                let before = self.domains[index].khz();
                self.domains[index].tick();
                self.note(index, before);
            }
        }
    }

    fn note(&mut self, domain: usize, before: u32) {
        let khz = self.domains[domain].khz();
        if khz != before {
            self.simulated.changes += 1;
            if self.launch.record {
                self.simulated.transitions.push(Transition::new(self.now, domain, khz));
            }
        }
    }

    fn finish(mut self) -> Simulated {
        let table = &self.launch.machine.table;
        let length = self.now - self.begins;
        self.simulated.begins = self.begins;
        self.simulated.launch = self.over.map(|over| over - self.begins);
        self.simulated.length = length;
        for domain in &self.domains {
            self.simulated.cpu = self.simulated.cpu + domain.energy(table);
            self.simulated.samples += domain.samples();
        }
        self.simulated.rest = table.rest.over(length);
        self.simulated
    }
}

/// The first tick at or after `moment`.
fn tick_from(moment: Nanos, tick: Nanos) -> Nanos {
    if moment == NEVER { NEVER } else { tick.times(moment.0.div_ceil(tick.0)) }
}

impl TaskChange {
    /// The number of tasks now.
    fn tasks(self) -> u32 {
        let (Self::Came(tasks) | Self::Left(tasks)) = self;
        tasks
    }
}
