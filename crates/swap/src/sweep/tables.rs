//! The cells of a sweep as tables: storage I/O by policy and size of the tier, the Pareto front and
//! the cheapest cells.

use std::collections::BTreeMap;

use unjank_host::Bytes;
use unjank_measure::{Cell as Shown, Column, Table, Unit};

use super::Cell;
use super::cell::Combination;
use super::compare::{cheapest, pareto_front, policies};

/// The maximum number of shown points of a Pareto front.
const SHOWN: usize = 12;

const NOTE: &str = "Storage reads and writes in pages of 4 KiB, by policy and size of the tier, \
                    including what is left dirty in the tier. All modelled.";

/// The tables of one trace and size of memory.
pub(super) fn tables(cells: &[&Cell], write_cost: Option<f64>) -> Vec<Table> {
    let Some(first) = cells.first() else { return Vec::new() };
    let memory = match first.combination.memory {
        0 => String::new(),
        memory => format!(", {} of memory", Bytes(memory)),
    };
    let of = format!("{}{memory}", first.combination.trace);
    let storage = grid("storage", &format!("{of}: storage I/O"), Unit::Count, cells, |cell| {
        Some(cell.settled_ios() as f64)
    });
    let mut tables = vec![storage.with_note(NOTE)];
    if cells.iter().any(|cell| cell.over_budget > 0) {
        let title = format!("{of}: evicted pages that the budget kept out");
        let share = |cell: &Cell| cell.relative_over_budget();
        tables.push(grid("over_budget", &title, Unit::Ratio, cells, share));
    }
    let front = pareto_front(cells.iter().copied());
    let title = match front.len() {
        all @ 0..=SHOWN => format!("{of}: the best {all}, the fewest writes of the tier first"),
        all => format!(
            "{of}: {SHOWN} of the best {all}, from the fewest writes of the tier to the least \
             storage I/O"
        ),
    };
    let rows = spread(&front).into_iter().map(row);
    let mut best = Table::new("swap/sweep/best", title, columns()).with_rows(rows);
    if front.len() > SHOWN {
        best = best.with_note("--out and the curves of --json have all of these.");
    }
    tables.push(best);
    if let Some(write) = write_cost {
        let title =
            format!("{of}: the cheapest if a write of the tier costs {write} reads of storage");
        let priced = |cell: &Cell| {
            let cost = Shown::number(cell.cost(write));
            row(cell).into_iter().chain([cost]).collect::<Vec<_>>()
        };
        let columns = columns().into_iter().chain([Column::of("cost", Unit::Count)]);
        let cheapest = cheapest(cells.iter().copied(), write).into_iter().map(priced);
        tables.push(Table::new("swap/sweep/cheapest", title, columns).with_rows(cheapest));
    }
    tables
}

/// What is best, in a sentence: of one trace and size of memory the cheapest cell, or without a cost
/// the one with the least storage I/O; of several, the policy that is best most often.
pub(super) fn headline(groups: &[&[&Cell]], write_cost: Option<f64>) -> Option<String> {
    let worth = |cell: &Cell| match write_cost {
        Some(write) => cell.cost(write),
        None => cell.settled_ios() as f64,
    };
    let least = |one: &&Cell, other: &&Cell| worth(one).total_cmp(&worth(other));
    let best: Vec<&Cell> =
        groups.iter().filter_map(|cells| cells.iter().copied().min_by(least)).collect();
    let what = match write_cost {
        Some(write) => format!("Cheapest if a write of the tier costs {write} reads of storage"),
        None => "Least storage I/O".to_owned(),
    };
    if let [only] = best.as_slice() {
        let relative = only
            .relative_ios()
            .map(|ratio| format!(", {} the storage I/O of no tier", Unit::Times.show(ratio)));
        let Combination { policy, tier, .. } = &only.combination;
        let relative = relative.unwrap_or_default();
        return Some(format!("{what}: {policy} with a tier of {}{relative}", Bytes(*tier)));
    }
    let mut wins: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in &best {
        *wins.entry(&cell.combination.policy).or_default() += 1;
    }
    let (policy, wins) = wins.into_iter().max_by_key(|(_, wins)| *wins)?;
    Some(format!("{what}: {policy}, in {wins} of {} traces and sizes of memory", best.len()))
}

