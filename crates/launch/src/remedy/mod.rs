//! `unjank launch boost`: a service that sees a launch, raises the clock, and
//! puts it back when the launch is over.
//!
//! ```text
//! process connector ─┐                    ┌─▶ knobs (journaled)
//! top-app cpuset ────┼▶ rules ─▶ engine ──┤
//! logcat ────────────┘             ▲      └─▶ reports: log, metrics, store
//!                 activity of what launches
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `config` | the file of rules and limits |
//! | `rules` | what a launch is: pure |
//! | `plan` | what is changed for which governor, and why: pure |
//! | `budget` | boosted time per minute: pure |
//! | `settle` | when a launch is over: pure |
//! | `learned` | how long each program's launch takes: pure |
//! | `engine` | from events to decisions: pure |
//! | `knobs` | making a plan's changes, again and again, and putting them back |
//! | `sources` | where events come from |
//! | `service` | the thread that waits for events and acts |
//! | `report`, `metrics`, `told` | what it tells, and how much |

pub mod budget;
pub mod config;
pub mod engine;
mod knobs;
pub mod learned;
pub mod metrics;
pub mod plan;
pub mod report;
pub mod rules;
mod service;
pub mod settle;
pub mod sources;
mod told;

pub use config::Config;
pub use knobs::Held;
pub use plan::{Method, Plan};
pub use service::{Order, Service, Sources, Switch};
