//! Names of kernel functions in launches of this machine.

use std::collections::BTreeMap;

use unjank_host::{Root, kernel_symbols};
use unjank_why::report::Explained;

/// The names of the functions that are shown, by their addresses; empty without
/// the kernel's symbols.
pub(super) fn names(root: &Root, launch: &Explained) -> BTreeMap<u64, String> {
    kernel_symbols::names_of(root, &launch.kernel_addresses()).unwrap_or_default()
}
