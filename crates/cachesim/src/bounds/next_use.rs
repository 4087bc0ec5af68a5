//! When each requested page is requested again.

use crate::page::Page;

/// There is no further request.
pub const NEVER: u32 = u32::MAX;

/// For each request the number of the next one for the same page: four bytes a
/// request, and, while they are found, four bytes a page.
#[derive(Debug, Clone, Default)]
pub struct NextUses {
    next: Vec<u32>,
    /// The last request for each page.
    last: Vec<u32>,
}

/// More requests than a 32-bit number can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{NEVER} requests are the most that can be looked through from their end")]
pub struct TooManyRequests;

impl NextUses {
    /// Without any requests.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next uses of all these requests.
    ///
    /// # Errors
    ///
    /// They are 2^32 or more.
    pub fn of(requests: impl IntoIterator<Item = Page>) -> Result<Self, TooManyRequests> {
        let mut uses = Self::new();
        uses.extend(requests)?;
        Ok(uses)
    }

    /// Takes further requests, in their order.
    ///
    /// # Errors
    ///
    /// There are 2^32 - 1 requests already. Those that fit are taken.
    pub fn extend(
        &mut self,
        requests: impl IntoIterator<Item = Page>,
    ) -> Result<(), TooManyRequests> {
        for page in requests {
            let now = self.next.len() as u32;
            if now == NEVER {
                return Err(TooManyRequests);
            }
            self.next.push(NEVER);
            if page.index() >= self.last.len() {
                self.last.resize((page.index() + 1).next_power_of_two(), NEVER);
            }
            let last = std::mem::replace(&mut self.last[page.index()], now);
            if last != NEVER {
                self.next[last as usize] = now;
            }
        }
        Ok(())
    }

    /// For each request the number of the next one, or [`NEVER`].
    pub fn as_slice(&self) -> &[u32] {
        &self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_knows_the_next_for_its_page() {
        let uses = NextUses::of([3, 1, 3, 3, 0].map(Page)).unwrap();
        assert_eq!(uses.as_slice(), [2, NEVER, 3, NEVER, NEVER]);
    }
}
