//! Policies, priorities and CPUs of the pairs' threads, for debugging.

use unjank_host::Root;
use unjank_host::sched::ThreadId;
use unjank_measure::{Cell, Column, Table};

use super::Measurements;
use super::report::{PairReport, PriorityCheck, Role};
use crate::transport::{ExaminedThread, ReportedPolicy};

impl Measurements {
    /// The kinds of line that AOSP's `-v` prints, of each pair in the first start: the main
    /// threads of server, of this process and of the client, and client and server in a
    /// real-time call and in an ordinary one.
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
        Table::new("ipc/latency/threads", "Threads of each pair", columns).with_rows(rows)
    }
}

impl PairReport {
    /// How many of AOSP's kinds of line there are.
    pub(crate) fn lines(&self) -> usize {
        self.threads().len()
    }

    fn threads(&self) -> Vec<[String; 6]> {
        let main = self.standing.iter().map(|(role, thread, cpu)| match role {
            Role::Service => seen("service", self.server, *thread, *cpu),
            Role::Client => seen("client", Some(self.client), *thread, *cpu),
        });
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
        let mut rows: Vec<[String; 6]> = main.collect();
        let own = std::process::id();
        if let Some((thread, cpu)) = ExaminedThread::standing(&Root::system(), ThreadId(own)) {
            // Between service and client, as AOSP has it.
            let place = rows.len().saturating_sub(1);
            rows.insert(place, seen("main", Some(own), thread, cpu));
        }
        let calls = [of("fifo-caller", fifo), of("other-caller", other)];
        rows.extend(calls.into_iter().flatten().flatten());
        rows
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
