//! The settings, and why: pure.
//!
//! | module | subject |
//! |---|---|
//! | `setting` | what is decided, and from what |
//! | `backend` | zram, or zswap in front of a swap area on storage |
//! | `algorithm` | how to compress |
//! | `size` | how much zram holds |
//! | `swappiness` | how much rather to swap than to drop files |
//! | `page_cluster` | how many pages to read together |

mod algorithm;
mod backend;
#[cfg(test)]
mod fixture;
mod page_cluster;
mod setting;
mod size;
mod swappiness;

pub use backend::{Backend, Method};
pub use setting::{Present, Setting};

use super::measured::Measured;
use super::reuse::Reuse;

/// The settings for this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// What to swap to.
    pub backend: Backend,
    /// `vm.swappiness`, if there is reason to set it.
    pub swappiness: Option<u32>,
    /// `vm.page-cluster`, if there is reason to set it.
    pub page_cluster: Option<u32>,
    /// All settings, for readers.
    pub settings: Vec<Setting>,
}

impl Proposal {
    /// Whether the machine is already set as proposed.
    pub fn is_present(&self) -> bool {
        self.settings.iter().all(|setting| !setting.is_changed())
    }
}

/// Decides all settings.
pub fn decide(
    measured: &Measured,
    present: &Present,
    reuse: Option<&Reuse>,
    method: Method,
) -> Proposal {
    let mut settings = Vec::new();
    let backend = backend::decide(measured, present, reuse, method, &mut settings);
    let swappiness = swappiness::decide(measured, present, &backend);
    settings.push(swappiness.1);
    let page_cluster = page_cluster::decide(measured, present, &backend);
    settings.push(page_cluster.1);
    Proposal { backend, swappiness: swappiness.0, page_cluster: page_cluster.0, settings }
}

#[cfg(test)]
mod tests {
    use unjank_host::Bytes;
    use unjank_host::machine::SwapKind;

    use super::fixture::{compressed, device, present, storage};
    use super::*;

    #[test]
    fn a_machine_that_is_set_so_needs_no_change() {
        let measured = Measured {
            compressors: vec![compressed("lz4", 25, 3_000, 2_000)],
            file_system: Some(storage(100_000, 10_000)),
            ..Measured::default()
        };
        let fresh = decide(&measured, &present(), None, Method::Auto);
        assert!(!fresh.is_present());
        let Backend::Zram { algorithm, size, exists } = &fresh.backend else { panic!("{fresh:?}") };
        assert_eq!((algorithm.as_str(), *exists), ("lz4", false));
        assert_eq!(*size, Bytes::from_mib(10_240), "half of 8 GiB, at 2.5 to 1");
        let mut set = present();
        set.memory.swap = vec![device(SwapKind::Zram, "/dev/zram0")];
        set.memory.zram = vec![unjank_host::machine::Zram {
            name: "zram0".to_owned(),
            size: *size,
            algorithm: "lz4".to_owned(),
            ..Default::default()
        }];
        (set.memory.swappiness, set.memory.page_cluster) = (fresh.swappiness, fresh.page_cluster);
        let again = decide(&measured, &set, None, Method::Auto);
        assert!(again.is_present(), "{:?}", again.settings);
    }
}
