//! What the services share: requests over a control socket, and the clients that make them.

mod client;
mod report;
pub(crate) mod requests;

pub(crate) use client::{Service, SocketArgs, StatusArgs, check_that_none_runs};
pub(crate) use report::between_reports;
