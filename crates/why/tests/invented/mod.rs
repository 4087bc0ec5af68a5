//! Made-up events that a trace of Perfetto can hold.

/// Events with a switch, without which a trace is refused, and without interrupts of the processor
/// itself: those with other names than the kernel's are not read.
pub(super) fn possible(bytes: &[u8]) -> Vec<u8> {
    const SWITCH: [u8; 4] = [0, 8, 1, 7];
    const VECTORS: [u8; 2] = [11, 12];
    let mut events = SWITCH.to_vec();
    events.extend(
        bytes.chunks_exact(4).filter(|event| !VECTORS.contains(&(event[0] & 31))).flatten(),
    );
    events
}
