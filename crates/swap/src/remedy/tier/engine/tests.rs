//! Random requests, ends of transfers, failures and deaths, in any order, on simulated backings.

use std::num::NonZeroU64;
use std::sync::Arc;

use proptest::prelude::*;
use unjank_cachesim::tier::TierPolicy;
use unjank_host::memory::SharedRegion;

use super::*;
use crate::remedy::policy::{self, Identity};

const SLOTS: Slot = 6;
const FRAMES: Frame = 4;
/// The policy's tier: two frames are in reserve.
const KEPT: Frame = 2;
/// The data of a page in the middle of a write.
const TORN: u32 = u32::MAX;

/// What happens next.
#[derive(Debug, Clone)]
enum Event {
    Write(Slot),
    Read(Slot),
    Discard(Slot),
    /// A slot turns out to hold a page.
    Name(Slot, u64),
    /// A transfer ends, of those under way.
    End(usize),
    /// A transfer fails.
    Fail(usize),
    BeginCopy,
    EndCopy(usize),
    FailCopy(usize),
    Retry,
    /// The server dies, and another one takes over.
    Die,
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct Request {
    slot: Slot,
    /// The data to be written, or that was read at the start.
    data: u32,
    writes: bool,
    /// A read beside a write or a discard, which may return anything.
    races: bool,
    step: Step,
}

impl Request {
    fn new(slot: Slot, data: Option<u32>) -> Self {
        let transfer = Transfer::ReadSlow(None);
        let step = Step { part: Part::default(), slot, transfer };
        let (writes, data) = (data.is_some(), data.unwrap_or_default());
        Self { slot, data, writes, races: false, step }
    }
}

struct World {
    map: Map,
    engine: Engine,
    policy: (TierPolicy, Identity),
    fast: Vec<u32>,
    slow: Vec<u32>,
    requests: Vec<Request>,
    copies: Vec<(Copy, u32)>,
    /// The data of each page whose write was replied to; `None` if anything may be there.
    written: Vec<Option<u32>>,
    next: u32,
    failures: bool,
}

fn engine((policy, identity): (TierPolicy, Identity), map: Map) -> Engine {
    let policy = policy::make(policy, identity, (KEPT, SLOTS)).unwrap();
    Engine::resume(policy, map, FRAMES).unwrap()
}

fn sum(data: u32) -> Sum {
    Sum::of_crc(data)
}

impl World {
    fn is_written(&self, slot: Slot) -> bool {
        self.requests.iter().any(|request| request.slot == slot && request.writes)
    }

    /// Whether the slot may be written. Its reads that are under way race then.
    fn may_write(&mut self, slot: Slot) -> bool {
        let mut of_slot = self.requests.iter_mut().filter(|request| request.slot == slot);
        of_slot.all(|request| {
            request.races = true;
            !request.writes
        })
    }

