//! The states of one thread, packed: 16 bytes for each, and 16 more for a sleep whose wait or
//! wake-up is known.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

use super::origin::{Armed, Cause, InterruptId, Origin, RequestId};
use super::span::{Span, State};
use super::wait::{Carrier, Wait, Wake};

/// The states of a thread in order of time. Each begins where the one before
/// ends.
#[derive(Debug, Clone, Default)]
pub struct Spans {
    begun: Vec<Begun>,
    /// The end of the last one.
    end: Timestamp,
    sleeps: Vec<Sleep>,
    /// The calls and faults in which it slept.
    waits: Vec<Wait>,
    /// The armings of the timers that ended sleeps.
    armed: Vec<Armed>,
    /// The deliveries of packets that ended sleeps, each with the index of its sleep in `sleeps`,
    /// in ascending order.
    carriers: Vec<(u32, Carrier)>,
}

/// The beginning of a span. A sleep ends with its wake-up, so the time of the wake-up is not
/// stored.
#[derive(Debug, Clone, Copy)]
struct Begun {
    at: Timestamp,
    state: Packed,
}

/// A state. The number of a CPU fits in 32 bits.
#[derive(Debug, Clone, Copy)]
enum Packed {
    Running(u32),
    Woken(u32),
    Ready(u32),
    /// Asleep: the index of the wait and the wake-up in `sleeps`.
    Asleep(u32),
    /// Asleep, without a wake-up and without anything known of the wait.
    Unknown,
    /// Events were lost, so that the state is not known.
    Lost,
}

/// What is known of a sleep.
#[derive(Debug, Clone, Copy)]
struct Sleep {
    /// The place in `waits` counted from 1; 0 for an unknown wait.
    wait: u32,
    /// The waker's system call, or [`NO_CALL`].
    during: i32,
    by: By,
}

/// The origin of the wake-up that ended a sleep.
#[derive(Debug, Clone, Copy)]
enum By {
    Nobody,
    Thread(u32),
    /// A thread that was about to exit.
    Exiting(u32),
    /// A thread that the sleeper joined, and whether its exit event came before the wake-up.
    Joined(u32, bool),
    Timer,
    /// A timer, and the index of its arming in `armed`.
    ArmedTimer(u32),
    Storage(u32),
    StorageOfOld,
    Network,
    Device(u32),
    Unknown,
}

/// The number that stands for no system call, as in the kernel.
const NO_CALL: i32 = -1;

