//! The paper's values and the modelled values as findings.

use std::collections::BTreeMap;

use unjank_measure::record::{Axis, Curve, Point};
use unjank_measure::{Fact, Findings, Unit};

use super::phones::{Phone, Set, TIERS};
use super::reproduction::Reproduction;
use crate::simulate::PolicyResult;

/// A fact for each value, and the curves.
pub fn findings(reproduction: &Reproduction) -> Findings {
    let mut findings = Findings {
        curves: reproduction.curves.clone(),
        facts: reproduction.bars.clone(),
        ..Findings::default()
    };
    for item in &reproduction.items {
        let Some(median) = item.median() else { continue };
        let mut fact = Fact::new(format!("swap/paper/{}", item.name), median, item.unit);
        fact.interval = item.interval();
        fact.n = Some(item.seeds as u64);
        let labels = [
            ("origin", "modelled".to_owned()),
            ("trace", "synthetic".to_owned()),
            ("paper", format!("{}: {}", item.figure, item.words)),
        ];
        fact.labels = labels.map(|(name, value)| (name.to_owned(), value)).into();
        findings.facts.push(fact);
    }
    findings
}

/// The name of a result or phone, and how to get it from a set.
type Named<T> = (&'static str, fn(&Set) -> &T);

/// Fig. 2: launch time over launches; Fig. 5: storage I/O over the tier.
pub(super) fn curves(sets: &[Set]) -> Vec<Curve> {
    let results: [Named<PolicyResult>; 4] = [
        ("no swap, 1 GiB", |set| &set.nine_1.off),
        ("swap, 1 GiB", |set| &set.nine_1.on),
        ("no swap, 2 GiB", |set| &set.nine_2.off),
        ("swap, 2 GiB", |set| &set.nine_2.on),
    ];
    let mut curves: Vec<Curve> = results
        .into_iter()
        .map(|(name, result)| {
            let rounds: Vec<Vec<f64>> = sets
                .iter()
                .map(|set| result(set).rounds().iter().map(|round| round.mean).collect())
                .collect();
            let points = over_seeds(&rounds).into_iter().enumerate();
            Curve {
                name: "swap/paper/fig2".to_owned(),
                x: Axis::new("launch of an app", Unit::Count),
                y: Axis::new("mean launch time", Unit::Nanoseconds),
                labels: labels(name),
                points: points.map(|(round, y)| point((round + 1) as f64, y)).collect(),
            }
        })
        .collect();
    // Includes what is left dirty; otherwise large tiers would look better than they are.
    let phones: [Named<Phone>; 3] = [
        ("9 apps, 1 GiB", |set| &set.nine_1),
        ("9 apps, 2 GiB", |set| &set.nine_2),
        ("25 apps, 2 GiB", |set| &set.many_2),
    ];
    curves.extend(phones.into_iter().map(|(name, phone)| {
        let tiers: Vec<Vec<f64>> = sets
            .iter()
            .map(|set| {
                let off = phone(set).off.traffic.storage_ios().max(1) as f64;
                phone(set).tiers.iter().map(|tier| tier.settled_ios() as f64 / off).collect()
            })
            .collect();
        let points = TIERS.iter().zip(over_seeds(&tiers));
        Curve {
            name: "swap/paper/fig5".to_owned(),
            x: Axis::new("size of the tier", Unit::Bytes),
            y: Axis::new("storage I/O against that without swap", Unit::Ratio),
            labels: labels(name),
            points: points.map(|(tier, y)| point(tier.get() as f64, y)).collect(),
        }
    }));
    curves
}

/// Fig. 1: storage I/O with swap and without, and the part of the hottest tenth of the pages; means
/// over seeds.
pub(super) fn bars(sets: &[Set]) -> Vec<Fact> {
    let results: [Named<PolicyResult>; 4] = [
        ("swap, 1 GiB", |set| &set.nine_1.on),
        ("no swap, 1 GiB", |set| &set.nine_1.off),
        ("swap, 2 GiB", |set| &set.nine_2.on),
        ("no swap, 2 GiB", |set| &set.nine_2.off),
    ];
    let mut facts = Vec::new();
    for (name, result) in results {
        let parts = sets.iter().map(|set| {
            let ios = result(set).traffic.storage_ios() as f64;
            let hottest = ios * result(set).skew.made_by(0.1);
            vec![hottest, ios - hottest]
        });
        let means = over_seeds(&parts.collect::<Vec<_>>());
        for (part, pages) in ["hottest 10 %", "all others"].into_iter().zip(means) {
            let mut fact = Fact::new("swap/paper/fig1/storage_ios", pages, Unit::Pages);
            fact.labels = labels(name);
            fact.labels.insert("part".to_owned(), part.to_owned());
            facts.push(fact);
        }
    }
    facts
}

fn labels(phone: &str) -> BTreeMap<String, String> {
    let labels = [("phone", phone), ("origin", "modelled"), ("trace", "synthetic")];
    labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn point(x: f64, y: f64) -> Point {
    Point { x, y, interval: None }
}

/// The mean at each index over all seeds.
fn over_seeds(each: &[Vec<f64>]) -> Vec<f64> {
    let places = each.iter().map(Vec::len).min().unwrap_or_default();
    let mean = |place: usize| each.iter().map(|of| of[place]).sum::<f64>() / each.len() as f64;
    (0..places).map(mean).collect()
}
