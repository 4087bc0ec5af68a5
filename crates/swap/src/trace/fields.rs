//! Splits a line into fields and words.

/// Splits a line into exactly `N` fields.
#[inline]
pub(super) fn fields<const N: usize>(line: &[u8], by: u8) -> Option<[&[u8]; N]> {
    let mut fields = [&b""[..]; N];
    let mut rest = line;
    for field in &mut fields[..N - 1] {
        let end = memchr::memchr(by, rest)?;
        *field = rest[..end].trim_ascii();
        rest = &rest[end + 1..];
    }
    if memchr::memchr(by, rest).is_some() {
        return None;
    }
    fields[N - 1] = rest.trim_ascii();
    Some(fields)
}

/// Takes the next word off `rest`; empty at the end.
#[inline]
pub(super) fn word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let text = rest.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    *rest = &text[end..];
    &text[..end]
}
