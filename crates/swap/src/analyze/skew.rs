//! Skew: how unevenly accesses are spread over the data.

/// The accesses of a trace over its pages, the hottest first.
///
/// It holds how many pages have each number of accesses: shares are exact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skew {
    /// Numbers of accesses, and how many pages have each; the largest number first.
    classes: Vec<(u32, u64)>,
    pages: u64,
    accesses: u64,
}

impl Skew {
    /// The skew of pages with these numbers of accesses. Pages without accesses do not count.
    pub fn of(accesses: &[u32]) -> Self {
        let mut sorted: Vec<u32> = accesses.iter().copied().filter(|count| *count > 0).collect();
        sorted.sort_unstable_by(|one, other| other.cmp(one));
        let classes: Vec<(u32, u64)> = sorted
            .chunk_by(|one, next| one == next)
            .map(|same| (same[0], same.len() as u64))
            .collect();
        let accesses = classes.iter().map(|(count, pages)| u64::from(*count) * pages).sum();
        Self { classes, pages: sorted.len() as u64, accesses }
    }

    /// Different pages that were accessed.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The number of accesses.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Pages that were accessed once, as a share of all.
    pub fn once(&self) -> f64 {
        let once = self.classes.last().filter(|(count, _)| *count == 1);
        once.map_or(0.0, |(_, pages)| *pages as f64 / self.pages as f64)
    }

    /// The share of accesses that the hottest `data` (a share of the pages, 0–1) makes. If that is
    /// not a whole number of pages, the next page counts in part.
    pub fn made_by(&self, data: f64) -> f64 {
        let mut left = data.clamp(0.0, 1.0) * self.pages as f64;
        let mut made = 0.0;
        for (count, pages) in &self.classes {
            let taken = left.min(*pages as f64);
            made += taken * f64::from(*count);
            left -= taken;
        }
        if self.accesses == 0 { 0.0 } else { made / self.accesses as f64 }
    }

    /// The least share of the pages that makes this share (0–1) of the accesses.
    pub fn data_for(&self, share: f64) -> f64 {
        let mut wanted = share.clamp(0.0, 1.0) * self.accesses as f64;
        let mut taken = 0.0;
        for (count, pages) in &self.classes {
            let in_class = f64::from(*count) * *pages as f64;
            if wanted <= in_class {
                taken += wanted / f64::from(*count);
                break;
            }
            wanted -= in_class;
            taken += *pages as f64;
        }
        if self.pages == 0 { 0.0 } else { taken / self.pages as f64 }
    }

    /// The number of accesses from which a page is among the hottest `data`, and how many of the
    /// pages with exactly that number are.
    pub(super) fn threshold(&self, data: f64) -> (u32, u64) {
        let mut left = (data.clamp(0.0, 1.0) * self.pages as f64).round() as u64;
        for (count, pages) in &self.classes {
            if left <= *pages {
                return (*count, left);
            }
            left -= pages;
        }
        (0, 0)
    }

    /// Shares of the data, and the shares of accesses that it makes.
    pub fn curve(&self) -> Vec<[f64; 2]> {
        shares().map(|data| [data, self.made_by(data)]).collect()
    }
}

/// Shares from 0 to 1, in finer steps up to a tenth.
fn shares() -> impl Iterator<Item = f64> {
    let first = (0..20).map(|step| f64::from(step) * 0.005);
    first.chain((0..=36).map(|step| 0.1 + f64::from(step) * 0.025))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_hottest_data_makes_most_accesses() {
        // One page of ten makes 80 % of a hundred accesses.
        let mut counts = vec![2; 8];
        counts.extend([80, 4, 0]);
        let skew = Skew::of(&counts);
        assert_eq!((skew.pages(), skew.accesses()), (10, 100));
        assert!((skew.made_by(0.1) - 0.80).abs() < 1e-12);
        assert!((skew.made_by(0.15) - 0.82).abs() < 1e-12);
        assert!((skew.data_for(0.8) - 0.1).abs() < 1e-12);
        assert!((skew.data_for(1.0) - 1.0).abs() < 1e-12);
        assert_eq!(skew.threshold(0.1), (80, 1));
        assert_eq!(skew.threshold(0.3), (2, 1));
        assert!(skew.once().abs() < 1e-12);
        assert!((Skew::of(&[1, 1, 3, 1]).once() - 0.75).abs() < 1e-12);
    }

    #[test]
    fn without_accesses_all_shares_are_zero() {
        let skew = Skew::of(&[0, 0]);
        assert_eq!((skew.pages(), skew.accesses(), skew.threshold(0.1)), (0, 0, (0, 0)));
        assert!(skew.made_by(0.5).abs() + skew.data_for(0.5).abs() + skew.once().abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn shares_are_those_of_sorted_pages(counts in prop::collection::vec(1..50u32, 1..80)) {
            let skew = Skew::of(&counts);
            let mut sorted = counts.clone();
            sorted.sort_unstable_by(|one, other| other.cmp(one));
            let all: u32 = sorted.iter().sum();
            for pages in 0..=counts.len() {
                let data = pages as f64 / counts.len() as f64;
                let made = f64::from(sorted[..pages].iter().sum::<u32>()) / f64::from(all);
                prop_assert!((skew.made_by(data) - made).abs() < 1e-9);
                prop_assert!((skew.data_for(made) - data).abs() < 1e-9);
            }
        }
    }
}
