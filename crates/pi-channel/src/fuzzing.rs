//! Entry points for the fuzzer; only in builds of the fuzzer.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use crate::lane::{Lane, Response};
use crate::layout::{Geometry, MAGIC};
use crate::mapping::Mapping;
use crate::message;
use crate::thread;
use crate::version::VERSION;

/// Decodes bytes as a message.
///
/// # Panics
/// If a decoded message differs after encoding and decoding.
pub fn message(bytes: &[u8]) {
    message::decode_for_fuzzing(bytes);
}

/// Opens memory with these bytes as a lane and uses it from both sides: first the
/// bytes as they are, then behind a valid header whose capacities are taken from
/// the first bytes.
///
/// # Panics
/// If more is read or written than the lane has.
pub fn lane(bytes: &[u8]) {
    offer(bytes, bytes.len());
    let Some((capacities, words)) = bytes.split_first_chunk::<4>() else { return };
    let [request, reply] = [[capacities[0], capacities[1]], [capacities[2], capacities[3]]]
        .map(|capacity| u16::from_ne_bytes(capacity) & 0x3fff);
    let geometry = Geometry::new(request.into(), reply.into()).expect("it is less than the most");
    let header = [VERSION, request.into(), reply.into()].map(u32::to_ne_bytes);
    let memory = [&MAGIC.to_ne_bytes(), header.as_flattened(), words].concat();
    offer(&memory, geometry.length());
}

fn offer(bytes: &[u8], length: usize) {
    let Ok((_ours, fd)) = Mapping::create("fuzz", length.max(1)) else { return };
    let file = File::from(fd);
    // Only its size is sealed.
    file.write_all_at(&bytes[..bytes.len().min(length)], 0).expect("it is as long");
    let Ok(lane) = Lane::open(&file) else { return };
    let geometry = lane.geometry();
    let me = thread::number();
    for number in [0, 1, u32::MAX] {
        let _incoming = lane.poll(number);
        let _answered = (lane.is_answered(number), lane.is_closed(), lane.server_cpu());
        if let Ok(request) = lane.request() {
            assert!(request.len() <= geometry.request_capacity());
            let mut copy = vec![0; request.len()];
            assert_eq!(request.read_at(0, &mut copy), copy.len());
        }
        let _claims = (lane.client_priority(), lane.client_cpu());
        assert!(lane.room_for_reply().write(&vec![1; geometry.reply_capacity()]).is_ok());
        let _broken = lane.answer(number, Response::Bytes(geometry.reply_capacity()), me);
        if let Ok(reply) = lane.reply() {
            assert!(reply.len() <= geometry.reply_capacity());
        }
    }
}
