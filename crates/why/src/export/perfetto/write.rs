//! Packets into a file, one by one: a file is one message, and messages that
//! follow each other are read as one.

use std::io::{self, Write};

use prost::Message as _;

use super::packets::{File, Packet};

/// Writes packets.
pub(super) struct PacketWriter<'a, W> {
    out: &'a mut W,
}

impl<'a, W: Write> PacketWriter<'a, W> {
    pub(super) fn new(out: &'a mut W) -> Self {
        Self { out }
    }

    pub(super) fn write(&mut self, packet: Packet) -> io::Result<()> {
        let file = File { packet: Some(packet) };
        self.out.write_all(&file.encode_to_vec())
    }
}
