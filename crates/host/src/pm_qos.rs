//! A request to the kernel's power management: `Documentation/power/pm_qos_interface.rst`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::Nanos;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// Keeps CPUs of the whole machine out of idle states with a longer exit
/// latency than requested, until dropped. The kernel drops the request when the
/// file is closed, for any reason, so nothing needs to be restored.
#[derive(Debug)]
pub struct CpuLatency {
    _request: File,
}

impl CpuLatency {
    /// Requests an exit latency of at most `latency`, in whole microseconds.
    ///
    /// # Errors
    /// `File` with the device, which only root may open.
    pub fn at_most(root: &Root, latency: Nanos) -> Result<Self> {
        let micros = i32::try_from(latency.get() / 1_000).unwrap_or(i32::MAX);
        let open = root.open_for_writing(Path::new(DEVICE));
        let mut request = open.map_err(|source| Error::file("open", DEVICE, source))?;
        request
            .write_all(&micros.to_ne_bytes())
            .map_err(|source| Error::file("write", DEVICE, source))?;
        Ok(Self { _request: request })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_request_is_a_number_of_microseconds() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("dev")).unwrap();
        let device = dir.path().join("dev/cpu_dma_latency");
        fs::write(&device, "").unwrap();
        let root = Root::at(dir.path());
        let _request = CpuLatency::at_most(&root, Nanos::from_micros(17)).unwrap();
        assert_eq!(fs::read(&device).unwrap(), 17_i32.to_ne_bytes());
    }

    #[test]
    fn a_missing_device_is_named_in_the_error() {
        let dir = tempfile::tempdir().unwrap();
        let error = CpuLatency::at_most(&Root::at(dir.path()), Nanos::ZERO).unwrap_err();
        assert!(error.to_string().starts_with("cannot open /dev/cpu_dma_latency"), "{error}");
    }
}
