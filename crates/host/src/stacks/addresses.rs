//! The addresses of a stack.

/// Deeper stacks are cut.
pub(super) const DEEPEST: usize = 128;

/// The addresses of the frames of a program, the innermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Frames {
    /// The current address, then the return addresses.
    pub(super) addresses: Vec<u64>,
    /// Whether the last one is the thread's first function.
    pub(super) is_whole: bool,
}

impl Frames {
    /// The frames before the first return address that is no code: something else was taken for
    /// that frame.
    pub(super) fn of_code(mut self, is_code: impl Fn(u64) -> bool) -> Self {
        let end = self.addresses.iter().skip(1).position(|address| !is_code(*address));
        if let Some(end) = end {
            self.addresses.truncate(end + 1);
            self.is_whole = false;
        }
        self
    }
}

/// Continues a stack that was cut with the part of `chain`, which follows frame
/// pointers, that lies above it. The chain alone where nothing else is known.
pub(super) fn continued(mut frames: Frames, chain: &[u64]) -> Frames {
    if frames.is_whole {
        return frames;
    }
    let last = frames.addresses.last();
    match last.and_then(|last| chain.iter().rposition(|address| address == last)) {
        Some(place) => frames.addresses.extend(&chain[place + 1..]),
        None if frames.addresses.len() <= 1 && !chain.is_empty() => {
            frames.addresses = chain.to_vec();
        }
        None => {}
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(addresses: &[u64], is_whole: bool) -> Frames {
        Frames { addresses: addresses.to_vec(), is_whole }
    }

    #[test]
    fn a_stack_ends_before_what_is_no_code() {
        let is_code = |address| address < 10;
        assert_eq!(frames(&[1, 2, 10, 3], true).of_code(is_code), frames(&[1, 2], false));
        assert_eq!(frames(&[1, 2, 3], true).of_code(is_code), frames(&[1, 2, 3], true));
        assert_eq!(frames(&[10, 2], true).of_code(is_code), frames(&[10, 2], true));
        assert_eq!(frames(&[], false).of_code(is_code), frames(&[], false));
    }

    #[test]
    fn frame_pointers_lead_on_where_the_copied_stack_ends() {
        let chain = [1, 3, 4, 5];
        assert_eq!(continued(frames(&[1, 2, 3], false), &chain), frames(&[1, 2, 3, 4, 5], false));
        assert_eq!(continued(frames(&[1, 2, 3], true), &chain), frames(&[1, 2, 3], true));
        assert_eq!(continued(frames(&[1, 2, 9], false), &chain), frames(&[1, 2, 9], false));
        assert_eq!(continued(frames(&[9], false), &chain), frames(&chain, false));
        assert_eq!(continued(frames(&[9], false), &[]), frames(&[9], false));
        assert_eq!(continued(frames(&[], false), &chain), frames(&chain, false));
    }
}
