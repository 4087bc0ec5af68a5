//! How much zram holds.

use unjank_host::Bytes;
use unjank_measure::Unit;
use unjank_measure::number::grouped;

use super::super::reuse::Reuse;
use super::setting::mib;

/// The share of memory that a full device takes: the rest is for pages that are in use.
pub(super) const SHARE: f64 = 0.5;
/// What of the page-ins of a recording it should hold.
const HELD: f64 = 0.99;
/// The smallest device worth having.
const SMALLEST: Bytes = Bytes::from_mib(64);

/// The size, and why, on a machine with so much memory.
pub(super) fn decide(ratio: f64, memory: Bytes, reuse: Option<&Reuse>) -> (Bytes, String) {
    let most = mib(Bytes((memory.get() as f64 * SHARE * ratio) as u64)).max(SMALLEST);
    let limit = format!("{most} take half of the memory when full, at {ratio:.2} to 1");
    let Some(reuse) = reuse else { return (most, limit) };
    let all = reuse.size_for(1.0);
    let enough = mib(Bytes(reuse.size_for(HELD).get() + (1 << 20) - 1)).max(SMALLEST);
    if enough <= most {
        let why = format!(
            "holds {} of the {} page-ins of the recording; all of them needed {all}",
            Unit::Ratio.show(1.0 - reuse.misses(enough)),
            grouped(reuse.page_ins())
        );
        return (enough, why);
    }
    let missed = Unit::Ratio.show(reuse.misses(most));
    (most, format!("{limit}; {missed} of the recording's page-ins needed more, up to {all}"))
}

/// Whether a device of this size serves as well as one of the `wanted` size.
pub(super) fn is_enough(size: Bytes, wanted: Bytes) -> bool {
    // Another run measures another ratio.
    size.get() >= wanted.get() / 10 * 7
}

#[cfg(test)]
mod tests {
    use unjank_measure::Silent;

    use super::*;
    use crate::trace::{Options, Trace};

    #[test]
    fn a_full_device_takes_half_of_the_memory() {
        let (size, why) = decide(3.0, Bytes::from_mib(1024), None);
        assert_eq!(size, Bytes::from_mib(1536));
        assert!(why.starts_with("1.50 GiB take half of the memory"), "{why}");
        assert_eq!(decide(2.0, Bytes::from_mib(16), None).0, SMALLEST);
        assert!(is_enough(Bytes::from_mib(1200), size) && !is_enough(Bytes::from_mib(512), size));
    }

    #[test]
    fn a_recording_tells_what_is_enough() {
        // 20,480 pages (80 MiB) go out and come back in the same order.
        let line = |at: u64, way: &str, page: u64| format!("{at},page-{way},{page},anonymous\n");
        let out = (0..20_480).map(|page| line(page, "out", page));
        let back = (0..20_480).map(|page| line(20_480 + page, "in", page));
        let text: String = std::iter::once("time,operation,page,backing\n".to_owned())
            .chain(out)
            .chain(back)
            .collect();
        let mut trace = Trace::from_memory("t", text.into_bytes(), &Options::default()).unwrap();
        let reuse = Reuse::read(&mut trace, &Silent).unwrap().unwrap();
        let (size, why) = decide(3.0, Bytes::from_mib(1024), Some(&reuse));
        assert_eq!(size, Bytes::from_mib(80), "{why}");
        assert!(why.starts_with("holds 100 % of the 20,480 page-ins"), "{why}");
        let (size, why) = decide(2.0, Bytes::from_mib(70), Some(&reuse));
        assert_eq!(size, Bytes::from_mib(70));
        assert!(why.contains("12.5 % of the recording's page-ins needed more, up to 80"), "{why}");
    }
}
