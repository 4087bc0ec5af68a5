//! The mappings of a process, and how much anonymous memory each has: `proc_pid_smaps(5)`.

use std::ops::Range;

use unjank_units::Bytes;

/// A mapping that only its process writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Private {
    pub(super) addresses: Range<u64>,
    /// Its anonymous pages in memory.
    pub(super) anonymous: Bytes,
}

/// The private mappings with anonymous memory. Lines that are not understood are skipped.
pub(super) fn parse(text: &str) -> Vec<Private> {
    let mut all: Vec<Private> = Vec::new();
    let mut current = None;
    for line in text.lines() {
        if let Some((addresses, is_private)) = heading(line) {
            current = is_private.then_some(addresses);
        } else if let (Some(addresses), Some(size)) = (&current, anonymous(line))
            && size > Bytes(0)
        {
            all.push(Private { addresses: addresses.clone(), anonymous: size });
        }
    }
    all
}

/// The first line of a mapping: `7f12a000-7f12c000 rw-p 00000000 …`; its addresses, and whether only
/// its process writes to it.
fn heading(line: &str) -> Option<(Range<u64>, bool)> {
    let (addresses, rest) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let addresses = number(start)?..number(end)?;
    let is_private = rest.as_bytes().get(3) == Some(&b'p');
    let is_private = is_private && !addresses.is_empty();
    Some((addresses, is_private))
}

/// `Anonymous:            12 kB`.
fn anonymous(line: &str) -> Option<Bytes> {
    let size = line.strip_prefix("Anonymous:")?.trim().strip_suffix(" kB")?;
    size.parse().ok().map(Bytes::from_kib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_mappings_with_anonymous_memory_are_found() {
        let text = "55d0-55d8 r-xp 00000000 fe:00 12   /bin/cat\nSize: 32 kB\nAnonymous:     0 kB\n\
                    7f00-7f40 rw-p 00000000 00:00 0   [heap]\nRss: 8 kB\nAnonymous:     8 kB\n\
                    8000-9000 rw-s 00000000 00:05 7   /dev/zero\nAnonymous:     4 kB\n\
                    x\n9-8 rw-p\nAnonymous:  4 kB\n";
        let heap = Private { addresses: 0x7f00..0x7f40, anonymous: Bytes::from_kib(8) };
        assert_eq!(parse(text), [heap]);
    }
}
