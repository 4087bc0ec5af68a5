//! Splits a stream of the Wayland protocol into its messages
//! ([wire format](https://wayland.freedesktop.org/docs/html/ch04.html#sect-Protocol-Wire-Format)):
//! two words of 32 bits in the machine's byte order, the object, and size and opcode,
//! then arguments in whole words.

/// Length of the two words.
const HEADER: usize = 8;

/// One message.
pub(super) struct Message<'a> {
    /// The object that it is sent to, or that it comes from.
    pub(super) object: u32,
    /// The request or event, by its place in the interface.
    pub(super) opcode: u16,
    /// The arguments that were not read yet.
    arguments: &'a [u8],
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The beginning of a message whose end has not come yet; a size has 16 bits.
    begun: Vec<u8>,
    /// Whether something came that is no message: its end is unknown, and so is all
    /// that follows.
    is_lost: bool,
}

impl Messages {
    /// Calls `each` with every message that ends in `bytes`.
    pub(super) fn split(&mut self, bytes: &[u8], mut each: impl FnMut(Message<'_>)) {
        if self.is_lost {
            return;
        }
        self.begun.extend_from_slice(bytes);
        let mut rest = self.begun.as_slice();
        while let Some((header, _)) = rest.split_at_checked(HEADER) {
            let (object, word) = (word(&header[..4]), word(&header[4..]));
            let size = (word >> 16) as usize;
            if size < HEADER || !size.is_multiple_of(4) {
                self.is_lost = true;
                self.begun = Vec::new();
                return;
            }
            let Some((message, after)) = rest.split_at_checked(size) else { break };
            let arguments = &message[HEADER..];
            each(Message { object, opcode: (word & 0xffff) as u16, arguments });
            rest = after;
        }
        let ended = self.begun.len() - rest.len();
        self.begun.drain(..ended);
    }
}

impl<'a> Message<'a> {
    /// The next argument: a number, an object or a new object.
    pub(super) fn word(&mut self) -> Option<u32> {
        let (bytes, rest) = self.arguments.split_at_checked(4)?;
        self.arguments = rest;
        Some(word(bytes))
    }

    /// The next argument: a string, with its length before it and a zero at its end.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.word()? as usize;
        let (bytes, rest) = self.arguments.split_at_checked(length.checked_next_multiple_of(4)?)?;
        self.arguments = rest;
        bytes.get(..length.checked_sub(1)?)
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{message, string};
    use super::*;

    fn seen(messages: &mut Messages, bytes: &[u8]) -> Vec<(u32, u16, Option<u32>)> {
        let mut seen = Vec::new();
        messages.split(bytes, |mut message| {
            seen.push((message.object, message.opcode, message.word()));
        });
        seen
    }

    #[test]
    fn messages_are_found_wherever_the_stream_is_cut() {
        let stream = [message(1, 1, &[2]), message(7, 6, &[]), message(9, 0, &[5, 6])].concat();
        let whole = [(1, 1, Some(2)), (7, 6, None), (9, 0, Some(5))];
        assert_eq!(seen(&mut Messages::default(), &stream), whole);
        for cut in 0..=stream.len() {
            let mut messages = Messages::default();
            let mut found = seen(&mut messages, &stream[..cut]);
            found.extend(seen(&mut messages, &stream[cut..]));
            assert_eq!(found, whole, "cut at {cut}");
        }
    }

    #[test]
    fn strings_have_their_length_and_end_with_zero() {
        for text in ["", "abc", "wl_compositor"] {
            let bytes = message(3, 0, &[&[8], string(text).as_slice(), &[4]].concat());
            Messages::default().split(&bytes, |mut message| {
                assert_eq!(message.word(), Some(8));
                assert_eq!(message.string(), Some(text.as_bytes()));
                assert_eq!(message.word(), Some(4));
                assert_eq!(message.word(), None);
            });
        }
        // No string, and one that is longer than its message.
        for words in [&[0_u32][..], &[9, 0], &[u32::MAX]] {
            Messages::default().split(&message(3, 0, words), |mut message| {
                assert_eq!(message.string(), None);
            });
        }
    }

    #[test]
    fn nothing_is_found_behind_what_is_no_message() {
        for size in [0, 4, 7, 9] {
            let mut messages = Messages::default();
            let broken = [1_u32, size << 16].map(u32::to_ne_bytes).concat();
            assert_eq!(seen(&mut messages, &[broken, message(1, 0, &[])].concat()), []);
            assert_eq!(seen(&mut messages, &message(1, 0, &[])), []);
        }
    }
}
