//! Warnings and unsupported measurements of several starts.

use unjank_host::Unsupported;

use super::start::StartFindings;
use crate::findings::Findings;

/// A sentence, with the number of starts that had it.
struct CountedSentence<'a> {
    text: &'a str,
    starts: usize,
}

/// Adds each warning once, with the number of starts if not all had it, and the
/// measurements that no start could make. A measurement that only some starts
/// could not make becomes a warning.
pub(super) fn pool(starts: &[StartFindings], pooled: &mut Findings) {
    let all = starts.len();
    for sentence in
        tally(starts.iter().flat_map(|start| start.findings.warnings.iter().map(String::as_str)))
    {
        pooled.warn(counted(sentence.text, sentence.starts, all));
    }
    let missing = starts.iter().flat_map(|start| &start.findings.unsupported);
    let mut seen: Vec<(&Unsupported, usize)> = Vec::new();
    for one in missing {
        match seen.iter_mut().find(|(other, _)| other.what == one.what) {
            Some((_, starts)) => *starts += 1,
            None => seen.push((one, 1)),
        }
    }
    for (one, starts) in seen {
        if starts >= all {
            pooled.unsupported.push(one.clone());
        } else {
            pooled.warn(counted(&format!("{}: {}", one.what, one.reason), starts, all));
        }
    }
}

/// Merges sentences that differ only in their numbers.
fn tally<'a>(sentences: impl Iterator<Item = &'a str>) -> Vec<CountedSentence<'a>> {
    let mut all: Vec<(String, CountedSentence<'a>)> = Vec::new();
    for text in sentences {
        let words: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
        match all.iter_mut().find(|(other, _)| *other == words) {
            Some((_, sentence)) => sentence.starts += 1,
            None => all.push((words, CountedSentence { text, starts: 1 })),
        }
    }
    all.into_iter().map(|(_, sentence)| sentence).collect()
}

fn counted(text: &str, starts: usize, all: usize) -> String {
    if starts >= all { text.to_owned() } else { format!("{text} (in {starts} of {all} starts)") }
}

#[cfg(test)]
mod tests {
    use unjank_host::Timestamp;

    use super::*;

    #[test]
    fn a_warning_appears_once_with_its_number_of_starts() {
        let mut starts: Vec<StartFindings> = (0..4)
            .map(|n| StartFindings { at: Timestamp::from_nanos(n), findings: Findings::default() })
            .collect();
        for (n, start) in starts.iter_mut().enumerate() {
            start.findings.warn("built without optimisation");
            start.findings.not_supported("ipc/binder", "no device");
            if n % 2 == 0 {
                start.findings.warn(format!("{n} events were lost"));
                start.findings.not_supported("swap/page_in", "nothing was evicted");
            }
        }
        let mut pooled = Findings::default();
        pool(&starts, &mut pooled);
        assert_eq!(
            pooled.warnings,
            [
                "built without optimisation",
                "0 events were lost (in 2 of 4 starts)",
                "swap/page_in: nothing was evicted (in 2 of 4 starts)",
            ]
        );
        assert_eq!(pooled.unsupported.len(), 1);
        assert_eq!(pooled.unsupported[0].what, "ipc/binder");
    }
}
