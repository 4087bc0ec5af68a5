//! The first page of a swap area, as mkswap(8) writes it: `union swap_header` of
//! `include/linux/swap.h`.

/// The volume label of an area.
pub type Label = [u8; 16];

/// The offset of the UUID, of 16 bytes, in the page.
pub const UUID_AT: usize = 1036;
/// The offset of the label.
pub const LABEL_AT: usize = 1052;

/// The header of an area of `pages` pages of `page` bytes each. Its UUID is zero.
pub fn header(pages: u64, page: u64, label: &Label) -> Vec<u8> {
    const VERSION: u32 = 1;
    const MAGIC: &[u8] = b"SWAPSPACE2";
    let mut header = vec![0; page as usize];
    header[1024..1028].copy_from_slice(&VERSION.to_ne_bytes());
    let last = u32::try_from(pages - 1).unwrap_or(u32::MAX);
    header[1028..1032].copy_from_slice(&last.to_ne_bytes());
    header[LABEL_AT..][..label.len()].copy_from_slice(label);
    let end = header.len();
    header[end - MAGIC.len()..].copy_from_slice(MAGIC);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_that_of_mkswap() {
        let header = header(2560, 4096, b"unjank temporary");
        assert_eq!(header.len(), 4096);
        assert_eq!(header[1024..1032], [1, 0, 0, 0, 0xff, 9, 0, 0]);
        assert_eq!(&header[1052..1068], b"unjank temporary");
        assert_eq!(&header[4086..], b"SWAPSPACE2");
    }
}
