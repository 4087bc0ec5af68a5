//! A followed launch.

use unjank_host::Timestamp;

use super::end_reason::EndReason;
use crate::remedy::members::Members;
use crate::remedy::settle::SettleDetector;

#[derive(Debug)]
pub(super) struct Launch {
    pub(super) process: u32,
    pub(super) program: String,
    pub(super) begun: Timestamp,
    pub(super) until: Timestamp,
    pub(super) at_limit: EndReason,
    pub(super) members: Members,
    pub(super) settle: SettleDetector,
}
