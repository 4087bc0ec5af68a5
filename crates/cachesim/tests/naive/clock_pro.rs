//! CLOCK-Pro over a vector: the hand of hot pages is before the first entry, new pages come behind the
//! last one.

use super::Naive;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Hot,
    Cold,
    Gone,
}

struct Entry {
    page: u32,
    kind: Kind,
    referenced: bool,
    in_test: bool,
}

pub(super) struct ClockPro {
    m: usize,
    mc: usize,
    clock: Vec<Entry>,
    /// The pages at which the hands look next; the first entry if they are `None`.
    cold: Option<u32>,
    test: Option<u32>,
}

impl ClockPro {
    pub(super) fn new(m: usize) -> Self {
        Self { m, mc: m, clock: Vec::new(), cold: None, test: None }
    }

    fn count(&self, kind: Kind) -> usize {
        self.clock.iter().filter(|entry| entry.kind == kind).count()
    }

    fn place(&self, page: u32) -> Option<usize> {
        self.clock.iter().position(|entry| entry.page == page)
    }

    /// The page behind a place, for a hand.
    fn behind(&self, place: usize) -> Option<u32> {
        self.clock.get(place + 1).map(|entry| entry.page)
    }

    fn take(&mut self, place: usize) -> Entry {
        let (page, next) = (self.clock[place].page, self.behind(place));
        if self.cold == Some(page) {
            self.cold = next;
        }
        if self.test == Some(page) {
            self.test = next;
        }
        self.clock.remove(place)
    }

    fn move_to_head(&mut self, place: usize) {
        // A hand at the last entry goes on to the first one.
        let entry = self.take(place);
        self.clock.push(entry);
    }

    fn end_test(&mut self, place: usize) {
        let entry = &mut self.clock[place];
        if entry.in_test && !entry.referenced {
            self.mc = (self.mc - 1).max(1);
        }
        entry.in_test = false;
    }

    fn pass_first(&mut self) {
        self.end_test(0);
        if self.clock[0].kind == Kind::Gone {
            self.take(0);
        } else {
            self.move_to_head(0);
        }
    }

    fn hot_hand(&mut self, most: usize) {
        while self.count(Kind::Hot) > most {
            let first = &mut self.clock[0];
            if first.kind != Kind::Hot {
                self.pass_first();
            } else if first.referenced {
                first.referenced = false;
                self.move_to_head(0);
            } else {
                first.kind = Kind::Cold;
                self.move_to_head(0);
            }
        }
        while self.count(Kind::Hot) > 0 && self.clock[0].kind != Kind::Hot {
            self.pass_first();
        }
    }

    fn cold_hand(&mut self) -> u32 {
        loop {
            if self.count(Kind::Cold) == 0 {
                self.hot_hand(self.count(Kind::Hot) - 1);
            }
            let place = self.cold.and_then(|page| self.place(page)).unwrap_or(0);
            self.cold = self.behind(place);
            let Entry { page, kind, referenced, in_test } = self.clock[place];
            match (kind, referenced, in_test) {
                (Kind::Hot | Kind::Gone, ..) => {}
                (Kind::Cold, false, true) => {
                    self.clock[place].kind = Kind::Gone;
                    self.test_hand();
                    return page;
                }
                (Kind::Cold, false, false) => {
                    self.take(place);
                    return page;
                }
                (Kind::Cold, true, in_test) => {
                    self.move_to_head(place);
                    let last = self.clock.last_mut().unwrap();
                    last.referenced = false;
                    last.in_test = !in_test;
                    if in_test {
                        last.kind = Kind::Hot;
                        self.mc = (self.mc + 1).min(self.m);
                        self.hot_hand(self.m - self.mc);
                    }
                }
            }
        }
    }

    fn test_hand(&mut self) {
        while self.count(Kind::Gone) > self.m {
            let place = self.test.and_then(|page| self.place(page)).unwrap_or(0);
            self.test = self.behind(place);
            if self.clock[place].kind != Kind::Hot {
                self.end_test(place);
            }
            if self.clock[place].kind == Kind::Gone {
                self.take(place);
            }
        }
    }
}

impl Naive for ClockPro {
    fn contains(&self, page: u32) -> bool {
        self.clock.iter().any(|entry| entry.page == page && entry.kind != Kind::Gone)
    }

    fn request(&mut self, x: u32) -> Option<u32> {
        let known = self.place(x);
        if let Some(place) = known.filter(|place| self.clock[*place].kind != Kind::Gone) {
            self.clock[place].referenced = true;
            return None;
        }
        if let Some(place) = known {
            self.take(place);
            self.mc = (self.mc + 1).min(self.m);
        }
        let is_full = self.count(Kind::Hot) + self.count(Kind::Cold) == self.m;
        let left = is_full.then(|| self.cold_hand());
        let kind = if known.is_some() { Kind::Hot } else { Kind::Cold };
        let in_test = known.is_none();
        self.clock.push(Entry { page: x, kind, referenced: false, in_test });
        if known.is_some() {
            self.hot_hand(self.m - self.mc);
        }
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        let there = self.contains(page);
        if let Some(place) = self.place(page) {
            self.take(place);
        }
        there
    }
}
