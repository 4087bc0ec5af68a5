//! placeholder
use unjank_measure::RunRecord;
/// style
#[derive(Debug, Clone, Copy)]
pub struct TerminalStyle {
    /// columns
    pub width: usize,
    /// colour
    pub colour: bool,
}
/// html
pub fn html(_records: &[RunRecord]) -> String {
    String::new()
}
/// md
pub fn markdown(_record: &RunRecord) -> String {
    String::new()
}
/// term
pub fn terminal(record: &RunRecord, _style: &TerminalStyle) -> String {
    let mut out = String::new();
    for v in &record.findings.verdicts {
        out += &format!("{:10} {:?} {:?} {}\n", v.subject, v.answer, v.measured, v.reason);
    }
    for s in &record.findings.series {
        out +=
            &format!("{} {:?} n={} missed={} {:?}\n", s.name, s.labels, s.n, s.missed, s.summary);
    }
    for s in &record.findings.facts {
        out += &format!("{} {:?} {} {:?}\n", s.name, s.labels, s.unit.show(s.value), s.interval);
    }
    for s in &record.findings.outliers {
        out += &format!("{s:?}\n");
    }
    for s in &record.findings.warnings {
        out += &format!("warn {s}\n");
    }
    for s in &record.findings.unsupported {
        out += &format!("n/a {s:?}\n");
    }
    out
}
