//! Messages for tests.

/// A message with these words after its header.
pub(super) fn message(object: u32, opcode: u16, arguments: &[u32]) -> Vec<u8> {
    let size = (8 + 4 * arguments.len()) as u32;
    let header = [object, size << 16 | u32::from(opcode)];
    header.iter().chain(arguments).flat_map(|word| word.to_ne_bytes()).collect()
}

/// The words of a string.
pub(super) fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((text.len() + 1).next_multiple_of(4), 0);
    let (words, _) = bytes.as_chunks();
    let words = words.iter().map(|word| u32::from_ne_bytes(*word));
    [text.len() as u32 + 1].into_iter().chain(words).collect()
}

/// All that a client sends until its window is shown.
pub(super) fn window() -> Vec<u8> {
    let bind = |interface: &str, number| {
        message(2, 0, &[&[1], string(interface).as_slice(), &[1, number]].concat())
    };
    [
        message(1, 1, &[2]),
        bind("wl_compositor", 3),
        bind("xdg_wm_base", 4),
        message(3, 0, &[5]),
        message(4, 2, &[6, 5]),
        message(6, 1, &[7]),
        message(5, 1, &[8, 0, 0]),
        message(5, 6, &[]),
    ]
    .concat()
}
