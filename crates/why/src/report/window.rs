//! The table of the thread and the window that were chosen in a recording.

use unjank_host::Timestamp;
use unjank_host::tracefs::seconds;
use unjank_measure::record::{Column, Table};

use super::explained::Explained;
use super::names;
use crate::choose::{Chosen, Edge};

/// The thread and the window, and why they were chosen.
pub fn window_table(launch: &Explained, chosen: &Chosen) -> Table {
    let columns = [Column::text("what"), Column::text("chosen"), Column::text("it is")];
    let mut table = Table::new("why/window", "What is explained", columns);
    let thread = names::thread_name(&launch.history, launch.thread);
    table.push(["thread".into(), thread.into()]);
    let mut moment = |name: &str, (at, edge): (Timestamp, Edge)| {
        table.push([name.into(), seconds(at).into(), edge.to_string().into()]);
    };
    moment("from", chosen.from);
    moment("to", chosen.to);
    table
}
