//! Writes packets to a file, one by one. A trace file is one message, and protobuf reads
//! concatenated messages as one, so each packet is written as a `Trace` of its own.

use std::io::{self, Write};

use prost::Message as _;

use super::packets::{File, Packet};

/// Writes packets.
pub(super) struct PacketWriter<'a, W> {
    out: &'a mut W,
    bytes: u64,
}

impl<'a, W: Write> PacketWriter<'a, W> {
    pub(super) fn new(out: &'a mut W) -> Self {
        Self { out, bytes: 0 }
    }

    pub(super) fn write(&mut self, packet: Packet) -> io::Result<()> {
        let file = File { packet: Some(packet) };
        let bytes = file.encode_to_vec();
        self.bytes += bytes.len() as u64;
        self.out.write_all(&bytes)
    }

    /// The number of bytes that were written.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
