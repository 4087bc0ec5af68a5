//! What people read of a sweep: storage I/O by policy and size of the tier, and
//! the best of all.

use unjank_host::Bytes;
use unjank_swap::sweep::{Cell, front, policies};

use comfy_table::{CellAlignment, Table, presets};

/// Most points of a front that are printed.
const SHOWN: usize = 12;

/// A table for each trace and memory.
pub(super) fn text(cells: &[Cell]) -> String {
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
        text.extend(grid(cells, |cell| Some(format!("{:.1}", cell.storage_ios() as f64 / 1e3))));
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
        for cell in spread(&front) {
            text.push(format!(
                "  {} of {}: {} storage reads and writes, {} writes of the tier, {} left dirty in it",
                Bytes(cell.place.tier),
                cell.place.policy,
                cell.storage_ios(),
                cell.tier_writes,
                cell.left_dirty
            ));
        }
        text.push(String::new());
    }
    text.push(
        "Storage reads and writes in thousands of pages of 4 KiB, by policy and size of the tier. \
         All modelled."
            .to_owned(),
    );
    text.join("\n")
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
