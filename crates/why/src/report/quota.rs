//! Groups that were held back by their CPU quotas while the path waited for a CPU.
//!
//! The kernel records no event of it: a thread of such a group is ready and gets no CPU, on which
//! other threads run meanwhile. To those, it looks like a thread that waits for its turn.

use unjank_host::machine::ThrottledGroup;
use unjank_units::Nanos;

/// A group counts if it was held back for at least one part in this of the path's waits for a CPU,
/// and these are at least one part in [`LEAST_WAITS`] of the time.
const LEAST_SHARE: u64 = 10;
const LEAST_WAITS: u64 = 100;
/// The most groups without the program that are named.
const SHOWN: usize = 3;

/// The groups that matter for a path of this length that waited so long for a CPU, those of the program
/// first.
pub(super) fn of_path(
    groups: Vec<ThrottledGroup>,
    waited: Nanos,
    total: Nanos,
) -> Vec<ThrottledGroup> {
    if waited.times(LEAST_WAITS) < total {
        return Vec::new();
    }
    let matter = groups.into_iter().filter(|group| group.time.times(LEAST_SHARE) >= waited);
    let (own, mut others): (Vec<_>, Vec<_>) = matter.partition(|group| group.has_process);
    others.truncate(SHOWN);
    own.into_iter().chain(others).collect()
}

/// A warning about a group.
pub(super) fn warning(group: &ThrottledGroup) -> String {
    let ThrottledGroup { path, time, has_process } = group;
    let (which, counts) = if *has_process {
        ("its", ", and that time counts")
    } else {
        ("the", "; if the program or its server is in it, that time counts")
    };
    format!(
        "{which} control group {path} used up its CPU quota and was held back for {time} (summed \
         over CPUs){counts} as waiting for a CPU: a larger quota saves it, a priority does not"
    )
}

/// For how long groups of the program were held back.
pub(super) fn of_program(groups: &[ThrottledGroup]) -> Nanos {
    sum(groups, true)
}

/// For how long other groups were held back, in which the program may be.
pub(super) fn of_others(groups: &[ThrottledGroup]) -> Nanos {
    sum(groups, false)
}

fn sum(groups: &[ThrottledGroup], has_process: bool) -> Nanos {
    let counted = groups.iter().filter(|group| group.has_process == has_process);
    counted.fold(Nanos::ZERO, |sum, group| sum + group.time)
}
