//! Backing and owner of each page of a trace.

use super::Process;
use crate::bits::Bits;
use crate::page::Page;

/// Backing and owner of each page.
#[derive(Debug, Clone)]
pub struct Pages {
    of_file: Bits,
    owners: Vec<Process>,
}

impl Pages {
    /// Takes, for each page, whether it is of a file and which process touched it first. Both have
    /// the same length.
    pub fn new(of_file: &[bool], owners: Vec<Process>) -> Self {
        let mut bits = Bits::new(of_file.len() as u32);
        for (page, _) in of_file.iter().enumerate().filter(|(_, of_file)| **of_file) {
            bits.set(Page(page as u32));
        }
        Self { of_file: bits, owners }
    }

    /// How many pages there are.
    pub fn footprint(&self) -> u32 {
        self.owners.len() as u32
    }

    /// Whether the page is of a file. Such a page has a copy in storage from the beginning.
    pub fn is_of_file(&self, page: Page) -> bool {
        self.of_file.get(page)
    }

    /// The process that touched the page first; 0 if the trace does not say.
    pub fn owner(&self, page: Page) -> Process {
        self.owners[page.index()]
    }

    /// All pages.
    pub fn all(&self) -> impl Iterator<Item = Page> {
        (0..self.footprint()).map(Page)
    }

    /// All file pages.
    pub fn of_files(&self) -> impl Iterator<Item = Page> {
        self.all().filter(|page| self.is_of_file(*page))
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.of_file.bytes() + size_of_val(&*self.owners)
    }
}
