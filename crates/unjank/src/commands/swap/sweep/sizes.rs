//! Sizes on the command line: one size or a range.

use std::str::FromStr;

use unjank_host::Bytes;

use crate::values;

/// The maximum number of sizes of a range.
const MAX: u32 = 1_000;

/// One size, or a range in which each size is the same factor larger than the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sizes(Vec<Bytes>);

/// All sizes once, the smallest first.
pub(super) fn all(typed: &[Sizes]) -> Vec<Bytes> {
    let mut sizes: Vec<Bytes> = typed.iter().flat_map(|sizes| sizes.0.iter().copied()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let form = || {
            format!("{typed:?} is neither a size such as 64MiB nor a range such as 32MiB..1GiB/6")
        };
        let Some((from, rest)) = typed.split_once("..") else {
            return Ok(Self(vec![positive(values::bytes(typed)?)?]));
        };
        let (to, count) = rest.split_once('/').ok_or_else(form)?;
        let count: u32 = count.parse().map_err(|_| form())?;
        let (from, to) = (positive(values::bytes(from)?)?, values::bytes(to)?);
        if !(2..=MAX).contains(&count) || to <= from {
            return Err(format!("a range has 2 to {MAX} sizes and ends with the larger one"));
        }
        let ratio = to.get() as f64 / from.get() as f64;
        let size = |place: u32| {
            let times = ratio.powf(f64::from(place) / f64::from(count - 1));
            // Whole pages.
            Bytes(((from.get() as f64 * times / 4096.0).round() as u64).saturating_mul(4096))
        };
        Ok(Self((0..count).map(size).collect()))
    }
}

fn positive(size: Bytes) -> Result<Bytes, String> {
    if size.get() >= 4096 { Ok(size) } else { Err("a size is at least one page of 4 KiB".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_grow_by_the_same_factor() {
        let mib = |sizes: &str| -> Vec<u64> {
            sizes.parse::<Sizes>().unwrap().0.iter().map(|size| size.get() >> 20).collect()
        };
        assert_eq!(mib("32MiB..512MiB/5"), [32, 64, 128, 256, 512]);
        assert_eq!(mib("64MiB"), [64]);
        for wrong in ["0", "4095", "1GiB..1MiB/3", "1MiB..2MiB", "1MiB..2MiB/1", "x..y/3", ""] {
            assert!(wrong.parse::<Sizes>().is_err(), "{wrong}");
        }
        let typed = ["64MiB".parse().unwrap(), "32MiB..128MiB/3".parse().unwrap()];
        assert_eq!(all(&typed).len(), 3);
    }
}
