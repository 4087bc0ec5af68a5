//! CPUs that share a clock, with their governor.

use unjank_host::{Joules, Nanos};

use super::{Machine, tick_from};
use crate::model::clock::{Clock, Khz};
use crate::model::governor::{CpuActivity, Governor, NEVER, TaskChange};
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
        let activity = CpuActivity { now: self.now, busy: &self.busy, running: self.running };
        self.governor.start(&activity, &mut self.clock);
        self.plan();
    }

    /// The frequency in kilohertz.
    pub(super) fn khz(&self) -> u32 {
        self.clock.current().0
    }

    /// The governor's next tick.
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

    pub(super) fn switch(&mut self, cpu: usize, switch: TaskChange) {
        let bit = 1 << cpu;
        self.running = if switch.tasks() > 0 { self.running | bit } else { self.running & !bit };
        let activity = CpuActivity { now: self.now, busy: &self.busy, running: self.running };
        self.governor.on_task_change(&activity, cpu, switch, &mut self.clock);
        self.plan();
    }

    /// A task came or left, and the CPU stays busy or idle.
    pub(super) fn poke(&mut self, cpu: usize) {
        let tasks = (self.running >> cpu & 1) as u32;
        self.switch(cpu, TaskChange::Came(tasks));
    }

    /// The CPU is busy or idle from now on, without a call of the governor.
    pub(super) fn account(&mut self, cpu: usize, busy: bool) {
        let bit = 1 << cpu;
        self.running = if busy { self.running | bit } else { self.running & !bit };
        self.plan();
    }

    /// The time from which the governor acts on a call.
    pub(super) fn due(&self) -> Nanos {
        self.governor.due(u64::MAX)
    }

    /// A call requests an evaluation.
    pub(super) fn request_evaluation(&mut self) {
        self.governor.request_evaluation(self.now);
        self.plan();
    }

    /// The governor evaluates the load, as requested before.
    pub(super) fn evaluate(&mut self) {
        let activity = CpuActivity { now: self.now, busy: &self.busy, running: self.running };
        self.governor.evaluate(&activity, &mut self.clock);
        self.plan();
    }

    /// Starts again at another frequency.
    pub(super) fn begin_at(&mut self, khz: Khz) {
        self.clock.begin_at(khz);
        self.start();
    }

    pub(super) fn write(&mut self, write: Write, now: Nanos) -> Result<(), Refused> {
        let activity = CpuActivity { now, busy: &self.busy, running: self.running };
        let done = self.governor.write(write, &activity, &mut self.clock);
        self.plan();
        done
    }

    pub(super) fn tick(&mut self) {
        self.last_tick = Some(self.now);
        let activity = CpuActivity { now: self.now, busy: &self.busy, running: self.running };
        self.governor.on_tick(&activity, &mut self.clock);
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

    /// Plans the next tick: never in the past, nor twice at the same tick.
    fn plan(&mut self) {
        let due = self.governor.due(self.running);
        let mut next = tick_from(due.max(self.now), self.tick);
        if next != NEVER && self.last_tick.is_some_and(|last| next <= last) {
            next = next + self.tick;
        }
        self.next_tick = next;
    }
}
