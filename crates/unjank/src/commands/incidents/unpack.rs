//! The recording of an incident as a file for ui.perfetto.dev.
//!
//! The store may belong to another user, who can put anything in place of a recording. So only a
//! regular file is read, no more than a recording may have, and only if it is a trace.

use std::io::{self, Read, Write as _};
use std::path::Path;

use flate2::read::GzDecoder;
use unjank_host::files::{Destination, Existing, Readers, WholeFile, open_untrusted};
use unjank_host::input::{Input, Stop};
use unjank_host::tracefs::trace_file::{MOST_BYTES, perfetto};
use unjank_host::{Bytes, Error, Result};

/// The number of bytes that are decompressed before they are written.
const PIECE: u64 = 1 << 20;

/// Decompresses the recording `path` into a file, until a stop request.
///
/// # Errors
/// `Invalid` if it is not a trace of Perfetto; the errors of reading and writing.
pub(super) fn unpack(path: &Path, place: Destination, stop: &Stop) -> Result<()> {
    let failed = |why| Error::file("read", path, why);
    let packed = Input::of(open_untrusted(path)?, stop).map_err(failed)?;
    write(path, GzDecoder::new(packed), MOST_BYTES, place)
}

/// Writes a trace of at most `most` bytes.
fn write(path: &Path, mut trace: impl Read, most: Bytes, place: Destination) -> Result<()> {
    let failed = |why| Error::file("read", path, why);
    let mut piece = Vec::new();
    let mut next = |piece: &mut Vec<u8>| {
        piece.clear();
        trace.by_ref().take(PIECE).read_to_end(piece).map_err(failed)
    };
    next(&mut piece)?;
    if !perfetto::begins(&piece) {
        let what = format!("{} is not a recording: it has no trace of Perfetto", path.display());
        return Err(Error::Invalid(what));
    }
    let whole = WholeFile::begin(place, Existing::Replace, Readers::AsUsual)?;
    let mut file = whole.file()?;
    let mut left = most.get();
    while !piece.is_empty() {
        let rest = left.checked_sub(piece.len() as u64);
        left = rest.ok_or_else(|| failed(io::ErrorKind::FileTooLarge.into()))?;
        file.write_all(&piece).map_err(|why| whole.error(why))?;
        next(&mut piece)?;
    }
    whole.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// A packet of one byte, which no text has.
    const PACKET: &[u8] = &[0x0a, 1, 0];

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_recording_is_decompressed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let trace = PACKET.repeat(1 << 20);
        fs::write(at("recording"), packed(&trace)).unwrap();
        let place = Destination::open(&at("out")).unwrap();
        unpack(&at("recording"), place, &Stop::default()).unwrap();
        assert!(fs::read(at("out")).unwrap() == trace);
    }

    #[test]
    fn what_is_no_recording_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("recording"), packed(PACKET)).unwrap();
        symlink("recording", at("link")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), fifo, mode, 0).unwrap();
        fs::write(at("text"), packed(b"\na secret\n")).unwrap();
        for (name, expected) in [
            ("link", "link is not a regular file"),
            ("pipe", "pipe is not a regular file"),
            ("text", "text is not a recording: it has no trace of Perfetto"),
        ] {
            let place = Destination::open(&at("out")).unwrap();
            let error = unpack(&at(name), place, &Stop::default()).unwrap_err().to_string();
            assert!(error.ends_with(expected), "{error}");
            assert!(!at("out").exists(), "{name}");
        }
    }

    #[test]
    fn a_recording_that_is_too_large_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("out");
        let write = |most| {
            let endless = PACKET.chain(io::repeat(0));
            let place = Destination::open(&out).unwrap();
            write(Path::new("recording"), endless, Bytes(most), place)
        };
        let error = write(3 << 20).unwrap_err().to_string();
        assert!(error.starts_with("cannot read recording: "), "{error}");
        assert!(!out.exists());
    }
}
