//! Short names for things that stand beside each other.

use std::collections::BTreeMap;

use crate::visible::visible;

/// A path, and the labels that tell its owner from its siblings.
type Named<'a> = (&'a str, &'a BTreeMap<String, String>);

/// What several paths have in common (`jitter/native/…/wakeup`), and what is
/// left of each (`fifo`, `other`). Labels that differ are added to what is
/// left; a single path keeps its last segment.
pub(crate) fn shorten<'a>(all: impl Iterator<Item = Named<'a>>) -> (String, Vec<String>) {
    let all: Vec<Named<'a>> = all.collect();
    let paths: Vec<Vec<&str>> = all.iter().map(|(path, _)| path.split('/').collect()).collect();
    let Some(first) = paths.first() else { return (String::new(), Vec::new()) };
    if paths.iter().all(|path| path == first) {
        let last = first.last().copied().unwrap_or_default();
        let rest = all.iter().map(|(_, labels)| {
            let labels = differing(labels, &all);
            if labels.is_empty() { visible(last).into_owned() } else { labels }
        });
        return (visible(&first.join("/")).into_owned(), rest.collect());
    }
    let shortest = paths.iter().map(Vec::len).min().unwrap_or(0);
    let head = (0..shortest)
        .take_while(|index| paths.iter().all(|path| path[*index] == first[*index]))
        .count();
    let tail = (1..=shortest - head)
        .take_while(|back| {
            paths.iter().all(|path| path[path.len() - back] == first[first.len() - back])
        })
        .count();
    let rest = all.iter().zip(&paths).map(|((_, labels), path)| {
        let middle = visible(&path[head..path.len() - tail].join("/")).into_owned();
        let parts = [middle, differing(labels, &all)];
        parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ")
    });
    let mut common: Vec<&str> = first[..head].to_vec();
    common.push("…");
    common.extend(&first[first.len() - tail..]);
    (visible(&common.join("/")).into_owned(), rest.collect())
}

/// Those of `labels` in which one differs from its siblings: `cpu 3`.
fn differing(labels: &BTreeMap<String, String>, all: &[Named<'_>]) -> String {
    let differs = |(label, value): &(&String, &String)| {
        all.iter().any(|(_, others)| others.get(*label) != Some(*value))
    };
    let parts: Vec<String> = labels
        .iter()
        .filter(differs)
        .map(|(label, value)| format!("{} {}", visible(label), visible(value)))
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(all: &[(&str, &str)]) -> (String, Vec<String>) {
        let labels: Vec<BTreeMap<String, String>> = all
            .iter()
            .map(|(_, cpu)| {
                let label = (!cpu.is_empty()).then(|| ("cpu".to_owned(), (*cpu).to_owned()));
                label.into_iter().collect()
            })
            .collect();
        shorten(all.iter().zip(&labels).map(|((path, _), labels)| (*path, labels)))
    }

    #[test]
    fn what_is_shared_is_said_once() {
        let (common, rest) =
            short(&[("jitter/native/fifo/wakeup", ""), ("jitter/native/other/wakeup", "")]);
        assert_eq!(common, "jitter/native/…/wakeup");
        assert_eq!(rest, ["fifo", "other"]);
    }

    #[test]
    fn labels_tell_equal_names_apart() {
        let (common, rest) = short(&[("launch/ramp", "0"), ("launch/ramp", "3")]);
        assert_eq!(common, "launch/ramp");
        assert_eq!(rest, ["cpu 0", "cpu 3"]);
    }

    #[test]
    fn a_single_path_keeps_its_last_segment() {
        assert_eq!(short(&[("swap/page_in", "")]), ("swap/page_in".into(), vec!["page_in".into()]));
    }

    #[test]
    fn a_path_within_another_gets_along() {
        let (common, rest) = short(&[("ipc/a", ""), ("ipc/a/b", ""), ("ipc/c/b", "")]);
        assert_eq!((common.as_str(), rest.len()), ("ipc/…", 3));
        assert_eq!(rest, ["a", "a/b", "c/b"]);
        assert_eq!(short(&[("a", ""), ("a/a", "")]).1, ["", "a"]);
    }
}
