//! Sizes of caches on the command line.

use std::fmt;
use std::str::FromStr;

use unjank_host::{Error, Result};

use crate::trace::PAGE;
use unjank_cachesim::page::MAX_PAGES;

/// The size of a cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// Bytes, rounded down to pages.
    Bytes(u64),
    /// Pages.
    Pages(u64),
    /// A share of the trace's different pages.
    Share(f64),
}

/// The sizes of a curve.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes {
    /// So many sizes, each half of the next, up to all of the trace's pages.
    Count(u32),
    /// These sizes, in any order.
    List(Vec<Size>),
}

/// The maximum number of sizes.
const MAX_SIZES: u32 = 64;
/// Units of bytes.
const UNITS: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
];

impl Sizes {
    /// Capacities in pages for a trace of `footprint` different pages, ascending and without
    /// duplicates.
    ///
    /// # Errors
    /// A size has room for no page or for too many.
    pub fn capacities(&self, footprint: u64) -> Result<Vec<u64>> {
        let mut capacities = match self {
            Self::Count(count) => {
                let halves = (0..*count).rev();
                halves.map(|halves| footprint.checked_shr(halves).unwrap_or(0).max(1)).collect()
            }
            Self::List(sizes) => {
                let pages = sizes.iter().map(|size| size.pages(footprint));
                pages.collect::<Result<Vec<_>>>()?
            }
        };
        capacities.sort_unstable();
        capacities.dedup();
        Ok(capacities)
    }
}

impl Size {
    fn pages(self, footprint: u64) -> Result<u64> {
        let pages = match self {
            Self::Bytes(bytes) => bytes / PAGE,
            Self::Pages(pages) => pages,
            Self::Share(share) => (footprint as f64 * share) as u64,
        };
        match pages {
            0 => {
                Err(Error::Invalid("a cache needs room for at least one page of 4 KiB".to_owned()))
            }
            pages if pages > u64::from(MAX_PAGES) => Err(Error::Invalid(format!(
                "a cache for {pages} pages is too large; the maximum is {MAX_PAGES}"
            ))),
            pages => Ok(pages),
        }
    }
}

impl fmt::Display for Sizes {
    /// In the form of the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::List(sizes) => {
                for (number, size) in sizes.iter().enumerate() {
                    let comma = if number == 0 { "" } else { "," };
                    match size {
                        Size::Bytes(bytes) => write!(f, "{comma}{}KiB", *bytes as f64 / 1024.0)?,
                        Size::Pages(pages) => write!(f, "{comma}{pages}p")?,
                        Size::Share(share) => write!(f, "{comma}{}%", share * 100.0)?,
                    }
                }
                Ok(())
            }
        }
    }
}

impl FromStr for Sizes {
    type Err = String;

    /// A number of sizes, or sizes separated by commas.
    fn from_str(typed: &str) -> Result<Self, String> {
        if let Ok(count) = typed.trim().parse() {
            return match count {
                1..=MAX_SIZES => Ok(Self::Count(count)),
                _ => Err(format!("expected 1 to {MAX_SIZES} sizes")),
            };
        }
        let sizes = typed.split(',').map(|size| size.trim().parse());
        Ok(Self::List(sizes.collect::<Result<_, String>>()?))
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{typed:?} is not a size; a size looks like 64MiB, 10% (of the trace's different \
                 pages) or 5000p (pages)"
            )
        };
        let number = |text: &str| {
            let number = text.trim().parse::<f64>().ok();
            number.filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(wrong)
        };
        if let Some(percent) = typed.strip_suffix('%') {
            return Ok(Self::Share(number(percent)? / 100.0));
        }
        if let Some(pages) = typed.strip_suffix('p') {
            return pages.trim().parse().map(Self::Pages).map_err(|_| wrong());
        }
        let unit = UNITS.iter().find_map(|(unit, bytes)| Some((typed.strip_suffix(unit)?, bytes)));
        let (text, bytes) = unit.ok_or_else(wrong)?;
        Ok(Self::Bytes((number(text)? * *bytes as f64) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_forms() {
        let capacities = |typed: &str, footprint| {
            typed.parse::<Sizes>().unwrap().capacities(footprint).map_err(|e| e.to_string())
        };
        assert_eq!(capacities("4", 1_000).unwrap(), [125, 250, 500, 1_000]);
        assert_eq!(capacities("8", 5).unwrap(), [1, 2, 5]);
        assert_eq!(capacities("64", 3).unwrap(), [1, 3]);
        assert_eq!(capacities("1MiB,10%,5000p,4K,1M", 200).unwrap(), [1, 20, 256, 5_000]);
        assert_eq!(capacities("1.5MiB", 1).unwrap(), [384]);
        assert!(capacities("1K", 9).unwrap_err().contains("room for at least one page of 4 KiB"));
        assert!(capacities("1%", 9).unwrap_err().contains("room for at least one page"));
        assert!(capacities("16TiB", 9).unwrap_err().contains("is too large"));
    }

    #[test]
    fn sizes_are_printed_as_typed() {
        for typed in ["8", "1536KiB,10%,5000p"] {
            assert_eq!(typed.parse::<Sizes>().unwrap().to_string(), typed);
        }
    }

    #[test]
    fn a_wrong_size_is_an_error_with_examples() {
        for wrong in ["", "many", "-1MiB", "1,2", "NaN%", "5pp", "infMiB"] {
            let error = wrong.parse::<Sizes>().unwrap_err();
            assert!(error.contains("a size looks like 64MiB, 10%"), "{wrong}: {error}");
        }
        assert_eq!("0".parse::<Sizes>(), Err("expected 1 to 64 sizes".to_owned()));
    }
}
