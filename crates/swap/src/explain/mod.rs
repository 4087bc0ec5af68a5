//! The verdict on page-in times.

mod load;
mod remedy;

use unjank_host::Nanos;
use unjank_measure::{Answer, Bound, Findings, Quantity, SeriesRecord, Verdict};

pub use load::beside_load;
pub use remedy::fitting;

/// The longest healthy median page-in.
pub const HEALTHY: Nanos = Nanos::from_micros(100);

const SOURCE: &str = "1,000 pages (4 MiB) then come back within 0.1 s, which feels instantaneous \
                      (Nielsen, Usability Engineering)";

/// Judges the median page-in. `remedy` is the command that makes page-ins from swap faster on this
/// machine.
pub fn verdict(findings: &Findings, remedy: Option<&str>) -> Verdict {
    let series = findings.series_named("swap/page_in");
    let backing = series.and_then(|s| s.labels.get("backing")).map_or("", String::as_str);
    let name = format!("median time to bring one page back from {backing}");
    let measured = series.and_then(|series| Quantity::median_of(series, name));
    let healthy = Bound { at_most: HEALTHY.get() as f64, source: SOURCE.to_owned() };
    let reason = match series.and_then(|series| series.summary) {
        Some(summary) => format!("one page in a hundred takes longer than {}", Nanos(summary.p99)),
        None => findings
            .unsupported
            .iter()
            .find(|missing| missing.what == "swap/page_in")
            .map_or_else(|| "no page-in was measured".to_owned(), |missing| missing.reason.clone()),
    };
    let reason = match series.and_then(SeriesRecord::starts_note) {
        Some(starts) => format!("{reason}; {starts}"),
        None => reason,
    };
    let question = "Do evicted pages come back in time?";
    let next = "unjank swap probe --for 30s --html swap.html";
    let mut verdict = Verdict::of_health("swap", question, healthy, measured, reason, next);
    if verdict.answer == Answer::Slow
        && backing != "file"
        && let Some(remedy) = remedy
    {
        verdict.next = Some(remedy.to_owned());
    }
    verdict
}

#[cfg(test)]
mod tests {
    use unjank_measure::Series;

    use super::*;

    fn findings(page_in: Nanos) -> Findings {
        let mut series = Series::new("swap/page_in").with_label("backing", "zram");
        for _ in 0..1_000 {
            series.record(page_in);
        }
        Findings { series: vec![series.finish()], ..Findings::default() }
    }

    #[test]
    fn compressed_memory_is_fast_and_a_card_is_slow() {
        assert_eq!(verdict(&findings(Nanos::from_micros(8)), None).answer, Answer::Healthy);
        let slow = verdict(&findings(Nanos::from_millis(2)), None);
        assert_eq!(slow.answer, Answer::Slow);
        assert!(slow.measured.unwrap().name.ends_with("from zram"));
    }

    #[test]
    fn a_slow_page_in_leads_to_the_remedy() {
        let next = |page_in| verdict(&findings(page_in), Some("remedy")).next;
        assert_eq!(next(Nanos::from_millis(2)).as_deref(), Some("remedy"));
        assert_ne!(next(Nanos::from_micros(8)).as_deref(), Some("remedy"), "it needs none");
    }

    #[test]
    fn without_page_ins_the_reason_is_given() {
        let mut findings = Findings::default();
        findings.not_supported("swap/page_in", "too little memory");
        let verdict = verdict(&findings, None);
        assert_eq!(
            (verdict.answer, verdict.reason.as_str()),
            (Answer::NotAvailable, "too little memory")
        );
    }
}
