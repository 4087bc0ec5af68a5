//! The bytes of a trace from a file, a stream or memory, decompressed on the fly.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;
use lz4_flex::frame::FrameDecoder;
use lzma_rust2::XzReader;
use unjank_host::input::{Input, Stop};
use unjank_host::{Error, Result};

/// Bytes from which the format of a file is detected.
const HEAD: usize = 64 << 10;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
    Xz,
    Lz4,
}

impl Compression {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Lz4 => "lz4",
        }
    }
}

/// A stream of bytes, with its beginning at hand.
pub(super) struct Source {
    /// Its name in messages.
    pub(super) name: PathBuf,
    pub(super) compression: Compression,
    /// The first bytes, decompressed; `stream` returns them again.
    pub(super) head: Vec<u8>,
    pub(super) stream: Box<dyn BufRead + Send>,
    /// The file itself, for Parquet, which needs random access.
    pub(super) whole: Option<Whole>,
    pub(super) progress: Progress,
}

/// A file with random access.
pub(super) enum Whole {
    File(File),
    Memory(Arc<[u8]>),
}

/// How many bytes of the file, before decompression, were read, and how many there are.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    done: Arc<AtomicU64>,
    pub(super) total: Option<u64>,
}

impl Progress {
    pub(super) fn done(&self) -> u64 {
        // For display only; it orders no other memory access.
        self.done.load(Ordering::Relaxed)
    }
}

/// Memory limit for decompressing xz in KiB; the dictionary of `xz -9` has 64 MiB.
const XZ_MEMORY: u32 = 1 << 20;
/// Size limit of a compressed or streamed Parquet file, which is copied to disk.
const LARGEST_SPOOLED: u64 = 64 << 30;
/// Bytes read at once.
const BUFFER: usize = 256 << 10;

impl Source {
    /// Opens the file at `path`, or stdin if `path` is `-`.
    pub(super) fn open(path: &Path, stop: &Stop) -> Result<Self> {
        if path == Path::new("-") {
            let error = |source| Error::file("read", "stdin", source);
            return Self::new("stdin".into(), Input::stdin(stop).map_err(error)?, None, None);
        }
        let error = |source| Error::file("read", path, source).of_named_file();
        let input = Input::open(path, stop).map_err(error)?;
        let regular = input.regular();
        let total = regular.map(|(_, length)| length.get());
        let whole = regular.map(|(file, _)| file.try_clone().map(Whole::File)).transpose();
        Self::new(path.to_owned(), input, total, whole.map_err(error)?)
    }

    /// Bytes in memory; messages call them `name`.
    pub(super) fn memory(name: &str, bytes: Arc<[u8]>) -> Result<Self> {
        let total = Some(bytes.len() as u64);
        let whole = Some(Whole::Memory(Arc::clone(&bytes)));
        Self::new(PathBuf::from(name), Cursor::new(bytes), total, whole)
    }

    /// The whole file, for random access. A compressed file or a stream is copied to an unnamed
    /// temporary file first.
    pub(super) fn whole(&mut self) -> Result<Whole> {
        if let Some(whole) = self.whole.take() {
            return Ok(whole);
        }
        let error = |source| Error::file("read", &self.name, source);
        let mut file = tempfile::tempfile().map_err(error)?;
        let mut bounded = (&mut self.stream).take(LARGEST_SPOOLED + 1);
        if io::copy(&mut bounded, &mut file).map_err(error)? > LARGEST_SPOOLED {
            let why = "a compressed or streamed Parquet file has at most 64 GiB";
            return Err(error(io::Error::new(io::ErrorKind::FileTooLarge, why)));
        }
        Ok(Whole::File(file))
    }

