//! Policies that learn sizes from pages that come back. The oldest page is in front.

use std::collections::VecDeque;

use super::{Naive, take};

pub(super) struct Arc {
    c: usize,
    p: f64,
    t1: VecDeque<u32>,
    t2: VecDeque<u32>,
    b1: VecDeque<u32>,
    b2: VecDeque<u32>,
}

impl Arc {
    pub(super) fn new(c: usize) -> Self {
        let list = VecDeque::new;
        Self { c, p: 0.0, t1: list(), t2: list(), b1: list(), b2: list() }
    }

    fn replace(&mut self, in_b2: bool) -> Option<u32> {
        // There is room only after a removal.
        if self.t1.len() + self.t2.len() < self.c {
            return None;
        }
        let t1 = self.t1.len() as f64;
        if !self.t1.is_empty() && ((in_b2 && t1 >= self.p) || t1 > self.p || self.t2.is_empty()) {
            let left = self.t1.pop_front();
            self.b1.extend(left);
            left
        } else {
            let left = self.t2.pop_front();
            self.b2.extend(left);
            left
        }
    }
}

impl Naive for Arc {
    fn contains(&self, page: u32) -> bool {
        self.t1.contains(&page) || self.t2.contains(&page)
    }

    fn request(&mut self, x: u32) -> Option<u32> {
        if take(&mut self.t1, x) || take(&mut self.t2, x) {
            self.t2.push_back(x);
            return None;
        }
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        let left;
        if self.b1.contains(&x) {
            let delta = if b1 >= b2 { 1.0 } else { b2 / b1 };
            self.p = (self.p + delta).min(self.c as f64);
            left = self.replace(false);
            take(&mut self.b1, x);
            self.t2.push_back(x);
        } else if self.b2.contains(&x) {
            let delta = if b2 >= b1 { 1.0 } else { b1 / b2 };
            self.p = (self.p - delta).max(0.0);
            left = self.replace(true);
            take(&mut self.b2, x);
            self.t2.push_back(x);
        } else {
            let (l1, l2) = (self.t1.len() + self.b1.len(), self.t2.len() + self.b2.len());
            if l1 == self.c {
                if self.t1.len() < self.c {
                    self.b1.pop_front();
                    left = self.replace(false);
                } else {
                    left = self.t1.pop_front();
                }
            } else {
                if l1 + l2 == 2 * self.c {
                    self.b2.pop_front();
                }
                left = self.replace(false);
            }
            self.t1.push_back(x);
        }
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        let _remembered = take(&mut self.b1, page) || take(&mut self.b2, page);
        take(&mut self.t1, page) || take(&mut self.t2, page)
    }
}

/// Hands at the front of the clocks.
pub(super) struct Car {
    c: usize,
    p: f64,
    t1: VecDeque<(u32, bool)>,
    t2: VecDeque<(u32, bool)>,
    b1: VecDeque<u32>,
    b2: VecDeque<u32>,
}

impl Car {
    pub(super) fn new(c: usize) -> Self {
        let (t1, t2) = (VecDeque::new(), VecDeque::new());
        Self { c, p: 0.0, t1, t2, b1: VecDeque::new(), b2: VecDeque::new() }
    }

    fn replace(&mut self) -> u32 {
        loop {
            if self.t1.len() as f64 >= self.p.max(1.0) {
                let (page, referenced) = self.t1.pop_front().unwrap();
                if !referenced {
                    self.b1.push_back(page);
                    return page;
                }
                self.t2.push_back((page, false));
            } else {
                let (page, referenced) = self.t2.pop_front().unwrap();
                if !referenced {
                    self.b2.push_back(page);
                    return page;
                }
                self.t2.push_back((page, false));
            }
        }
    }
}

impl Naive for Car {
    fn contains(&self, page: u32) -> bool {
        self.t1.iter().chain(&self.t2).any(|(other, _)| *other == page)
    }

    fn request(&mut self, x: u32) -> Option<u32> {
        if let Some((_, bit)) =
            self.t1.iter_mut().chain(&mut self.t2).find(|(other, _)| *other == x)
        {
            *bit = true;
            return None;
        }
        let known = self.b1.contains(&x) || self.b2.contains(&x);
        let mut left = None;
        if self.t1.len() + self.t2.len() == self.c {
            left = Some(self.replace());
            let l1 = self.t1.len() + self.b1.len();
            if !known && l1 >= self.c {
                self.b1.pop_front();
            } else if !known && l1 + self.t2.len() + self.b2.len() >= 2 * self.c {
                self.b2.pop_front();
            }
        }
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if take(&mut self.b1, x) {
            self.p = (self.p + (b2 / b1).max(1.0)).min(self.c as f64);
            self.t2.push_back((x, false));
        } else if take(&mut self.b2, x) {
            self.p = (self.p - (b1 / b2).max(1.0)).max(0.0);
            self.t2.push_back((x, false));
        } else {
            self.t1.push_back((x, false));
        }
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        let _remembered = take(&mut self.b1, page) || take(&mut self.b2, page);
        let there = self.contains(page);
        self.t1.retain(|(other, _)| *other != page);
        self.t2.retain(|(other, _)| *other != page);
        there
    }
}

pub(super) struct Larc {
    c: usize,
    cr: f64,
    q: VecDeque<u32>,
    qr: VecDeque<u32>,
}

impl Larc {
    pub(super) fn new(c: usize) -> Self {
        Self { c, cr: 0.1 * c as f64, q: VecDeque::new(), qr: VecDeque::new() }
    }
}

impl Naive for Larc {
    fn contains(&self, page: u32) -> bool {
        self.q.contains(&page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        let c = self.c as f64;
        if take(&mut self.q, page) {
            self.q.push_back(page);
            self.cr = (0.1 * c).max(self.cr - c / (c - self.cr));
            return None;
        }
        self.cr = (0.9 * c).min(self.cr + c / self.cr);
        if take(&mut self.qr, page) {
            self.q.push_back(page);
            return if self.q.len() > self.c { self.q.pop_front() } else { None };
        }
        self.qr.push_back(page);
        while self.qr.len() > 1 && self.qr.len() as f64 > self.cr {
            self.qr.pop_front();
        }
        Some(page)
    }

    fn remove(&mut self, page: u32) -> bool {
        take(&mut self.qr, page);
        take(&mut self.q, page)
    }
}
