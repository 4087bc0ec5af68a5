//! Short names for items of one chart.

use std::collections::BTreeMap;

use crate::visible::visible;

/// A path, and its labels.
type Named<'a> = (&'a str, &'a BTreeMap<String, String>);

/// The common part of several paths (`jitter/native/…/wakeup`), and the rest of each
/// (`fifo`, `other`). If the rests are not distinct, the labels in which they differ are
/// added. A single path keeps its last segment.
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
    let middles: Vec<String> = paths
        .iter()
        .map(|path| visible(&path[head..path.len() - tail].join("/")).into_owned())
        .collect();
    let rest = with_labels_if_needed(&middles, &all);
    let mut common: Vec<&str> = first[..head].to_vec();
    common.push("…");
    common.extend(&first[first.len() - tail..]);
    (visible(&common.join("/")).into_owned(), rest)
}

/// Whole paths, with labels only if several paths are the same.
pub(crate) fn distinct<'a>(all: impl Iterator<Item = Named<'a>>) -> Vec<String> {
    let all: Vec<Named<'a>> = all.collect();
    all.iter()
        .map(|(path, labels)| {
            let namesakes: Vec<Named<'a>> =
                all.iter().filter(|(other, _)| other == path).copied().collect();
            join(&visible(path), &differing(labels, &namesakes))
        })
        .collect()
}

fn with_labels_if_needed(names: &[String], all: &[Named<'_>]) -> Vec<String> {
    let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    if names.iter().all(is_alone) {
        return names.to_vec();
    }
    names.iter().zip(all).map(|(name, (_, labels))| join(name, &differing(labels, all))).collect()
}

fn join(name: &str, labels: &str) -> String {
    let parts = [name, labels];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Those of `labels` that differ from other items. A number is shown with its label's
/// name (`cpu 3`), a word without it (`one-cpu`), and yes or no as the label's name
/// (`garbage`, `no garbage`).
fn differing(labels: &BTreeMap<String, String>, all: &[Named<'_>]) -> String {
    let differs = |(label, value): &(&String, &String)| {
        all.iter().any(|(_, others)| others.get(*label) != Some(*value))
    };
    let parts: Vec<String> = labels
        .iter()
        .filter(differs)
        .map(|(label, value)| match value.as_str() {
            "yes" => visible(label).into_owned(),
            "no" => format!("no {}", visible(label)),
            word if word.contains(char::is_alphabetic) => visible(word).into_owned(),
            number => format!("{} {}", visible(label), visible(number)),
        })
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(all: &[(&str, &str)]) -> Vec<BTreeMap<String, String>> {
        let label = |value: &str| {
            let name =
                if value.starts_with(|c: char| c.is_numeric()) { "cpu" } else { "placement" };
            (!value.is_empty()).then(|| (name.to_owned(), value.to_owned())).into_iter().collect()
        };
        all.iter().map(|(_, value)| label(value)).collect()
    }

    fn short(all: &[(&str, &str)]) -> (String, Vec<String>) {
        shorten(all.iter().zip(&labels(all)).map(|((path, _), labels)| (*path, labels)))
    }

    #[test]
    fn the_common_part_is_shown_once() {
        let (common, rest) =
            short(&[("jitter/native/fifo/wakeup", "a"), ("jitter/native/other/wakeup", "b")]);
        assert_eq!(common, "jitter/native/…/wakeup");
        assert_eq!(rest, ["fifo", "other"]);
    }

    #[test]
    fn labels_distinguish_equal_names() {
        let (common, rest) = short(&[("launch/ramp", "0"), ("launch/ramp", "3")]);
        assert_eq!(common, "launch/ramp");
        assert_eq!(rest, ["cpu 0", "cpu 3"]);
        let (_, rest) =
            short(&[("ipc/unix", "one-cpu"), ("ipc/unix", "free"), ("ipc/pipe", "free")]);
        assert_eq!(rest, ["unix, one-cpu", "unix, free", "pipe, free"]);
    }

    #[test]
    fn yes_and_no_become_the_name_of_the_label() {
        let labels = ["yes", "no"].map(|value| [("garbage".to_owned(), value.to_owned())].into());
        let (_, rest) = shorten(labels.iter().map(|labels| ("jitter/jvm", labels)));
        assert_eq!(rest, ["garbage", "no garbage"]);
    }

    #[test]
    fn a_single_path_keeps_its_last_segment() {
        assert_eq!(short(&[("swap/page_in", "")]), ("swap/page_in".into(), vec!["page_in".into()]));
    }

    #[test]
    fn a_path_may_be_the_beginning_of_another() {
        let (common, rest) = short(&[("ipc/a", ""), ("ipc/a/b", ""), ("ipc/c/b", "")]);
        assert_eq!((common.as_str(), rest.len()), ("ipc/…", 3));
        assert_eq!(rest, ["a", "a/b", "c/b"]);
        assert_eq!(short(&[("a", ""), ("a/a", "")]).1, ["", "a"]);
    }

    #[test]
    fn whole_paths_have_labels_if_they_need_them() {
        let all = [("ipc/unix", "one-cpu"), ("ipc/unix", "free"), ("swap/page_in", "file")];
        let names = distinct(all.iter().zip(&labels(&all)).map(|((path, _), l)| (*path, l)));
        assert_eq!(names, ["ipc/unix, one-cpu", "ipc/unix, free", "swap/page_in"]);
    }
}
