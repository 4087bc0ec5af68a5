//! Takes the time of page-ins back.

pub mod tier;
