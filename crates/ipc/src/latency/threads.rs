//! Policies, priorities and CPUs of the pairs' threads, for debugging.

use unjank_measure::{Cell, Column, Table};

use super::Measurements;
use super::report::{PairReport, PriorityCheck};
use crate::transport::{ExaminedThread, ReportedPolicy};

impl Measurements {
    /// Client and server of each pair in a real-time call, and in an ordinary one, in
    /// the first start.
    pub fn threads(&self) -> Table {
        let columns = ["transport", "pair", "role", "process", "thread", "CPU", "policy"];
        let columns = columns.into_iter().chain(["effective priority"]).map(Column::text);
        let rows = self.by_transport.iter().flat_map(|measured| {
            let first = measured.starts.first().map_or(&[][..], |start| &start.pairs);
            let pairs = first.iter().enumerate();
            pairs.flat_map(|(number, pair)| {
                let threads = pair.iter().flat_map(PairReport::threads);
                let place = [measured.transport.to_string(), number.to_string()];
                threads.map(move |thread| place.clone().into_iter().chain(thread).map(Cell::from))
            })
        });
        Table::new("ipc/latency/threads", "Threads during a call", columns).with_rows(rows)
    }
}

impl PairReport {
    fn threads(&self) -> Vec<[String; 6]> {
        let called_at =
            |wanted: fn(&PriorityCheck) -> bool| self.checks.iter().find(|check| wanted(check));
        let fifo = called_at(|check| matches!(check.caller.policy, ReportedPolicy::Fifo(_)));
        let other = called_at(|check| {
            !check.at_nice && matches!(check.caller.policy, ReportedPolicy::Fair(_))
        });
        let both = |role, check: &PriorityCheck| {
            [
                seen(role, Some(self.client), check.caller, check.caller_cpu),
                seen("server", self.server, check.server, check.server_cpu),
            ]
        };
        let of = |role, check: Option<&PriorityCheck>| check.map(|check| both(role, check));
        [of("fifo-caller", fifo), of("other-caller", other)]
            .into_iter()
            .flatten()
            .flatten()
            .collect()
    }
}

/// Role, process, thread, CPU, policy and effective priority.
fn seen(role: &str, process: Option<u32>, examined: ExaminedThread, cpu: u32) -> [String; 6] {
    let ExaminedThread { thread, policy, effective } = examined;
    [
        role.to_owned(),
        process.unwrap_or(thread.0).to_string(),
        thread.0.to_string(),
        cpu.to_string(),
        policy.to_string(),
        effective.to_string(),
    ]
}
