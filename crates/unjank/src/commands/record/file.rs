//! The file of a trace: plain, or compressed if its name says so.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use unjank_host::Result;
use unjank_host::files::{Destination, Existing, Readers, WholeFile};

/// A trace that is being written.
#[derive(Debug)]
pub(super) struct TraceFile {
    whole: WholeFile,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
}

/// The buffer before the file, in bytes.
const BUFFER: usize = 1 << 18;

impl TraceFile {
    /// Begins a file, which replaces an existing one when it is complete.
    pub(super) fn begin(place: Destination) -> Result<Self> {
        let is_gzip = place.path().extension() == Some(OsStr::new("gz"));
        let whole = WholeFile::begin(place, Existing::Replace, Readers::AsUsual)?;
        let out = BufWriter::with_capacity(BUFFER, whole.file()?);
        let form = if is_gzip {
            Form::Gzip(GzEncoder::new(out, Compression::fast()))
        } else {
            Form::Plain(out)
        };
        Ok(Self { whole, form })
    }

    /// Puts the file in its place.
    pub(super) fn finish(self) -> Result<()> {
        let Self { whole, form } = self;
        let flushed = match form {
            Form::Plain(mut out) => out.flush(),
            Form::Gzip(out) => out.finish().and_then(|mut out| out.flush()),
        };
        flushed.map_err(|why| whole.error(why))?;
        whole.finish()
    }
}

impl Write for TraceFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.form {
            Form::Plain(out) => out.write(bytes),
            Form::Gzip(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.form {
            Form::Plain(out) => out.flush(),
            Form::Gzip(out) => out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_name_says_whether_a_file_is_compressed() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = directory.path().join(name);
            let mut file = TraceFile::begin(Destination::open(&path).unwrap()).unwrap();
            file.write_all(b"trace").unwrap();
            assert!(!path.exists(), "only when it is complete");
            file.finish().unwrap();
            std::fs::read(path).unwrap()
        };
        assert_eq!(write("trace.pftrace"), b"trace");
        let mut unpacked = String::new();
        let packed = write("trace.pftrace.gz");
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, "trace");
    }
}
