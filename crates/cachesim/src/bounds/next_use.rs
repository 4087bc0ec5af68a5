//! The next request for the page of each request.

use crate::page::Page;

/// The page is not requested again.
pub const NEVER: u32 = u32::MAX;

/// For each request the index of the next one for the same page: four bytes per request, and four
/// bytes per page while they are computed.
#[derive(Debug, Clone, Default)]
pub struct NextUses {
    next: Vec<u32>,
    /// The last request for each page.
    last: Vec<u32>,
}

/// More requests than a 32-bit index can address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an offline optimum takes at most {NEVER} requests")]
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

    /// Adds requests in their order.
    ///
    /// # Errors
    ///
    /// More than 2^32 - 1 requests. Those that fit are added.
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

    /// For each request the index of the next one, or [`NEVER`].
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