    fn new(
        name: PathBuf,
        stream: impl Read + Send + 'static,
        total: Option<u64>,
        whole: Option<Whole>,
    ) -> Result<Self> {
        let progress = Progress { done: Arc::default(), total };
        let counted = Counted { stream, done: Arc::clone(&progress.done) };
        let mut compressed = BufReader::with_capacity(BUFFER, counted);
        let error = |source| Error::file("read", &name, source);
        let compression = detect(compressed.fill_buf().map_err(error)?);
        let mut stream: Box<dyn BufRead + Send> = match compression {
            Compression::None => Box::new(compressed),
            Compression::Gzip => {
                let decompressed = flate2::bufread::MultiGzDecoder::new(compressed);
                Box::new(BufReader::with_capacity(BUFFER, decompressed))
            }
            Compression::Zstd => {
                let decompressed = zstd::Decoder::with_buffer(compressed).map_err(error)?;
                Box::new(BufReader::with_capacity(BUFFER, decompressed))
            }
            Compression::Xz => {
                let decompressed =
                    Sticky::new(XzReader::new_mem_limit(compressed, true, XZ_MEMORY));
                Box::new(BufReader::with_capacity(BUFFER, decompressed))
            }
            Compression::Lz4 => {
                let decompressed =
                    Sticky::new(Lz4Frames { frame: Some(FrameDecoder::new(compressed)) });
                Box::new(BufReader::with_capacity(BUFFER, decompressed))
            }
        };
        let mut head = Vec::new();
        let begin = (&mut stream).take(HEAD as u64).read_to_end(&mut head);
        // Ignore an error after the first bytes: it occurs again when the stream gets there.
        if let Err(why) = begin
            && head.is_empty()
        {
            return Err(error(why));
        }
        let again = Cursor::new(head.clone()).chain(stream);
        let whole = whole.filter(|_| compression == Compression::None);
        Ok(Self { name, compression, head, stream: Box::new(again), whole, progress })
    }
}

/// Repeats the first error of a decoder: after an error, some decoders report the end instead.
struct Sticky<R> {
    decoder: R,
    failed: Option<(io::ErrorKind, String)>,
}

impl<R: Read> Sticky<R> {
    fn new(decoder: R) -> Self {
        Self { decoder, failed: None }
    }
}

impl<R: Read> Read for Sticky<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some((kind, why)) = &self.failed {
            return Err(io::Error::new(*kind, why.clone()));
        }
        self.decoder.read(buffer).inspect_err(|why| {
            if why.kind() != io::ErrorKind::Interrupted {
                self.failed = Some((why.kind(), why.to_string()));
            }
        })
    }
}

/// Consecutive lz4 frames, as `lz4 -c a b` and parallel compressors write them.
struct Lz4Frames<R: BufRead> {
    /// None at the end.
    frame: Option<FrameDecoder<R>>,
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(frame) = &mut self.frame {
            let length = frame.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            let mut rest = self.frame.take().map(FrameDecoder::into_inner);
            if let Some(mut rest) = rest.take()
                && !rest.fill_buf()?.is_empty()
            {
                self.frame = Some(FrameDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

fn detect(head: &[u8]) -> Compression {
    if head.starts_with(&[0x1f, 0x8b, 8]) {
        Compression::Gzip
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Compression::Zstd
    } else if head.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        Compression::Xz
    } else if head.starts_with(&[0x04, 0x22, 0x4d, 0x18]) {
        Compression::Lz4
    } else {
        Compression::None
    }
}

/// Counts the bytes read.
struct Counted<R> {
    stream: R,
    done: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        self.done.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

impl Length for Whole {
    fn len(&self) -> u64 {
        match self {
            Self::File(file) => file.len(),
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for Whole {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> ::parquet::errors::Result<Self::T> {
        match self {
            Self::File(file) => Ok(Box::new(file.get_read(start)?)),
            Self::Memory(bytes) => {
                let mut cursor = Cursor::new(Arc::clone(bytes));
                cursor.set_position(start);
                Ok(Box::new(cursor))
            }
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> ::parquet::errors::Result<Bytes> {
        let end = ::parquet::errors::ParquetError::EOF("the file ends before its pages do".into());
        match self {
            Self::File(file) => {
                // A damaged file may ask for more than the file or the memory holds.
                if start.saturating_add(length as u64) > file.len() {
                    return Err(end);
                }
                file.get_bytes(start, length)
            }
            Self::Memory(bytes) => {
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                let stop = start.checked_add(length).filter(|stop| *stop <= bytes.len());
                let stop = stop.ok_or(end)?;
                Ok(Bytes::copy_from_slice(&bytes[start..stop]))
            }
        }
    }
}
