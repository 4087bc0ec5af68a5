//! The number of a swap area in `/proc/PID/pagemap`: pure.
//!
//! `/proc/swaps` lists the areas by their numbers, but leaves out numbers that are free because an
//! area was turned off. What a look has seen shows whether there are such gaps.

/// Numbers from here on are those of other kinds of entries, as of pages that are being moved
/// (`MAX_SWAPFILES` of `include/linux/swap.h` is at least this).
pub(super) const NUMBERS: usize = 23;

/// Pages by the number of their area.
pub(super) type Seen = [u64; NUMBERS];

/// The number of the area in line `position` of `lines`, which has `used` pages. `None` if it cannot
/// be told from what was seen.
pub(super) fn number(position: usize, lines: usize, used: u64, seen: &Seen) -> Option<u8> {
    let numbers = || (0_u8..).zip(seen).filter(|(_, pages)| **pages > 0).map(|(number, _)| number);
    let has_gaps = numbers().max().is_some_and(|last| usize::from(last) >= lines);
    let number = match has_gaps {
        false => u8::try_from(position).ok()?,
        true if numbers().count() == lines => numbers().nth(position)?,
        true => return None,
    };
    // Pages come and go during a look, and children share those of their parents.
    let most = used.saturating_mul(2).saturating_add(1_000);
    (seen.get(usize::from(number)).is_some_and(|pages| *pages <= most)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pages: &[(usize, u64)]) -> Seen {
        let mut seen = [0; NUMBERS];
        for (number, count) in pages {
            seen[*number] = *count;
        }
        seen
    }

    #[test]
    fn without_gaps_the_place_is_the_number() {
        assert_eq!(number(0, 1, 10, &seen(&[])), Some(0));
        assert_eq!(number(1, 2, 10, &seen(&[(0, 5), (1, 10)])), Some(1));
        assert_eq!(number(1, 2, 10, &seen(&[(0, 5)])), Some(1), "nothing is known of it");
    }

    #[test]
    fn gaps_show_in_the_numbers() {
        assert_eq!(number(0, 1, 10, &seen(&[(1, 10)])), Some(1), "area 0 was turned off");
        assert_eq!(number(1, 2, 10, &seen(&[(1, 5), (3, 10)])), Some(3));
        assert_eq!(number(1, 2, 10, &seen(&[(3, 10)])), None, "the other may be before or behind");
    }

    #[test]
    fn an_area_has_no_more_pages_than_are_used() {
        assert_eq!(number(1, 2, 10, &seen(&[(1, 1_021)])), None, "these are of another one");
    }
}
