//! Settings and measurements as findings.

use unjank_measure::record::{Column, Table};
use unjank_measure::{Answer, Cell, Fact, Findings, Unit, Verdict};

use super::decide::{Backend, Proposal};
use super::measured::Measured;
use super::reuse::Reuse;

const QUESTION: &str = "Is swap set as this machine's own measurements suggest?";
const APPLY: &str = "sudo unjank swap tune --apply";

/// The findings. `applied` if the settings were just made.
pub fn findings(
    measured: Measured,
    proposal: &Proposal,
    reuse: Option<&Reuse>,
    applied: bool,
) -> Findings {
    let mut findings = Findings::default();
    findings.verdicts.push(verdict(proposal, applied));
    findings.tables.push(settings(proposal));
    findings.tables.extend(algorithms(&measured));
    let fact = |name: &str, value: f64, unit| Fact::new(name, value, unit);
    if let Some((pages, processes)) = measured.sample {
        findings.facts.extend([
            fact("swap/tune/sample", pages as f64, Unit::Pages),
            fact("swap/tune/processes", processes as f64, Unit::Count),
        ]);
    }
    if let Some(reuse) = reuse {
        findings.facts.extend([
            fact("swap/tune/page_ins", reuse.page_ins() as f64, Unit::Count),
            fact("swap/tune/first_page_ins", reuse.unknown() as f64, Unit::Count),
        ]);
    }
    for warning in measured.warnings {
        findings.warn(warning);
    }
    for (what, reason) in measured.unsupported {
        findings.not_supported(what, reason);
    }
    for compressor in measured.compressors {
        findings.series.extend([compressor.write, compressor.read]);
    }
    let storage = measured.file_system.into_iter().chain(measured.swap_area);
    findings.series.extend(storage.map(|storage| storage.read));
    findings
}

fn verdict(proposal: &Proposal, applied: bool) -> Verdict {
    let what = match &proposal.backend {
        Backend::Zram { algorithm, size, .. } => format!("zram of {size} with {algorithm}"),
        Backend::Zswap { compressor: Some(compressor), .. } => format!("zswap with {compressor}"),
        Backend::Zswap { compressor: None, .. } => "zswap".to_owned(),
        Backend::Unchanged => "the swap that there is".to_owned(),
    };
    let sysctl = |name: &str, value: Option<u32>| {
        value.map_or_else(String::new, |value| format!(", {name} {value}"))
    };
    let what = format!(
        "{what}{}{}",
        sysctl("vm.swappiness", proposal.swappiness),
        sysctl("vm.page-cluster", proposal.page_cluster)
    );
    let new = |answer, reason| Verdict::new("swap/tune", QUESTION, answer, reason);
    let undecided = proposal.settings.iter().find(|setting| setting.proposed.is_none());
    match undecided {
        _ if applied => {
            let reason = format!("it is now: {what}; unjank swap tune --undo takes it back");
            new(Answer::Yes, reason)
        }
        _ if !proposal.is_present() => {
            let next = Some(APPLY.to_owned());
            Verdict { next, ..new(Answer::No, format!("they suggest {what}")) }
        }
        Some(setting) => {
            let reason = format!("{} is not decided: {}", setting.name, setting.why);
            new(Answer::CannotTell, reason)
        }
        None => new(Answer::Yes, what),
    }
}

fn settings(proposal: &Proposal) -> Table {
    let columns = ["setting", "now", "proposed", "why"].map(Column::text);
    let row = |setting: &super::decide::Setting| {
        let proposed = match &setting.proposed {
            Some(_) if !setting.is_changed() => "as it is".to_owned(),
            Some(proposed) => proposed.clone(),
            None => "cannot tell".to_owned(),
        };
        [
            setting.name.into(),
            setting.now.clone().into(),
            proposed.into(),
            setting.why.clone().into(),
        ]
    };
    Table::new("swap/tune/settings", "Settings", columns)
        .with_rows(proposal.settings.iter().map(row))
}

/// The algorithms of zram; `None` if none was measured.
fn algorithms(measured: &Measured) -> Option<Table> {
    let columns = [
        Column::text("algorithm"),
        Column::of("ratio", Unit::Times),
        Column::of("out, median", Unit::Nanoseconds),
        Column::of("back, median", Unit::Nanoseconds),
        Column::of("out, p99", Unit::Nanoseconds),
        Column::of("back, p99", Unit::Nanoseconds),
    ];
    let (pages, processes) = measured.sample?;
    let row = |it: &super::measured::Compressed| {
        let summary = |series: &unjank_measure::SeriesRecord| {
            let summary = series.summary;
            [summary.map(|it| it.p50 as f64), summary.map(|it| it.p99 as f64)]
        };
        let [out, slow_out] = summary(&it.write);
        let [back, slow_back] = summary(&it.read);
        let number = |value: Option<f64>| Cell::maybe(value.map(Cell::number));
        [
            it.algorithm.as_str().into(),
            Cell::number(it.ratio()),
            number(out),
            number(back),
            number(slow_out),
            number(slow_back),
        ]
    };
    let table =
        Table::new("swap/tune/algorithms", "Algorithms of zram on this machine's pages", columns);
    let table = table.with_rows(measured.compressors.iter().map(row)).with_note(format!(
        "Measured with {pages} pages in memory of {processes} programs, one at a time past the page \
         cache; times include the system call."
    ));
    (!table.rows.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::super::decide::Setting;
    use super::*;

    fn proposal(proposed: Option<&str>) -> Proposal {
        let setting = Setting {
            name: "vm.swappiness",
            now: "60".to_owned(),
            proposed: proposed.map(str::to_owned),
            why: "so".to_owned(),
        };
        Proposal {
            backend: Backend::Unchanged,
            swappiness: proposed.map(|value| value.parse().unwrap()),
            page_cluster: None,
            settings: vec![setting],
        }
    }

    #[test]
    fn the_answer_says_what_differs_and_what_to_type() {
        let differs = verdict(&proposal(Some("190")), false);
        assert_eq!((differs.answer, differs.next.as_deref()), (Answer::No, Some(APPLY)));
        assert_eq!(differs.reason, "they suggest the swap that there is, vm.swappiness 190");
        assert_eq!(verdict(&proposal(Some("60")), false).answer, Answer::Yes);
        assert_eq!(verdict(&proposal(None), false).answer, Answer::CannotTell);
        assert!(verdict(&proposal(Some("190")), true).reason.starts_with("it is now: "));
        let table = settings(&proposal(Some("60")));
        assert_eq!(table.rows[0][2], Cell::from("as it is"));
    }
}
