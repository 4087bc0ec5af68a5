//! Writes packets to a file, one by one. A trace file is one message, and protobuf reads
//! concatenated messages as one, so each packet is written as a `Trace` of its own.

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