    fn happens(&mut self, event: &Event) {
        match event {
            Event::Write(slot) if self.may_write(*slot) => {
                self.next += 1;
                self.begin(Request::new(*slot, Some(self.next)));
            }
            Event::Read(slot) => {
                let races = self.is_written(*slot);
                self.begin(Request { races, ..Request::new(*slot, None) });
            }
            Event::Discard(slot) if self.may_write(*slot) => {
                self.engine.discard(*slot);
                self.written[*slot as usize] = None;
            }
            Event::End(which) if !self.requests.is_empty() => {
                let request = self.requests.swap_remove(which % self.requests.len());
                self.end(request);
            }
            Event::Fail(which) if !self.requests.is_empty() => {
                self.failures = true;
                let request = self.requests.swap_remove(which % self.requests.len());
                let next = self.engine.finished(request.step, End::Failed);
                self.goes_on(request, next);
            }
            Event::BeginCopy => {
                if let Some(copy) = self.engine.next_copy() {
                    self.copies.push((copy, self.fast[copy.frame as usize]));
                    self.slow[copy.slot as usize] = TORN;
                }
            }
            Event::EndCopy(which) if !self.copies.is_empty() => {
                let (copy, data) = self.copies.swap_remove(which % self.copies.len());
                self.slow[copy.slot as usize] = data;
                self.engine.copied(copy, End::Done(sum(data)));
            }
            Event::FailCopy(which) if !self.copies.is_empty() => {
                let (copy, _) = self.copies.swap_remove(which % self.copies.len());
                self.engine.copied(copy, End::Failed);
            }
            Event::Name(slot, page) => {
                let key = Key(NonZeroU64::new(page + 1).unwrap());
                if let Some(writes) = self.engine.writes() {
                    self.engine.name(*slot, key, writes, Nanos::ZERO);
                }
            }
            Event::Retry => self.engine.retry(),
            Event::Die => {
                self.copies.clear();
                self.engine = engine(self.policy, self.map.clone());
                for request in std::mem::take(&mut self.requests) {
                    self.begin(request);
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, request: Request) {
        let (part, at, slot) = (Part::default(), Nanos::ZERO, request.slot);
        let next = if request.writes {
            Next::Step(self.engine.write(part, slot, at))
        } else {
            self.engine.read(part, slot, at)
        };
        self.goes_on(request, next);
    }

    /// Where a step reads or writes.
    fn place(&mut self, step: Step) -> &mut u32 {
        match step.transfer {
            Transfer::ReadFast(frame) | Transfer::Promote(frame) | Transfer::WriteFast(frame) => {
                &mut self.fast[frame as usize]
            }
            Transfer::ReadSlow(_) | Transfer::WriteSlow(_) => &mut self.slow[step.slot as usize],
        }
    }

    fn goes_on(&mut self, mut request: Request, next: Next) {
        let Request { slot, data, writes, .. } = request;
        match next {
            Next::Step(step) => {
                request.step = step;
                match step.transfer {
                    Transfer::ReadFast(_) | Transfer::ReadSlow(_) => {
                        request.data = *self.place(step);
                    }
                    _ => *self.place(step) = TORN,
                }
                self.requests.push(request);
            }
            Next::Reply(Reply::Done) if writes => self.written[slot as usize] = Some(data),
            Next::Reply(Reply::Done) if request.races => {}
            Next::Reply(Reply::Done) => {
                if let Some(written) = self.written[slot as usize] {
                    assert_eq!(data, written, "slot {slot}");
                }
            }
            Next::Reply(Reply::Failed) => {
                assert!(self.failures || request.races, "nothing has failed");
                if writes {
                    self.written[slot as usize] = None;
                }
            }
        }
    }

    fn end(&mut self, request: Request) {
        match request.step.transfer {
            Transfer::ReadFast(_) | Transfer::ReadSlow(_) => {
                if self.written[request.slot as usize].is_some() && !request.races {
                    assert_eq!(*self.place(request.step), request.data, "it changed meanwhile");
                }
            }
            _ => *self.place(request.step) = request.data,
        }
        let next = self.engine.finished(request.step, End::Done(sum(request.data)));
        self.goes_on(request, next);
    }

    /// Ends all that is under way.
    fn settle(&mut self) {
        for _ in 0..10 * FRAMES {
            self.happens(&Event::Retry);
            self.happens(&Event::BeginCopy);
            while !self.copies.is_empty() {
                self.happens(&Event::EndCopy(0));
            }
            while !self.requests.is_empty() {
                self.happens(&Event::End(0));
            }
        }
    }
}

fn run(policy: (TierPolicy, Identity), events: &[Event]) {
    let (region, _) = SharedRegion::create("map", Map::bytes(SLOTS)).unwrap();
    let map = Map::new(Arc::new(region));
    let mut world = World {
        map: map.clone(),
        engine: engine(policy, map.clone()),
        policy,
        fast: vec![TORN; FRAMES as usize],
        slow: vec![TORN; SLOTS as usize],
        requests: Vec::new(),
        copies: Vec::new(),
        written: vec![None; SLOTS as usize],
        next: 0,
        failures: false,
    };
    for event in events {
        world.happens(event);
    }
    world.settle();
    for slot in 0..SLOTS {
        world.happens(&Event::Read(slot));
        world.settle();
    }
    if !world.failures {
        let mapped = (0..SLOTS).filter(|slot| map.frame(*slot).is_some()).count();
        let (frames, free) = world.engine.frames();
        assert_eq!(mapped, (frames - free) as usize, "a frame is in use by nobody");
        for slot in (0..SLOTS).filter(|slot| map.frame(*slot).is_some()) {
            assert!(world.engine.policy.holds(Page(slot)), "{slot} left and is still there");
        }
    }
}

fn events(fails: bool) -> impl Strategy<Value = Vec<Event>> {
    let (slot, which) = (|| 0..SLOTS, || 0..64_usize);
    let failures = u32::from(fails);
    let copying = prop_oneof![
        4 => Just(Event::BeginCopy),
        4 => which().prop_map(Event::EndCopy),
        failures => which().prop_map(Event::FailCopy),
        1 => Just(Event::Retry),
    ];
    let event = prop_oneof![
        8 => slot().prop_map(Event::Write),
        8 => slot().prop_map(Event::Read),
        2 => slot().prop_map(Event::Discard),
        4 => (slot(), 0..8_u64).prop_map(|(slot, page)| Event::Name(slot, page)),
        12 => which().prop_map(Event::End),
        failures => which().prop_map(Event::Fail),
        9 => copying,
        1 => Just(Event::Die),
    ];
    prop::collection::vec(event, 1..400)
}

fn any_policy() -> impl Strategy<Value = (TierPolicy, Identity)> {
    let identity = prop::sample::select(vec![Identity::Slot, Identity::Page]);
    (prop::sample::select(TierPolicy::all()), identity)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_page_is_read_as_it_was_written(policy in any_policy(), events in events(false)) {
        run(policy, &events);
    }

    #[test]
    fn failures_lose_no_page_silently(policy in any_policy(), events in events(true)) {
        run(policy, &events);
    }
}
