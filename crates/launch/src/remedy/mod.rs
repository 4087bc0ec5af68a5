//! `unjank launch boost`: a service that detects a launch, raises the clock, and
//! restores it when the launch is over.
//!
//! ```text
//! process connector ─┐                    ┌─▶ knobs (journaled)
//! top-app cpuset ────┼▶ rules ─▶ engine ──┤
//! logcat ────────────┘             ▲      └─▶ reports: log, metrics, store
//!                 activity of the launch
//! ```
//!
//! | module | subject |
//! |---|---|
//! | `config` | the configuration file: rules and limits |
//! | `rules` | which starts of programs count as launches: pure |
//! | `plan` | the knobs for each governor, and why: pure |
//! | `budget` | boosted time per minute: pure |
//! | `settle` | whether a launch's processes are idle: pure |
//! | `learned` | the usual length of each program's launches: pure |
//! | `engine` | decides from events which launches are boosted: pure |
//! | `rivals` | other programs that change its knobs, and when a knob is taken again: pure |
//! | `knobs` | writing and restoring a plan's knobs |
//! | `sources` | sources of launches on Android |
//! | `service` | the thread that waits for events and acts |
//! | `report`, `metrics`, `log_limit` | its notes and its state, and a limit on logged lines |

pub mod budget;
pub mod config;
pub mod engine;
mod knobs;
pub mod learned;
mod log_limit;
pub mod members;
pub mod metrics;
pub mod plan;
pub mod report;
pub mod rivals;
pub mod rules;
mod service;
pub mod settle;
pub mod sources;

pub use config::Config;
pub use knobs::HeldKnob;
pub use plan::{Method, Plan};
pub use service::{Order, Service, ServiceHandle, Sources};
