//! Reading the ring buffer of one CPU.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::decode::Decoder;
use super::format::Malformed;
use super::page::Layout;
use super::trace::CpuTrace;
use crate::error::{Error, Result};
use crate::root::Root;

/// Reads and decodes what `per_cpu/cpuN/trace_pipe_raw` holds, `pages` pages
/// at most; behind them is a gap. The kernel answers each read with one page, and a full one has
/// just been taken out of the ring rather than copied.
pub(super) fn read_cpu(
    root: &Root,
    path: &Path,
    cpu: usize,
    layout: &Layout,
    decoder: &Decoder,
    pages: usize,
) -> Result<CpuTrace> {
    let error = |source| Error::file("read", path, source);
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(root.resolve(path))
        .map_err(error)?;
    let mut trace = CpuTrace::new(cpu);
    let mut page = vec![0; layout.page_size()];
    for _ in 0..pages {
        let length = match file.read(&mut page) {
            Ok(0) => return Ok(trace),
            Ok(length) => length,
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(trace),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(error(why)),
        };
        trace
            .push_page(layout, decoder, &page[..length])
            .map_err(|why| decode_error(path, &why))?;
    }
    trace.cut_off();
    Ok(trace)
}

fn decode_error(path: &Path, malformed: &Malformed) -> Error {
    let what = format!("byte {}: {}", malformed.place, malformed.what);
    Error::file("decode", path, io::Error::new(io::ErrorKind::InvalidData, what))
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::{layout, page};
    use super::*;

    const PATH: &str = "/per_cpu/cpu3/trace_pipe_raw";

    fn read(bytes: &[u8], pages: usize) -> Result<CpuTrace> {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        let file = root.resolve(PATH);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
        read_cpu(&root, Path::new(PATH), 3, &layout(), &Decoder::default(), pages)
    }

    #[test]
    fn pages_are_read_to_the_end_or_to_the_bound() {
        let bytes: Vec<u8> =
            (1..=3).flat_map(|n| page(n * 100, false, &[(n * 100, vec![0; 8])])).collect();
        let trace = read(&bytes, 100).unwrap();
        assert_eq!((trace.cpu, trace.undecoded), (3, 3));
        assert!(trace.gaps.is_empty());
        let trace = read(&bytes, 2).unwrap();
        assert_eq!(trace.undecoded, 2);
        assert_eq!(trace.gaps.len(), 1, "there may be more");
        assert_eq!(read(&[], 100).unwrap().undecoded, 0);
    }

    #[test]
    fn a_page_that_is_none_is_an_error_with_its_file_and_byte() {
        let error = read(&[0xff; 4096], 100).unwrap_err().to_string();
        let expected = format!("cannot decode {PATH}: byte 8: 1073741823 bytes should be in use");
        assert!(error.starts_with(&expected), "{error}");
        let error = read(&page(1, false, &[])[..10], 100).unwrap_err().to_string();
        assert!(error.contains("byte 10: the page ends before its head does"), "{error}");
    }
}
