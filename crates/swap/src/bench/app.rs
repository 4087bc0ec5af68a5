//! An app: a process that touches its pages as it is told, and tells which it waited for.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use unjank_host::memory::{Access, Faults, LockedPages, Mapping, MemoryLock, page_size};
use unjank_host::{Error, Result, Support, Timestamp};

use super::message::{self, Done, Kind, Touch};

/// What an app needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Pages of its own.
    pub pages: u32,
    /// Pages that it pins.
    pub pinned: u32,
    /// The file that all apps share, and its pages.
    pub file: PathBuf,
    /// Pages of that file.
    pub file_pages: u32,
}

impl Setup {
    /// As arguments of a command.
    pub fn arguments(&self) -> Vec<std::ffi::OsString> {
        let numbers = [self.pages, self.pinned, self.file_pages];
        let numbers = numbers.into_iter().map(|number| number.to_string().into());
        numbers.chain([self.file.clone().into_os_string()]).collect()
    }
}

/// The memory of an app.
struct Memory {
    own: Mapping,
    /// Whether a page has content.
    filled: Vec<bool>,
    files: Mapping,
    file: std::fs::File,
    _pinned: Option<LockedPages>,
    /// The process itself: only its pages compete for memory.
    _itself: Support<MemoryLock>,
}

/// Serves until the end of `input`.
///
/// # Errors
/// No memory; the file cannot be mapped; a page that came back with another content; `input` or
/// `output` is closed early or malformed.
pub fn serve(setup: &Setup, input: &mut impl Read, output: &mut impl Write) -> Result<()> {
    let mut memory = Memory::new(setup)?;
    let told = |source| Error::file("read", "the bench's messages", source);
    let mut touches = Vec::new();
    while message::receive_touches(input, &mut touches).map_err(told)? {
        let done = memory.touch_all(&touches)?;
        message::send_done(output, &done)
            .map_err(|source| Error::file("write to", "the bench", source))?;
    }
    Ok(())
}

impl Memory {
    fn new(setup: &Setup) -> Result<Self> {
        let itself = MemoryLock::what_is_mapped();
        let file = OpenOptions::new().read(true).write(true).open(&setup.file);
        let file = file.map_err(|source| Error::file("open", &setup.file, source))?;
        let files = Mapping::of_file(&file, setup.file_pages.max(1) as usize, Access::Random)?;
        let pinned = (setup.pinned > 0).then(|| LockedPages::new(setup.pinned as usize));
        Ok(Self {
            own: Mapping::anonymous(setup.pages.max(1) as usize)?,
            filled: vec![false; setup.pages as usize],
            files,
            file,
            _pinned: pinned.transpose()?,
            _itself: itself,
        })
    }

    fn touch_all(&mut self, touches: &[Touch]) -> Result<Done> {
        let mut waited = Vec::new();
        let mut before = Faults::of_this_thread()?;
        let start = Timestamp::now();
        for touch in touches {
            self.touch(*touch)?;
            let after = Faults::of_this_thread()?;
            if after.major > before.major {
                waited.push(*touch);
            }
            before = after;
        }
        Ok(Done { taken: Timestamp::now().since(start), waited })
    }

    fn touch(&mut self, Touch { kind, page }: Touch) -> Result<()> {
        let index = page as usize;
        let is_own = matches!(kind, Kind::Read | Kind::Write | Kind::First);
        let pages = if is_own { self.filled.len() } else { self.files.pages() };
        if index >= pages {
            return Err(Error::Invalid(format!("page {page} of {pages} was asked for")));
        }
        match kind {
            Kind::ReadFile => {
                std::hint::black_box(self.files.touch(index));
            }
            Kind::WriteFile => {
                let content = vec![page as u8; page_size().get() as usize];
                let written = self.file.write_all_at(&content, u64::from(page) * page_size().get());
                written.map_err(|source| Error::file("write", "the apps' file", source))?;
            }
            Kind::First => self.fill(page),
            Kind::Read | Kind::Write if !self.filled[index] => self.fill(page),
            Kind::Read => self.check(page)?,
            Kind::Write => {
                self.check(page)?;
                self.own.write(index, 1, u64::from(page) + 1);
            }
        }
        Ok(())
    }

    /// Gives a page content that compresses about as well as that of programs: one word in four is
    /// random, and the others repeat it.
    fn fill(&mut self, page: u32) {
        self.filled[page as usize] = true;
        let mut word = mark(page);
        let mut index = 0_u32;
        self.own.fill(page as usize, || {
            if index > 0 && index.is_multiple_of(4) {
                word = mix(word);
            }
            index += 1;
            word
        });
    }

    /// Checks the first word of a page.
    fn check(&self, page: u32) -> Result<()> {
        let word = self.own.read(page as usize, 0);
        if word == mark(page) {
            return Ok(());
        }
        Err(Error::Unsupported(format!(
            "page {page} came back with another content: {word:x} instead of {:x}",
            mark(page)
        )))
    }
}

/// The first word of a page.
fn mark(page: u32) -> u64 {
    mix(u64::from(page) | 1 << 32)
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014).
fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_touches_what_it_is_told_and_answers_each_message() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("files");
        std::fs::write(&file, vec![0; 4 * page_size().get() as usize]).unwrap();
        let setup = Setup { pages: 8, pinned: 1, file, file_pages: 4 };
        assert_eq!(setup.arguments()[..3], ["8", "1", "4"]);
        let touch = |kind, page| Touch { kind, page };
        let all = [
            touch(Kind::First, 3),
            touch(Kind::Read, 3),
            touch(Kind::Write, 3),
            touch(Kind::Read, 3),
            touch(Kind::Read, 7),
            touch(Kind::ReadFile, 1),
            touch(Kind::WriteFile, 2),
        ];
        let (mut input, mut output) = (Vec::new(), Vec::new());
        for part in all.chunks(3) {
            message::send_touches(&mut input, part).unwrap();
        }
        serve(&setup, &mut &*input, &mut output).unwrap();
        let mut from = &*output;
        for _ in all.chunks(3) {
            assert!(message::receive_done(&mut from).unwrap().taken.get() > 0);
        }
        assert!(from.is_empty());
        let mut input = Vec::new();
        message::send_touches(&mut input, &[touch(Kind::Read, 8)]).unwrap();
        assert!(serve(&setup, &mut &*input, &mut Vec::new()).is_err(), "it has 8 pages");
    }

    #[test]
    fn another_content_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("files");
        std::fs::write(&file, vec![0; page_size().get() as usize]).unwrap();
        let mut memory = Memory::new(&Setup { pages: 2, pinned: 0, file, file_pages: 1 }).unwrap();
        memory.fill(1);
        memory.check(1).unwrap();
        memory.own.write(1, 0, 7);
        let error = memory.check(1).unwrap_err().to_string();
        assert!(error.starts_with("page 1 came back with another content"), "{error}");
    }
}
