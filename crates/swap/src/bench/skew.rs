//! Reads of the hottest pages, and of the rest.

/// The reads of the hottest tenth of the pages that were read, and all reads.
pub(super) fn hottest_tenth(counts: impl IntoIterator<Item = u32>) -> (u64, u64) {
    let mut counts: Vec<u32> = counts.into_iter().filter(|count| *count > 0).collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    let sum = |counts: &[u32]| counts.iter().copied().map(u64::from).sum();
    (sum(&counts[..counts.len().div_ceil(10)]), sum(&counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_pages_is_the_hottest() {
        let even = vec![1; 20];
        assert_eq!(hottest_tenth(even), (2, 20));
        let skewed = (0..10).map(|page| if page == 3 { 91 } else { 1 });
        assert_eq!(hottest_tenth(skewed.chain([0; 100])), (91, 100));
        assert_eq!(hottest_tenth([]), (0, 0));
    }
}
