//! Reads files that are packed into a phone.

use std::path::Path;

use unjank_host::input::{Input, Stop};
use unjank_host::{Bytes, Error, Result};

/// The largest file that is packed: more would not fit the guest's memory.
const LARGEST: Bytes = Bytes::from_mib(1024);

/// The bytes of the regular file `path`, at most 1 GiB. It never waits for a
/// writer, and `stop` ends the reading.
///
/// # Errors
/// `Invalid` if it does not exist or is not a regular file; `File` if it is
/// larger or cannot be read.
pub(crate) fn read(path: &Path, stop: &Stop) -> Result<Vec<u8>> {
    let failed = |error| Error::file("read", path, error).of_named_file();
    let input = Input::open(path, stop).map_err(failed)?;
    if input.regular().is_none() {
        return Err(Error::Invalid(format!("{} is not a regular file", path.display())));
    }
    input.bytes(LARGEST).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::sync::atomic::Ordering;

    use unjank_host::ErrorClass;

    use super::*;

    #[test]
    fn only_regular_files_of_a_limited_size_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("module"), "code").unwrap();
        symlink("module", at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        File::create(at("large")).unwrap().set_len(LARGEST.get() + 1).unwrap();
        let stop = Stop::default();
        assert_eq!(read(&at("link"), &stop).unwrap(), b"code");
        for wrong in ["endless", "pipe"] {
            let error = read(&at(wrong), &stop).unwrap_err();
            let expected = format!("{} is not a regular file", at(wrong).display());
            assert_eq!((error.class(), error.to_string()), (ErrorClass::Usage, expected));
        }
        assert_eq!(read(&at("none"), &stop).unwrap_err().class(), ErrorClass::Usage);
        assert_eq!(read(&at("large"), &stop).unwrap_err().class(), ErrorClass::Other);
        stop.flag().store(true, Ordering::Relaxed);
        assert_eq!(read(&at("module"), &stop).unwrap_err().class(), ErrorClass::Interrupted);
    }
}
