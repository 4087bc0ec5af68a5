//! Statistics that need no assumption about the shape of a distribution.

pub mod order;
pub mod proportion;
