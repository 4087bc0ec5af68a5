//! CPUs that share a clock, with their governor.

use unjank_host::{Joules, Nanos};

use super::{Machine, tick_from};
use crate::model::clock::{Clock, Khz};
use crate::model::governor::{Governor, NEVER, Seen, Switch};
use crate::model::opp::OppTable;
use crate::model::tunable::{Refused, Write};

pub(super) struct Domain {
    governor: Governor,
    clock: Clock,
    tick: Nanos,
    now: Nanos,
    busy: Box<[Nanos]>,
    running: u64,
    /// Busy and idle CPU time at each frequency since the launch began.
    spent: Box<[[Nanos; 2]]>,
    last_tick: Option<Nanos>,
    next_tick: Nanos,
}

impl Domain {
    pub(super) fn new(machine: &Machine, governor: Governor) -> Self {
        let clock = Clock::new(&machine.table, machine.ties);
        let mut domain = Self {
            governor,
            tick: machine.tick,
            now: Nanos::ZERO,
            busy: vec![Nanos::ZERO; machine.cpus_of_a_clock()].into(),
            running: 0,
            spent: vec![[Nanos::ZERO; 2]; clock.table().len()].into(),
            clock,
            last_tick: None,
            next_tick: NEVER,
        };
        domain.start();
        domain
    }

    fn start(&mut self) {
        let seen = Seen { now: self.now, busy: &self.busy, running: self.running };
        self.governor.start(&seen, &mut self.clock);
        self.plan();
    }

    /// The frequency in kilohertz.
    pub(super) fn khz(&self) -> u32 {
        self.clock.current().0
    }

    /// The tick at which the governor looks next.
    pub(super) fn next_tick(&self) -> Nanos {
        self.next_tick
    }

    pub(super) fn samples(&self) -> u64 {
        self.governor.samples()
    }

    pub(super) fn advance(&mut self, to: Nanos, passed: Nanos) {
        self.now = to;
        let [busy, idle] = &mut self.spent[self.clock.index()];
        for (index, sum) in self.busy.iter_mut().enumerate() {
            if self.running >> index & 1 == 1 {
                *sum = *sum + passed;
                *busy = *busy + passed;
            } else {
                *idle = *idle + passed;
            }
        }
    }

    pub(super) fn switch(&mut self, cpu: usize, switch: Switch) {
        let bit = 1 << cpu;
        self.running = if switch.tasks() > 0 { self.running | bit } else { self.running & !bit };
        let seen = Seen { now: self.now, busy: &self.busy, running: self.running };
        self.governor.on_switch(&seen, cpu, switch, &mut self.clock);
        self.plan();
    }

    /// A task came or went, and the CPU is as busy or idle as before.
    pub(super) fn poke(&mut self, cpu: usize) {
        let tasks = (self.running >> cpu & 1) as u32;
        self.switch(cpu, Switch::Came(tasks));
    }

    /// The CPU is busy or idle from now on, and the scheduler tells nobody.
    pub(super) fn account(&mut self, cpu: usize, busy: bool) {
        let bit = 1 << cpu;
        self.running = if busy { self.running | bit } else { self.running & !bit };
        self.plan();
    }

    /// From when on the governor takes a call.
    pub(super) fn due(&self) -> Nanos {
        self.governor.due(u64::MAX)
    }

    /// A call has asked the governor to look.
    pub(super) fn ask(&mut self) {
        self.governor.ask(self.now);
        self.plan();
    }

    /// The governor looks, having been asked to.
    pub(super) fn look(&mut self) {
        let seen = Seen { now: self.now, busy: &self.busy, running: self.running };
        self.governor.look(&seen, &mut self.clock);
        self.plan();
    }

    /// Begins at another frequency.
    pub(super) fn begin_at(&mut self, khz: Khz) {
        self.clock.begin_at(khz);
        self.start();
    }

    pub(super) fn write(&mut self, write: Write, now: Nanos) -> Result<(), Refused> {
        let seen = Seen { now, busy: &self.busy, running: self.running };
        let done = self.governor.write(write, &seen, &mut self.clock);
        self.plan();
        done
    }

    pub(super) fn tick(&mut self) {
        self.last_tick = Some(self.now);
        let seen = Seen { now: self.now, busy: &self.busy, running: self.running };
        self.governor.on_tick(&seen, &mut self.clock);
        self.plan();
    }

    pub(super) fn forget_energy(&mut self) {
        self.spent.fill([Nanos::ZERO; 2]);
    }

    pub(super) fn energy(&self, table: &OppTable) -> Joules {
        let spent = self.spent.iter().zip(table.points());
        spent.fold(Joules::default(), |sum, ([busy, idle], point)| {
            sum + table.cpu_energy(point.frequency, *busy, *idle)
        })
    }

    /// No governor is called twice at one tick, and none in the past.
    fn plan(&mut self) {
        let due = self.governor.due(self.running);
        let mut next = tick_from(due.max(self.now), self.tick);
        if next != NEVER && self.last_tick.is_some_and(|last| next <= last) {
            next = next + self.tick;
        }
        self.next_tick = next;
    }
}
