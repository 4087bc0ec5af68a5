//! Names of kernel functions in launches of this machine.

use unjank_host::{Root, kernel_symbols};
use unjank_why::report::Explained;

/// Names the functions that are shown. Without the kernel's symbols they stay
/// without names.
pub(super) fn name_functions(root: &Root, launches: &mut [Explained]) {
    let addresses = launches.iter().flat_map(Explained::kernel_addresses).collect();
    let names = kernel_symbols::names_of(root, &addresses).unwrap_or_default();
    for launch in launches {
        launch.name_functions(names.clone());
    }
}
