//! The archive that the kernel unpacks as its root: cpio in the `newc` form
//! (`Documentation/driver-api/early-userspace/buffer-format.rst`).

use std::io::{self, Write};

/// The permissions of a directory, with its kind: `cpio(5)`, `inode(7)`.
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;

/// An archive that is being written. A directory must be added before its
/// content.
#[derive(Debug)]
pub struct Archive<W> {
    target: W,
    entries: u32,
}

impl<W: Write> Archive<W> {
    /// An empty archive.
    pub fn new(target: W) -> Self {
        Self { target, entries: 0 }
    }

    /// Adds an empty directory.
    ///
    /// # Errors
    /// The target cannot be written, or the name is too long.
    pub fn directory(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, DIRECTORY, &[])
    }

    /// Adds an executable file.
    ///
    /// # Errors
    /// As [`file`](Self::file).
    pub fn program(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, PROGRAM, content)
    }

    /// Adds a file.
    ///
    /// # Errors
    /// The target cannot be written, or the name or content is too long.
    pub fn file(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, FILE, content)
    }

    /// Ends the archive, and returns its target.
    ///
    /// # Errors
    /// The target cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, &[])?;
        self.target.flush()?;
        Ok(self.target)
    }

    /// Thirteen numbers of eight hexadecimal digits after a magic, then the
    /// name and the content, each padded to a multiple of four.
    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        let too_long = |_| io::Error::new(io::ErrorKind::FileTooLarge, "too long for cpio");
        let name = name.trim_start_matches('/');
        let size = u32::try_from(content.len()).map_err(too_long)?;
        let name_size = u32::try_from(name.len() + 1).map_err(too_long)?;
        self.entries += 1;
        let (links, owner, time, device, check) = (1, 0, 0, 0, 0);
        let numbers = [
            self.entries,
            mode,
            owner,
            owner,
            links,
            time,
            size,
            device,
            device,
            device,
            device,
            name_size,
            check,
        ];
        let mut header = b"070701".to_vec();
        for number in numbers {
            write!(header, "{number:08x}")?;
        }
        header.extend(name.as_bytes());
        header.push(0);
        pad(&mut header);
        self.target.write_all(&header)?;
        self.target.write_all(content)?;
        let unaligned = content.len() % 4;
        self.target.write_all(&[0; 4][..(4 - unaligned) % 4])
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_laid_out_as_the_kernel_reads_them() {
        let mut archive = Archive::new(Vec::new());
        archive.directory("/dev").unwrap();
        archive.file("etc/x", b"hello").unwrap();
        let bytes = archive.finish().unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.starts_with("07070100000001000041ed"), "{text}");
        // Magic and numbers are 110 bytes, `dev` and its end 4 more: padded to 116.
        assert_eq!(&bytes[110..116], b"dev\0\0\0");
        assert_eq!(&bytes[116..122], b"070701");
        assert_eq!(&bytes[116 + 110..116 + 116], b"etc/x\0");
        assert_eq!(&bytes[232..240], b"hello\0\0\0");
        assert_eq!(bytes.len() % 4, 0);
        assert!(text.ends_with("TRAILER!!!\0\0\0\0"), "{text:?}");
    }
}
