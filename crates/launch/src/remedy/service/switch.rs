//! How the other thread speaks with the service.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use unjank_host::wait::Doorbell;

use crate::remedy::knobs::Held;
use crate::remedy::report::Note;

/// What the service is asked to do.
#[derive(Debug)]
pub enum Order {
    /// To boost nothing until it is resumed.
    Pause,
    /// To go on after a pause.
    Resume,
    /// To tell its state.
    Status,
    /// To change these knobs, too.
    Take(Vec<Held>),
    /// To end.
    Stop,
}

/// The other thread's end: gives orders, and hears notes.
#[derive(Debug)]
pub struct Switch {
    pub(super) orders: Sender<Order>,
    pub(super) bell: Arc<Doorbell>,
    /// What the service tells.
    pub notes: Receiver<Note>,
    /// Rung with each note.
    pub noted: Arc<Doorbell>,
}

impl Switch {
    /// Gives an order.
    pub fn order(&self, order: Order) {
        // A service that has ended needs no orders.
        let _nobody_there = self.orders.send(order);
        self.bell.ring();
    }
}
