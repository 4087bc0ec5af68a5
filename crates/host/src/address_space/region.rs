//! One line of `/proc/PID/maps`: `proc_pid_maps(5)`.

/// A range of addresses with one mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// The first address, a multiple of the page size.
    pub start: u64,
    /// The end address, exclusive.
    pub end: u64,
    /// Whether it is executable.
    pub executable: bool,
    /// Whether other processes see writes to it (`MAP_SHARED`).
    pub shared: bool,
    /// Offset of `start` in the file, in bytes.
    pub offset: u64,
    /// Major and minor number of the file's device; 0, 0 without a file.
    pub device: (u32, u32),
    /// The inode of its file on that device. Shared anonymous memory has a file
    /// of the kernel, too.
    pub inode: u64,
    /// The file, or the kernel's name for the region (`[heap]`).
    pub name: Option<String>,
}

impl Region {
    /// `7f00-7f40 r-xp 00000000 fe:00 1234   /usr/lib/libc.so.6`.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let (start, end) = (number(start)?, number(end)?);
        let rights = words.next()?;
        let offset = number(words.next()?)?;
        let (major, minor) = words.next()?.split_once(':')?;
        let part = |text: &str| u32::from_str_radix(text, 16).ok();
        let device = (part(major)?, part(minor)?);
        let inode = words.next()?.parse().ok()?;
        let name = words.next().unwrap_or_default().trim_start();
        (start < end).then(|| Self {
            start,
            end,
            executable: rights.contains('x'),
            shared: rights.ends_with('s'),
            offset,
            device,
            inode,
            name: (!name.is_empty()).then(|| name.to_owned()),
        })
    }

    /// The path of its file as the process sees it; `None` for anonymous
    /// memory, and for a removed file.
    pub fn file(&self) -> Option<&str> {
        self.name.as_deref().filter(|name| name.starts_with('/') && !name.ends_with(" (deleted)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_addresses_rights_a_file_and_a_name() {
        let line = "7f00a000-7f00f000 r-xp 00028000 fe:01 1234          /usr/lib/a b.so (deleted)";
        let region = Region::parse(line).unwrap();
        assert_eq!((region.start, region.end, region.offset), (0x7f00_a000, 0x7f00_f000, 0x28000));
        assert_eq!((region.device, region.inode), ((0xfe, 1), 1234));
        assert_eq!((region.executable, region.shared), (true, false));
        assert_eq!(region.name.as_deref(), Some("/usr/lib/a b.so (deleted)"));
        assert_eq!(region.file(), None);
        let shared = Region::parse("10-20 rw-s 00000000 00:01 77 /dev/zero (deleted)").unwrap();
        assert_eq!((shared.shared, shared.inode), (true, 77));
        let memory = Region::parse("10-20 rwxp 00000000 00:00 0 ").unwrap();
        assert_eq!(memory.name, None);
        for broken in ["", "10 r-xp 0 0 0", "x-y r-xp 0 0:0 0", "20-10 rw-p 0 0:0 0", "1-2 r 0 0 0"]
        {
            assert_eq!(Region::parse(broken), None, "{broken}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_parsed(line in ".{0,120}") {
            let _either = Region::parse(&line);
        }
    }
}
