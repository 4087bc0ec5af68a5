//! What people read of a sweep: storage I/O by policy and size of the tier, and
//! the best of all.

use unjank_host::Bytes;
use unjank_swap::sweep::{Cell, cheapest, front, policies};

use comfy_table::{CellAlignment, Table, presets};

/// Most points of a front that are printed.
const SHOWN: usize = 12;

/// A table for each trace and memory.
pub(super) fn text(cells: &[Cell], write_cost: Option<f64>) -> String {
    let mut text = Vec::new();
    let same = |one: &Cell, other: &Cell| {
        (&one.place.trace, one.place.memory) == (&other.place.trace, other.place.memory)
    };
    // They are sorted by combination.
    for cells in cells.chunk_by(same) {
        let place = &cells[0].place;
        let memory = match place.memory {
            0 => String::new(),
            memory => format!(", {} of memory", Bytes(memory)),
        };
        text.push(format!("{}{memory}", place.trace));
        text.extend(grid(cells, |cell| Some(format!("{:.1}", cell.settled_ios() as f64 / 1e3))));
        text.push(String::new());
        if cells.iter().any(|cell| cell.over_budget > 0) {
            text.push("pages that the budget kept out, in % of evicted pages".to_owned());
            let share = |cell: &Cell| cell.relative_over_budget();
            text.extend(grid(cells, |cell| {
                share(cell).map(|share| format!("{:.1}", share * 100.0))
            }));
            text.push(String::new());
        }
        let front = front(cells);
        text.push(match front.len() {
            all @ 0..=SHOWN => format!("the best {all}: fewest writes of the tier first"),
            all => format!(
                "{SHOWN} of the best {all}, from the fewest writes of the tier to the least \
                 storage I/O; --out and --json have all"
            ),
        });
        text.extend(spread(&front).into_iter().map(line));
        text.push(String::new());
        if let Some(write) = write_cost {
            text.push(format!(
                "the cheapest where a write of the tier costs {write} reads of storage"
            ));
            let priced = |cell| format!("{}; cost {:.0}", line(cell), cell.cost(write));
            text.extend(cheapest(cells, write).into_iter().map(priced));
            text.push(String::new());
        }
    }
    text.push(
        "Storage reads and writes in thousands of pages of 4 KiB, by policy and size of the tier, \
         with the writes of what is left dirty in the tier. All modelled."
            .to_owned(),
    );
    text.join("\n")
}

fn line(cell: &Cell) -> String {
    format!(
        "  {} of {}: {} storage reads and writes, {} of them left dirty; {} writes of the tier",
        Bytes(cell.place.tier),
        cell.place.policy,
        cell.settled_ios(),
        cell.left_dirty,
        cell.tier_writes
    )
}

/// At most so many of a front that a reader takes them in, both ends among them.
fn spread<'a>(front: &[&'a Cell]) -> Vec<&'a Cell> {
    let shown = front.len().min(SHOWN);
    let place = |number: usize| number * (front.len() - 1) / (shown - 1).max(1);
    (0..shown).map(|number| front[place(number)]).collect()
}

/// Policies down, sizes of the tier across.
fn grid(cells: &[Cell], show: impl Fn(&Cell) -> Option<String>) -> Vec<String> {
    let mut tiers: Vec<u64> = cells.iter().map(|cell| cell.place.tier).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let shown = |policy: &str, tier: u64| {
        let is = |cell: &&Cell| cell.place.policy == policy && cell.place.tier == tier;
        cells.iter().find(is).and_then(&show).unwrap_or_default()
    };
    let mut table = Table::new();
    let header = tiers.iter().map(|tier| Bytes(*tier).to_string());
    table
        .load_style(presets::NOTHING)
        .set_header(std::iter::once("policy".to_owned()).chain(header));
    for policy in policies(&cells.iter().collect::<Vec<_>>()) {
        let cells = tiers.iter().map(|tier| shown(policy, *tier));
        table.add_row(std::iter::once(policy.to_owned()).chain(cells));
    }
    for place in 1..=tiers.len() {
        if let Some(column) = table.column_mut(place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use unjank_swap::sweep::Place;

    use super::*;

    fn cell(tier: u64, ios: u64, writes: u64) -> Cell {
        let place = Place { trace: "t".into(), memory: 0, tier, policy: "paper".into() };
        Cell {
            place,
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
    fn a_long_front_says_of_how_many_and_has_the_least_io() {
        let cells: Vec<Cell> = (1..=40).map(|tier| cell(4096 * tier, 900 - tier, tier)).collect();
        let text = text(&cells, Some(30.0));
        assert!(text.contains("12 of the best 40, "), "{text}");
        assert!(
            text.contains("of paper: 862 storage reads and writes, 2 of them left dirty"),
            "{text}"
        );
        let cheapest =
            "901 storage reads and writes, 2 of them left dirty; 1 writes of the tier; cost 931";
        assert!(text.contains(cheapest), "{text}");
    }
}
