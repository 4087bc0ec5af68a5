//! What the services share: requests over a control socket, the clients that make them,
//! and the file of metrics.

mod client;
mod metrics_file;
mod report;
pub(crate) mod requests;

pub(crate) use client::{Service, SocketArgs, StatusArgs, check_that_none_runs};
pub(crate) use metrics_file::write_metrics;
pub(crate) use report::between_reports;
