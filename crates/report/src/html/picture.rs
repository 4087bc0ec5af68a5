//! The charts of a record as pictures of their own, for documents.

use std::collections::BTreeMap;

use unjank_measure::RunRecord;

use crate::html::CHART_STYLE;
use crate::html::outline::Outline;
use crate::html::{charts, views};
use crate::samples::Worst;

/// A chart as an SVG file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its title.
    pub title: String,
    /// What it shows as a file's name without its end, such as `percentiles-of-jitter-lateness`;
    /// no two pictures of a record have the same.
    pub name: String,
    /// The file's text.
    pub svg: String,
}

/// All charts that the page of the record has, in its order; heat maps are tables.
pub fn pictures(record: &RunRecord) -> Vec<Picture> {
    let outline = Outline { level: 2, prefix: String::new() };
    let worst = Worst::of(record);
    let subjects = charts::subjects(record);
    let of_subject = |subject: &&str| charts::figures(record, subject, &worst, &outline);
    let figures = subjects.iter().flat_map(of_subject);
    let figures = figures.map(|figure| {
        let drawn = figure.picture();
        (figure.title.heading(), figure.title.name, drawn)
    });
    let timelines = views::timelines(record);
    let timelines = timelines.into_iter().map(|(title, drawing)| (title.clone(), title, drawing));
    let mut stems: BTreeMap<String, usize> = BTreeMap::new();
    timelines
        .chain(figures)
        .map(|(title, name, drawing)| {
            let stem = stem(&name);
            let uses = stems.entry(stem.clone()).and_modify(|uses| *uses += 1).or_insert(1);
            let name = if *uses > 1 { format!("{stem}-{uses}") } else { stem };
            Picture { svg: alone(&drawing.into_string()), name, title }
        })
        .collect()
}

/// Lower-case letters, digits and hyphens.
fn stem(title: &str) -> String {
    let mut stem = String::new();
    for letter in title.chars() {
        match letter {
            'A'..='Z' | 'a'..='z' | '0'..='9' => stem.push(letter.to_ascii_lowercase()),
            _ if stem.is_empty() || stem.ends_with('-') => {}
            _ => stem.push('-'),
        }
    }
    let stem = stem.trim_end_matches('-');
    if stem.is_empty() { "chart".to_owned() } else { stem.to_owned() }
}

/// Paper around a drawing, for labels at its edges.
const MARGIN: f64 = 12.0;

/// The drawing with its own style, size and paper.
fn alone(drawing: &str) -> String {
    const VIEW: &str = "viewBox=\"0 0 ";
    let parts = drawing.split_once(VIEW).and_then(|(before, rest)| {
        let (size, rest) = rest.split_once('"')?;
        let (width, height) = size.split_once(' ')?;
        let (attributes, content) = rest.split_once('>')?;
        Some((before, width.parse::<f64>().ok()?, height.parse::<f64>().ok()?, attributes, content))
    });
    let Some((before, width, height, attributes, content)) = parts else {
        return drawing.to_owned();
    };
    let (wide, high) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    format!(
        "{before}width=\"{wide}\" height=\"{high}\" viewBox=\"-{MARGIN} -{MARGIN} {wide} {high}\"\
         {attributes}><style>{CHART_STYLE}</style><rect x=\"-{MARGIN}\" y=\"-{MARGIN}\" \
         width=\"{wide}\" height=\"{high}\" style=\"fill: var(--paper)\"/>{content}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(stem("Fig. 1: storage I/O, ../../etc"), "fig-1-storage-i-o-etc");
        assert_eq!(stem("…"), "chart");
    }

    #[test]
    fn a_picture_has_its_own_size_and_style() {
        let alone =
            alone("<svg class=\"chart\" viewBox=\"0 0 300 200\" role=\"img\"><g></g></svg>");
        assert!(alone.starts_with(
            "<svg class=\"chart\" width=\"324\" height=\"224\" viewBox=\"-12 -12 324 224\" role=\"img\"><style>"
        ));
        assert!(alone.ends_with("\"fill: var(--paper)\"/><g></g></svg>\n"), "{alone}");
    }
}
