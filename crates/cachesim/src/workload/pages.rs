//! What is known of each page of a trace.

use super::Process;
use crate::bits::Bits;
use crate::page::Page;

/// Whose each page is, and whether a file stands behind it.
#[derive(Debug, Clone)]
pub struct Pages {
    of_file: Bits,
    owners: Vec<Process>,
}

impl Pages {
    /// Pages that are of a file or not, and the process that touched each of them first; as many of
    /// both.
    pub fn new(of_file: &[bool], owners: Vec<Process>) -> Self {
        let mut bits = Bits::new(of_file.len() as u32);
        for (page, _) in of_file.iter().enumerate().filter(|(_, of_file)| **of_file) {
            bits.set(Page(page as u32));
        }
        Self { of_file: bits, owners }
    }

    /// How many there are.
    pub fn footprint(&self) -> u32 {
        self.owners.len() as u32
    }

    /// Whether a file stands behind the page. Its copy is in storage from the
    /// beginning.
    pub fn is_of_file(&self, page: Page) -> bool {
        self.of_file.get(page)
    }

    /// The process that touched the page first; 0 where the trace does not say.
    pub fn owner(&self, page: Page) -> Process {
        self.owners[page.index()]
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = Page> {
        (0..self.footprint()).map(Page)
    }

    /// Those of files.
    pub fn of_files(&self) -> impl Iterator<Item = Page> {
        self.all().filter(|page| self.is_of_file(*page))
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.of_file.bytes() + size_of_val(&*self.owners)
    }
}