fn columns() -> [Column; 5] {
    [
        Column::of("tier", Unit::Bytes),
        Column::text("policy"),
        Column::of("storage I/O", Unit::Count),
        Column::of("left dirty", Unit::Count),
        Column::of("tier writes", Unit::Count),
    ]
}

fn row(cell: &Cell) -> [Shown; 5] {
    let count = |count: u64| Shown::number(count as f64);
    [
        count(cell.combination.tier),
        cell.combination.policy.as_str().into(),
        count(cell.settled_ios()),
        count(cell.left_dirty),
        count(cell.tier_writes),
    ]
}

/// At most [`SHOWN`] evenly spread points of a Pareto front, both ends included.
fn spread<'a>(front: &[&'a Cell]) -> Vec<&'a Cell> {
    let shown = front.len().min(SHOWN);
    let place = |number: usize| number * (front.len() - 1) / (shown - 1).max(1);
    (0..shown).map(|number| front[place(number)]).collect()
}

/// Policies down, sizes of the tier across.
fn grid(
    name: &str,
    title: &str,
    unit: Unit,
    cells: &[&Cell],
    show: impl Fn(&Cell) -> Option<f64>,
) -> Table {
    let mut tiers: Vec<u64> = cells.iter().map(|cell| cell.combination.tier).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let columns = tiers.iter().map(|tier| Column::of(Bytes(*tier).to_string(), unit));
    let rows = policies(cells).into_iter().map(|policy| {
        let shown = |tier: &u64| {
            let is =
                |cell: &&&Cell| cell.combination.policy == policy && cell.combination.tier == *tier;
            Shown::maybe(cells.iter().find(is).and_then(|cell| show(cell)))
        };
        std::iter::once(policy.into()).chain(tiers.iter().map(shown)).collect::<Vec<_>>()
    });
    let columns = std::iter::once(Column::text("policy")).chain(columns);
    Table::new(format!("swap/sweep/{name}"), title, columns).with_rows(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(tier: u64, ios: u64, writes: u64) -> Cell {
        let combination =
            Combination { trace: "t".into(), memory: 0, tier, policy: "paper".into() };
        Cell {
            combination,
            page_ins: 0,
            page_outs: 0,
            clean_drops: 0,
            storage_reads: ios,
            storage_writes: 0,
            tier_reads: 0,
            tier_writes: writes,
            left_dirty: 2,
            without_tier: 1_000,
            over_budget: 0,
            metadata: 0,
            launch_again: None,
        }
    }

    #[test]
    fn the_headline_names_what_is_best() {
        let mut cells = [cell(8192, 900, 50), cell(4096, 950, 10)];
        cells[1].combination.policy = "refault".into();
        let [one, other] = cells.each_ref();
        let best = |groups: &[&[&Cell]], cost| headline(groups, cost).unwrap();
        assert_eq!(
            best(&[&[one, other]], None),
            "Least storage I/O: paper with a tier of 8.00 KiB, 0.90× the storage I/O of no tier"
        );
        let cheapest = best(&[&[one, other]], Some(30.0));
        assert!(
            cheapest
                .starts_with("Cheapest if a write of the tier costs 30 reads of storage: refault")
        );
        assert_eq!(
            best(&[&[one], &[other], &[other]], None),
            "Least storage I/O: refault, in 2 of 3 traces and sizes of memory"
        );
        assert_eq!(headline(&[], None), None);
    }

    #[test]
    fn a_long_pareto_front_is_shortened_and_keeps_the_least_io() {
        let cells: Vec<Cell> = (1..=40).map(|tier| cell(4096 * tier, 900 - tier, tier)).collect();
        let tables = tables(&cells.iter().collect::<Vec<_>>(), Some(30.0));
        let named = |name: &str| tables.iter().find(|table| table.name == name).unwrap();
        let best = named("swap/sweep/best");
        assert!(best.title.contains("12 of the best 40, "), "{}", best.title);
        assert_eq!(best.rows.len(), SHOWN);
        assert_eq!(best.rows[SHOWN - 1][2..4], [862.0, 2.0].map(Shown::number));
        let cheapest = &named("swap/sweep/cheapest").rows[0];
        assert_eq!(cheapest[2..], [901.0, 2.0, 1.0, 931.0].map(Shown::number));
    }
}
