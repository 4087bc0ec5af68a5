//! Checks whether a device allows binder calls.

use std::path::Path;

use crate::error::{Error, Result};
use crate::kernel;
use crate::protocol::PROTOCOL_VERSION;

/// Whether binder calls are possible over a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// The device exists and speaks the protocol of this crate.
    Answers {
        /// The protocol's version.
        protocol: i32,
    },
    /// There is no such device. The reason is a sentence without a full stop.
    Absent(String),
    /// This user may not open the device, with the reason.
    Denied(String),
}

/// Whether the driver behind `device` answers. Maps nothing and makes no call.
///
/// # Errors
/// The device could not be examined, e.g. without a free file descriptor.
pub fn availability(device: impl AsRef<Path>) -> Result<Availability> {
    let device = device.as_ref();
    match kernel::open(device).and_then(|fd| kernel::version(device, &fd)) {
        Ok(spoken) => Ok(of_protocol(device, spoken)),
        Err(error @ (Error::NoDevice { .. } | Error::NotBinder { .. })) => {
            Ok(Availability::Absent(error.to_string()))
        }
        Err(error @ Error::Permission { .. }) => Ok(Availability::Denied(error.to_string())),
        Err(error) => Err(error),
    }
}

fn of_protocol(device: &Path, spoken: i32) -> Availability {
    if spoken == PROTOCOL_VERSION {
        Availability::Answers { protocol: spoken }
    } else {
        Availability::Absent(Error::Version { device: device.to_owned(), spoken }.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_device_has_a_reason() {
        assert_eq!(
            availability("/dev/there is no such device").unwrap(),
            Availability::Absent("no binder device /dev/there is no such device".to_owned())
        );
        assert!(matches!(availability("/dev/null").unwrap(), Availability::Absent(_)));
    }

    #[test]
    fn another_protocol_is_no_answer() {
        let device = Path::new("/dev/binder");
        assert_eq!(of_protocol(device, 8), Availability::Answers { protocol: 8 });
        assert_eq!(
            of_protocol(device, 7),
            Availability::Absent("/dev/binder speaks binder protocol 7, not 8".to_owned())
        );
    }
}
