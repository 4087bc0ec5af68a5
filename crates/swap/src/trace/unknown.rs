//! What is said of a file whose format nobody knows.

use super::stop::shown;

/// Ways to pack files that are not unpacked here, by what such files begin with.
const PACKED: [(&[u8], &str); 5] = [
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!", "RAR"),
    (b"\x1f\x9d", "compress"),
];

/// Of a file with bytes that no text has.
pub(super) fn binary(head: &[u8]) -> String {
    match packing(head) {
        Some(packing) => format!("packed with {packing}, which is not unpacked here"),
        None => "in none of the binary formats that are known".to_owned(),
    }
}

/// Of lines that are in none of the formats of text.
pub(super) fn text(head: &[u8]) -> String {
    if let Some(packing) = packing(head) {
        return format!("it is packed with {packing}, which is not unpacked here");
    }
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let begins = format!("it begins with {}", shown(first));
    match numbers(first) {
        0 => format!("{begins}, which is in none of the formats that are known"),
        1 => format!(
            "{begins}, and no line says what the numbers are: --columns does, as in --columns page"
        ),
        2 => format!(
            "{begins}, and no line says what the numbers are: --columns does, as in --columns \
             time,page; --format ariadne reads them as Ariadne's swap-ins"
        ),
        _ => format!(
            "{begins}, and no line says what the numbers are: --columns does, as in --columns \
             time,page,size"
        ),
    }
}

fn packing(head: &[u8]) -> Option<&'static str> {
    PACKED.iter().find(|(mark, _)| head.starts_with(mark)).map(|(_, name)| *name)
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
