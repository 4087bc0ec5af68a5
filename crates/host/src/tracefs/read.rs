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
/// at most. The kernel answers each read with one page, and a full one has
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
            Ok(0) => break,
            Ok(length) => length,
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => break,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(error(why)),
        };
        trace
            .push_page(layout, decoder, &page[..length])
            .map_err(|why| decode_error(path, &why))?;
    }
    Ok(trace)
}

fn decode_error(path: &Path, malformed: &Malformed) -> Error {
    let what = format!("byte {}: {}", malformed.place, malformed.what);
    Error::file("decode", path, io::Error::new(io::ErrorKind::InvalidData, what))
}
