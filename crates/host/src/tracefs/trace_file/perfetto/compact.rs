//! `FtraceEventBundle.CompactSched`: switches and wake-ups of one CPU as columns of numbers, which
//! is how phones record them.

use super::super::fault::Fault;
use super::super::limits::Budget;
use super::wire::{Fields, Malformed};
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use crate::tracefs::event::{Context, PrevState, Task};
use crate::tracefs::name::Comm;

/// A switch or a wake-up. The thread that had the CPU is not recorded: it is the one of the switch
/// before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compact {
    Switch { at: Timestamp, prev_state: PrevState, next: Task },
    Waking { at: Timestamp, context: Context, task: Task, cpu: usize },
}

impl Compact {
    pub(super) fn at(&self) -> Timestamp {
        match *self {
            Self::Switch { at, .. } | Self::Waking { at, .. } => at,
        }
    }
}

/// The columns, by their field numbers; kept for the next bundle, so that their memory is.
#[derive(Debug, Default)]
pub(super) struct Columns([Vec<u64>; FIELDS]);

const FIELDS: usize = 13;
/// The largest message that is read, in bytes. Real ones have some kilobytes.
const LARGEST: usize = 4 << 20;
const SWITCH_AT: usize = 1;
const PREV_STATE: usize = 2;
const NEXT_PID: usize = 3;
const NEXT_PRIO: usize = 4;
const NAMES: u32 = 5;
const NEXT_COMM: usize = 6;
const WAKING_AT: usize = 7;
const WAKING_PID: usize = 8;
const WAKING_CPU: usize = 9;
const WAKING_PRIO: usize = 10;
const WAKING_COMM: usize = 11;
const WAKING_FLAGS: usize = 12;

impl Columns {
    /// The events of a message, in order of time, if the budget has room for them.
    pub(super) fn events(
        &mut self,
        message: &[u8],
        budget: &mut Budget,
    ) -> Result<Result<Vec<Compact>, Malformed>, Fault> {
        let events = self.decode(message);
        budget.spend_events(events.as_ref().map_or(0, Vec::len))?;
        Ok(events)
    }

    fn decode(&mut self, message: &[u8]) -> Result<Vec<Compact>, Malformed> {
        if message.len() > LARGEST {
            return Err(Malformed);
        }
        self.0.iter_mut().for_each(Vec::clear);
        let mut names = Vec::new();
        for field in Fields::of(message) {
            match field? {
                (NAMES, value) => names.push(Comm::new(value.bytes()?)),
                (number, value) => {
                    if let Some(column) = self.0.get_mut(number as usize) {
                        value.append_to(column)?;
                    }
                }
            }
        }
        let switches = self.rows([SWITCH_AT, PREV_STATE, NEXT_PID, NEXT_PRIO, NEXT_COMM])?;
        let wakings = self.rows([WAKING_AT, WAKING_PID, WAKING_CPU, WAKING_PRIO, WAKING_COMM])?;
        // Older versions do not record flags.
        let flags = &self.0[WAKING_FLAGS];
        if !flags.is_empty() && flags.len() != self.0[WAKING_AT].len() {
            return Err(Malformed);
        }
        let task = |pid: u64, prio: u64, comm: u64| {
            let comm = usize::try_from(comm).ok().and_then(|comm| names.get(comm));
            let comm = *comm.ok_or(Malformed)?;
            Ok(Task { tid: ThreadId(pid as u32), comm, prio: prio as i32 })
        };
        let mut now = 0_u64;
        let mut switches = switches.map(|[step, state, pid, prio, comm]| {
            now = now.wrapping_add(step);
            Ok(Compact::Switch {
                at: Timestamp::from_nanos(now),
                prev_state: PrevState::of_bits(state.cast_signed()),
                next: task(pid, prio, comm)?,
            })
        });
        let mut now = 0_u64;
        let mut wakings = wakings.enumerate().map(|(row, [step, pid, cpu, prio, comm])| {
            now = now.wrapping_add(step);
            let flags = flags.get(row).copied().unwrap_or_default();
            Ok(Compact::Waking {
                at: Timestamp::from_nanos(now),
                context: Context::of_flags(flags.cast_signed()),
                task: task(pid, prio, comm)?,
                cpu: usize::try_from(cpu).map_err(|_| Malformed)?,
            })
        });
        let mut events = Vec::with_capacity(self.0[SWITCH_AT].len() + self.0[WAKING_AT].len());
        let mut next = (switches.next().transpose()?, wakings.next().transpose()?);
        // Of equal times, the wake-up is first: a thread wakes others before it leaves the CPU.
        loop {
            match next {
                (Some(switch), Some(waking)) if switch.at() < waking.at() => {
                    events.push(switch);
                    next.0 = switches.next().transpose()?;
                }
                (_, Some(waking)) => {
                    events.push(waking);
                    next.1 = wakings.next().transpose()?;
                }
                (Some(switch), None) => {
                    events.push(switch);
                    next.0 = switches.next().transpose()?;
                }
                (None, None) => return Ok(events),
            }
        }
    }

    /// The rows of some columns, which have equal lengths.
    fn rows<const N: usize>(
        &self,
        columns: [usize; N],
    ) -> Result<impl Iterator<Item = [u64; N]>, Malformed> {
        let columns = columns.map(|column| self.0[column].as_slice());
        let rows = columns.first().map_or(0, |first| first.len());
        if columns.iter().any(|column| column.len() != rows) {
            return Err(Malformed);
        }
        Ok((0..rows).map(move |row| columns.map(|column| column[row])))
    }
}