impl Spans {
    /// The number of spans.
    pub fn len(&self) -> usize {
        self.begun.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// The beginning of the first span.
    pub fn begin(&self) -> Option<Timestamp> {
        self.begun.first().map(|first| first.at)
    }

    /// The end of the last span.
    pub fn end(&self) -> Option<Timestamp> {
        (!self.is_empty()).then_some(self.end)
    }

    /// The span with this number.
    pub fn get(&self, number: usize) -> Option<Span> {
        let begun = self.begun.get(number)?;
        let to = self.begin_of(number + 1);
        Some(Span { from: begun.at, to, state: self.state(begun.state, to) })
    }

    /// The span that begins last; `None` without spans.
    pub fn last(&self) -> Option<Span> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All spans.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Span> + Clone {
        (0..self.len()).filter_map(|number| self.get(number))
    }

    /// The number of spans that begin before a moment.
    pub fn begun_before(&self, moment: Timestamp) -> usize {
        self.begun.partition_point(|begun| begun.at < moment)
    }

    /// The number of spans that begin at a moment or before it.
    pub fn begun_by(&self, moment: Timestamp) -> usize {
        self.begun.partition_point(|begun| begun.at <= moment)
    }

    /// The number of spans that end at a moment or before it.
    pub fn ended_by(&self, moment: Timestamp) -> usize {
        if self.end <= moment {
            return self.len();
        }
        self.begun_by(moment).saturating_sub(1)
    }

    /// The beginning of the span with this number; for numbers after the last span, its end.
    pub fn begin_of(&self, number: usize) -> Timestamp {
        self.begun.get(number).map_or(self.end, |begun| begun.at)
    }

    /// Adds a span that ends at `to`. It begins at the end of the span before, the first one at
    /// `from`. It must not be empty. If it has a wake-up, that must be at `to`.
    pub(super) fn push(&mut self, from: Timestamp, to: Timestamp, state: &State) {
        let at = self.end().unwrap_or(from);
        let state = match *state {
            State::Running { cpu } => Packed::Running(number(cpu)),
            State::Woken { cpu } => Packed::Woken(number(cpu)),
            State::Ready { cpu } => Packed::Ready(number(cpu)),
            State::Asleep { wait: Wait::Unknown, wake: None } => Packed::Unknown,
            State::Asleep { wait: Wait::Lost, .. } => Packed::Lost,
            State::Asleep { wait, wake } => {
                let place = self.sleeps.len() as u32;
                let sleep = self.sleep(place, wait, wake.as_ref());
                self.sleeps.push(sleep);
                Packed::Asleep(place)
            }
        };
        self.begun.push(Begun { at, state });
        self.end = to;
    }

    fn sleep(&mut self, place: u32, wait: Wait, wake: Option<&Wake>) -> Sleep {
        let wait = match wait {
            Wait::Unknown | Wait::Lost => 0,
            Wait::Stopped | Wait::Call { .. } | Wait::KernelLock { .. } | Wait::Fault { .. } => {
                self.waits.push(wait);
                self.waits.len() as u32
            }
        };
        let Some(wake) = wake else {
            return Sleep { wait, during: NO_CALL, by: By::Nobody };
        };
        self.carriers.extend(wake.carrier.map(|carrier| (place, carrier)));
        let by = match wake.by {
            Origin::Thread(thread) if wake.joined => By::Joined(thread.0, wake.exiting),
            Origin::Thread(thread) if wake.exiting => By::Exiting(thread.0),
            Origin::Thread(thread) => By::Thread(thread.0),
            Origin::Interrupt(Cause::Timer(None)) => By::Timer,
            Origin::Interrupt(Cause::Timer(Some(armed))) => {
                self.armed.push(armed);
                By::ArmedTimer(self.armed.len() as u32 - 1)
            }
            Origin::Interrupt(Cause::Storage(request)) => By::Storage(request.0),
            Origin::Interrupt(Cause::StorageOfOld) => By::StorageOfOld,
            Origin::Interrupt(Cause::Network) => By::Network,
            Origin::Interrupt(Cause::Device(interrupt)) => By::Device(interrupt.0),
            Origin::Interrupt(Cause::Unknown) => By::Unknown,
        };
        Sleep { wait, during: wake.during.unwrap_or(NO_CALL), by }
    }

    /// The state of a span that ends at `to`.
    fn state(&self, state: Packed, to: Timestamp) -> State {
        match state {
            Packed::Running(cpu) => State::Running { cpu: cpu as usize },
            Packed::Woken(cpu) => State::Woken { cpu: cpu as usize },
            Packed::Ready(cpu) => State::Ready { cpu: cpu as usize },
            Packed::Unknown => State::Asleep { wait: Wait::Unknown, wake: None },
            Packed::Lost => State::Asleep { wait: Wait::Lost, wake: None },
            Packed::Asleep(place) => {
                let sleep = self.sleeps[place as usize];
                let wait = match sleep.wait {
                    0 => Wait::Unknown,
                    number => self.waits[number as usize - 1],
                };
                State::Asleep { wait, wake: self.wake(place, &sleep, to) }
            }
        }
    }

    fn wake(&self, place: u32, sleep: &Sleep, at: Timestamp) -> Option<Wake> {
        let by = match sleep.by {
            By::Nobody => return None,
            By::Thread(thread) | By::Exiting(thread) | By::Joined(thread, _) => {
                Origin::Thread(ThreadId(thread))
            }
            By::Timer => Origin::Interrupt(Cause::Timer(None)),
            By::ArmedTimer(place) => {
                Origin::Interrupt(Cause::Timer(Some(self.armed[place as usize])))
            }
            By::Storage(request) => Origin::Interrupt(Cause::Storage(RequestId(request))),
            By::StorageOfOld => Origin::Interrupt(Cause::StorageOfOld),
            By::Network => Origin::Interrupt(Cause::Network),
            By::Device(interrupt) => Origin::Interrupt(Cause::Device(InterruptId(interrupt))),
            By::Unknown => Origin::Interrupt(Cause::Unknown),
        };
        let carrier = self.carriers.binary_search_by_key(&place, |(of, _)| *of);
        Some(Wake {
            at,
            by,
            during: (sleep.during != NO_CALL).then_some(sleep.during),
            exiting: matches!(sleep.by, By::Exiting(_) | By::Joined(_, true)),
            joined: matches!(sleep.by, By::Joined(..)),
            carrier: carrier.ok().map(|carrier| self.carriers[carrier].1),
        })
    }

    /// Frees the room that no span uses.
    pub(super) fn shrink(&mut self) {
        self.begun.shrink_to_fit();
        self.sleeps.shrink_to_fit();
        self.waits.shrink_to_fit();
        self.armed.shrink_to_fit();
        self.carriers.shrink_to_fit();
    }
}

fn number(cpu: usize) -> u32 {
    u32::try_from(cpu).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use unjank_host::block_device::DeviceNumber;
    use unjank_host::inode::FileId;
    use unjank_host::tracefs::script::at;

    use super::*;

    fn wake(nanos: u64, by: Origin) -> Wake {
        Wake { at: at(nanos), by, during: None, exiting: false, joined: false, carrier: None }
    }

    fn states() -> Vec<State> {
        let call = Wait::Call { number: 202, arguments: [u64::MAX, 1] };
        let carrier = Some(Carrier { sent: at(35), thread: ThreadId(9) });
        let sent = wake(40, Origin::Thread(ThreadId(u32::MAX)));
        let sent = Wake { during: Some(1), exiting: true, carrier, ..sent };
        let asleep = |wait, wake| State::Asleep { wait, wake: Some(wake) };
        let interrupt = |nanos, cause| wake(nanos, Origin::Interrupt(cause));
        let file = Some(FileId { device: DeviceNumber::new(8, 1), inode: u64::MAX });
        let armed = |thread, nanos| Some(Armed { by: ThreadId(thread), at: at(nanos) });
        vec![
            State::Running { cpu: 0 },
            State::Ready { cpu: 8191 },
            State::Asleep { wait: call, wake: None },
            asleep(call, sent),
            asleep(
                Wait::Fault { address: 7, file: None },
                interrupt(50, Cause::Storage(RequestId(3))),
            ),
            asleep(Wait::Unknown, interrupt(60, Cause::Device(InterruptId(4)))),
            State::Asleep { wait: Wait::Unknown, wake: None },
            State::Asleep { wait: Wait::Lost, wake: None },
            asleep(Wait::Unknown, interrupt(90, Cause::Timer(None))),
            asleep(Wait::Unknown, interrupt(100, Cause::StorageOfOld)),
            asleep(Wait::Unknown, interrupt(110, Cause::Network)),
            asleep(Wait::Unknown, interrupt(120, Cause::Unknown)),
            asleep(call, interrupt(130, Cause::Timer(armed(9, 85)))),
            State::Woken { cpu: 4 },
            State::Woken { cpu: 8191 },
            asleep(Wait::Fault { address: 8, file }, interrupt(160, Cause::Timer(armed(5, 95)))),
        ]
    }

    #[test]
    fn spans_come_back_as_they_were() {
        let (mut spans, mut expected) = (Spans::default(), Vec::new());
        for (state, from) in states().into_iter().zip((0..).step_by(10)) {
            let (from, to) = (at(from), at(from + 10));
            spans.push(from, to, &state);
            expected.push(Span { from, to, state });
        }
        spans.shrink();
        assert_eq!(spans.iter().collect::<Vec<_>>(), expected);
        assert_eq!((spans.len(), spans.get(16)), (16, None));
        assert_eq!((spans.begin(), spans.end()), (Some(at(0)), Some(at(160))));
    }

    #[test]
    fn spans_are_counted_by_their_begins_and_ends() {
        let mut spans = Spans::default();
        assert_eq!((spans.begun_before(at(5)), spans.ended_by(at(5))), (0, 0));
        for from in [10, 20, 30] {
            spans.push(at(from), at(from + 10), &State::Running { cpu: 0 });
        }
        let begun = [10, 11, 20, 21, 99].map(|nanos| spans.begun_before(at(nanos)));
        assert_eq!(begun, [0, 1, 1, 2, 3]);
        let ended = [0, 19, 20, 39, 40].map(|nanos| spans.ended_by(at(nanos)));
        assert_eq!(ended, [0, 0, 1, 2, 3]);
    }

    #[test]
    fn a_span_takes_16_bytes_and_a_sleep_as_many_more() {
        assert_eq!((size_of::<Begun>(), size_of::<Sleep>()), (16, 16));
    }
}
