//! Tests of models on traces as text.

mod killing;
mod paged;

use unjank_cachesim::Workload;
use unjank_host::Nanos;

use super::{Builder, Launching};
use crate::trace::{Options, Trace};

/// The workload of these lines.
fn workload(csv: &str) -> Workload {
    let text = format!("time,process,space,page,operation,backing\n{csv}");
    let mut trace = Trace::from_memory("t", text.into_bytes(), &Options::default()).unwrap();
    let (mut events, mut builder) = (Vec::new(), Builder::new(Launching::lasting(Nanos(1 << 40))));
    while trace.read(&mut events, 64).unwrap() {}
    builder.extend(&events, trace.names()).unwrap();
    builder.finish(trace.names())
}
