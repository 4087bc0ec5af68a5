//! The native half of the Python package `unjank`. Python code does not import it directly: the
//! modules in `python/unjank` have the documented names.
//!
//! | module | subject |
//! |---|---|
//! | `cache` | a cache under a policy, and requests whose misses are counted |
//! | `keys` | arrays of page numbers from Python |
//! | `custom` | policies that are classes in Python |
//! | `traces` | traces as streams of Arrow batches |
//! | `sweep` | units of sweeps over sizes and policies of a tier |
//! | `runs` | the store of run records |
//! | `signals` | Ctrl-C during long work |
//! | `errors` | errors as exceptions |

mod cache;
mod custom;
mod errors;
mod keys;
mod runs;
mod signals;
mod sweep;
mod traces;

/// The native half of unjank.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::cache::{Cache, Requests, policies};
    #[pymodule_export]
    use crate::custom::{check, custom_misses};
    #[pymodule_export]
    use crate::runs::{Store, record_of_file};
    #[pymodule_export]
    use crate::sweep::{Unit, tier_policies, tier_policy};
    #[pymodule_export]
    use crate::traces::{Trace, formats};
}
