//! Processors without a known instruction for waiting.

use core::sync::atomic::AtomicU32;

use super::Monitor;
use crate::ticks::Ticks;

pub(super) fn monitor() -> Monitor {
    Monitor::Polling
}

#[inline]
pub(super) fn pause() {
    core::hint::spin_loop();
}

pub(super) fn wait_for_store(_: &AtomicU32, _: u32, _: Ticks) -> bool {
    false
}
