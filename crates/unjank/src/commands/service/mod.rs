//! What the services share: requests over a control socket, and the clients that make them.

mod client;
pub(crate) mod requests;

pub(crate) use client::{Service, SocketArgs, StatusArgs, check_that_none_runs};
