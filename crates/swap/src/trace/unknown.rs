//! Error messages for a file of unknown format.

use super::stop::shown;

/// Unsupported compression formats and archives, by the first bytes of a file.
const UNSUPPORTED: [(&[u8], &str); 5] = [
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!", "RAR"),
    (b"\x1f\x9d", "compress"),
];

/// The message for a file that is not text.
pub(super) fn binary(head: &[u8]) -> String {
    match compression(head) {
        Some(compression) => format!("it is compressed with {compression}, which is not supported"),
        None => "it is not text and matches no known binary format".to_owned(),
    }
}

/// The message for lines that match no known text format.
pub(super) fn text(head: &[u8]) -> String {
    if let Some(compression) = compression(head) {
        return format!("it is compressed with {compression}, which is not supported");
    }
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let begins = format!("it begins with {}", shown(first));
    match numbers(first) {
        0 => format!("{begins}, which matches no known format"),
        1 => format!("{begins}, and no header names its columns; name them: --columns page"),
        2 => format!(
            "{begins}, and no header names its columns; name them, as in --columns time,page; \
             --format ariadne reads them as Ariadne's swap-ins"
        ),
        _ => format!(
            "{begins}, and no header names its columns; name them, as in --columns time,page,size"
        ),
    }
}

fn compression(head: &[u8]) -> Option<&'static str> {
    UNSUPPORTED.iter().find(|(mark, _)| head.starts_with(mark)).map(|(_, name)| *name)
}

/// How many fields a line of nothing but numbers has; 0 for any other line.
fn numbers(line: &[u8]) -> usize {
    let is_end = |byte: &u8| matches!(byte, b',' | b'\t' | b';' | b'|' | b' ');
    let fields = || line.split(is_end).map(<[u8]>::trim_ascii).filter(|field| !field.is_empty());
    let is_number = |field: &[u8]| {
        field.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'))
    };
    if fields().all(is_number) { fields().count() } else { 0 }
}
