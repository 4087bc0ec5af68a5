//! How many pages to read together: 2 to the power of `vm.page-cluster`.
//!
//! Reading n pages at once costs more than reading one, and pays if the others are used before they
//! are evicted again. With a share h of used ones, a needed page costs T(n)/(1 + h·(n − 1)), where
//! T(n) is measured.

use unjank_host::Nanos;
use unjank_measure::Unit;
use unjank_measure::number::grouped;

use super::super::measured::{Measured, Storage};
use super::backend::Backend;
use super::setting::{Present, Setting, time};

/// Fewer pages that were read ahead say nothing.
const ENOUGH: u64 = 1_000;

/// The value, and why.
pub(super) fn decide(
    measured: &Measured,
    present: &Present,
    backend: &Backend,
) -> (Option<u32>, Setting) {
    let now = present.memory.page_cluster;
    let setting = |proposed: Option<u32>, why: String| Setting {
        name: "vm.page-cluster",
        now: now.map_or_else(|| "none".to_owned(), |now| now.to_string()),
        proposed: proposed.map(|value| value.to_string()),
        why,
    };
    let decided = match (backend, &measured.swap_area) {
        _ if now.is_none() => Err("this kernel has no such setting".to_owned()),
        (Backend::Zram { .. }, _) => Ok((
            0,
            "nothing is saved by reading pages of zram together: each is decompressed alone \
             (Linux reads most of them alone since 4.15)"
                .to_owned(),
        )),
        (Backend::Zswap { .. } | Backend::Unchanged, Some(area)) => {
            let hits = present.readahead.filter(|(read, _)| *read >= ENOUGH);
            let share = hits.map(|(read, used)| (used as f64 / read as f64).min(1.0));
            for_storage(area, share)
        }
        (Backend::Zswap { .. } | Backend::Unchanged, None) => {
            Err("no swap was measured".to_owned())
        }
    };
    match decided {
        Ok((value, why)) => (Some(value), setting(Some(value), why)),
        Err(why) => (None, setting(None, why)),
    }
}

/// The value for swap on storage, from the share of used pages, if it is known.
fn for_storage(area: &Storage, used: Option<f64>) -> Result<(u32, String), String> {
    let Some(share) = used else {
        let (none, all) = (best(&area.groups, 0.0), best(&area.groups, 1.0));
        return match (none, all) {
            (Some((none, _)), Some((all, _))) if none == all => {
                Ok((none, "the best, however many of the pages read together are used".to_owned()))
            }
            _ => Err(format!(
                "fewer than {} pages were read ahead since the boot, so it is not known how \
                 many are used; tune again after a while with swap",
                grouped(ENOUGH)
            )),
        };
    };
    let (value, cost) = best(&area.groups, share).ok_or("storage was not read")?;
    let alone = area.groups.first().map_or(0, |(_, taken)| taken.get());
    let why = format!(
        "{} of the pages read ahead since the boot were used, so a needed page costs {} instead of \
         {} alone",
        Unit::Ratio.show(share),
        time(cost),
        Nanos(alone)
    );
    Ok((value, why))
}

/// The exponent with the least cost of a needed page, and that cost in nanoseconds.
fn best(groups: &[(usize, Nanos)], used: f64) -> Option<(u32, f64)> {
    let cost = |(pages, taken): &(usize, Nanos)| {
        (pages.ilog2(), taken.get() as f64 / (1.0 + used * (*pages as f64 - 1.0)))
    };
    groups.iter().map(cost).min_by(|one, other| one.1.total_cmp(&other.1))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{present, storage};
    use super::*;

    fn decided(readahead: Option<(u64, u64)>, each_more: u64) -> (Option<u32>, Setting) {
        let measured =
            Measured { swap_area: Some(storage(100_000, each_more)), ..Measured::default() };
        let present = Present { readahead, ..present() };
        decide(&measured, &present, &Backend::Unchanged)
    }

    #[test]
    fn used_pages_pay_for_reading_ahead() {
        // T(n) = 100 + 10·(n − 1) µs: for n = 8, 170/(1 + 7·h).
        assert_eq!(decided(Some((10_000, 9_000)), 10_000).0, Some(5));
        assert_eq!(decided(Some((10_000, 500)), 10_000).0, Some(0));
        let (_, setting) = decided(Some((10_000, 9_000)), 10_000);
        assert!(setting.why.contains("instead of 100 µs alone"), "{}", setting.why);
    }

    #[test]
    fn without_counts_only_a_clear_case_is_decided() {
        assert_eq!(decided(None, 10_000).0, None);
        assert_eq!(decided(Some((10, 9)), 10_000).0, None);
        // Each further page costs as much as the first.
        assert_eq!(decided(None, 100_000).0, Some(0));
    }

    #[test]
    fn zram_is_read_page_by_page() {
        let zram = Backend::Zram {
            algorithm: "lz4".to_owned(),
            size: unjank_host::Bytes(0),
            exists: true,
        };
        assert_eq!(decide(&Measured::default(), &present(), &zram).0, Some(0));
        let mut without = present();
        without.memory.page_cluster = None;
        assert_eq!(decide(&Measured::default(), &without, &zram).0, None);
    }
}
