//! Turns measurements into findings.

use std::collections::BTreeMap;

use unjank_measure::record::Axis;
use unjank_measure::{Curve, Findings, Point, Unit};

use super::median::Median;
use super::tables::{headline, tables};
use super::{Cell, Measurements};
use crate::transport::Transport;

impl Measurements {
    /// As findings. Series: `ipc/<transport>/round_trip` with the label
    /// `payload`, each turn a start. Curves over the payload: `…/time`, `…/cpu`,
    /// `…/calls_per_second` and `…/bytes_per_second` (each way).
    /// Tables: `ipc/throughput/summary` and `…/turns`.
    pub fn findings(&self) -> Findings {
        let mut findings = self.notes.clone();
        findings.headline = headline(self);
        findings.tables.extend(tables(self));
        findings.series.extend(self.cells.iter().map(|cell| cell.series.clone()));
        let mut transports: Vec<Transport> = Vec::new();
        for cell in &self.cells {
            if !transports.contains(&cell.transport) {
                transports.push(cell.transport);
            }
        }
        for transport in transports {
            let mut curve = |what, unit, value| {
                findings.curves.push(self.curve(transport, Axis::new(what, unit), value));
            };
            curve("time", Unit::Nanoseconds, Cell::time);
            curve("cpu", Unit::Nanoseconds, Cell::cpu);
            curve("calls_per_second", Unit::PerSecond, Cell::calls_per_second);
            curve("bytes_per_second", Unit::BytesPerSecond, Cell::bytes_per_second);
        }
        findings
    }

    fn curve(&self, transport: Transport, y: Axis, value: fn(&Cell) -> Option<Median>) -> Curve {
        let of_transport = self.cells.iter().filter(|cell| cell.transport == transport);
        let point = |cell: &Cell| {
            let median = value(cell)?;
            Some(Point { x: cell.payload as f64, y: median.value, interval: median.interval })
        };
        Curve {
            name: format!("ipc/{transport}/{}", y.name),
            x: Axis::new("payload", Unit::Bytes),
            y,
            labels: BTreeMap::new(),
            points: of_transport.filter_map(point).collect(),
        }
    }
}
