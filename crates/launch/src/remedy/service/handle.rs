//! The handle of the service for another thread: sends orders, receives notes.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use unjank_host::wait::WakeEvent;

use crate::remedy::engine::PauseReason;
use crate::remedy::knobs::HeldKnob;
use crate::remedy::report::Note;

/// An order to the service.
#[derive(Debug)]
pub enum Order {
    /// Stop boosting until this pause ends.
    Pause(PauseReason),
    /// End a pause.
    Resume(PauseReason),
    /// Send the state.
    Status,
    /// Change these knobs, too.
    Take(Vec<HeldKnob>),
    /// End.
    Stop,
}

/// Sends orders to the service and receives its notes.
#[derive(Debug)]
pub struct ServiceHandle {
    pub(super) orders: Sender<Order>,
    pub(super) wake: Arc<WakeEvent>,
    /// The service's notes.
    pub notes: Receiver<Note>,
    /// Rung with each note.
    pub has_notes: Arc<WakeEvent>,
}

impl ServiceHandle {
    /// Sends an order.
    pub fn order(&self, order: Order) {
        // Fails only if the service has ended.
        let _nobody_there = self.orders.send(order);
        self.wake.send();
    }
}
