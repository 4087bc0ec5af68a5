//! Reads numbers and texts one after the other.

use super::super::fault::Fault;

/// The largest size of a text in bytes, with the zero at its end.
const LONGEST_TEXT: usize = 4096;

/// The rest of a file or of a decompressed part of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the byte `offset` of a file.
    pub(super) fn at(file: &'a [u8], offset: u64, what: &str) -> Result<Self, Fault> {
        let at = usize::try_from(offset).ok().filter(|at| *at <= file.len());
        let at = at.ok_or_else(|| {
            Fault::at_byte(file.len(), format!("the file ends before its {what} (byte {offset})"))
        })?;
        Ok(Self { rest: &file[at..], at })
    }

    /// A cursor in a decompressed part whose offset in the file is `at`.
    pub(super) fn of_part(part: &'a [u8], at: usize) -> Self {
        Self { rest: part, at }
    }

    /// The current offset in the file, for error messages.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    pub(super) fn bytes(&mut self, number: u64, what: &str) -> Result<&'a [u8], Fault> {
        let taken = usize::try_from(number).ok().and_then(|number| self.rest.get(..number));
        let taken = taken.ok_or_else(|| {
            let left = self.rest.len();
            Fault::at_byte(self.at, format!("expected {number} bytes of {what}, found {left}"))
        })?;
        self.rest = &self.rest[taken.len()..];
        self.at += taken.len();
        Ok(taken)
    }

    pub(super) fn u16(&mut self, what: &str) -> Result<u16, Fault> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A text that ends with a zero.
    pub(super) fn text(&mut self, what: &str) -> Result<String, Fault> {
        let head = &self.rest[..self.rest.len().min(LONGEST_TEXT)];
        let length = head.iter().position(|byte| *byte == 0).ok_or_else(|| {
            Fault::at_byte(self.at, format!("expected a zero at the end of the {what}"))
        })?;
        let text = String::from_utf8_lossy(&head[..length]).into_owned();
        self.bytes(length as u64 + 1, what)?;
        Ok(text)
    }

    /// Consumes `bytes`; other bytes are an error.
    pub(super) fn expect(&mut self, bytes: &[u8], what: &str) -> Result<(), Fault> {
        let at = self.at;
        if self.bytes(bytes.len() as u64, what)? == bytes {
            return Ok(());
        }
        Err(Fault::at_byte(at, format!("expected {what}")))
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Fault> {
        let at = self.at;
        let bytes = self.bytes(N as u64, what)?.try_into();
        bytes.map_err(|_| Fault::at_byte(at, format!("expected {what}")))
    }
}
