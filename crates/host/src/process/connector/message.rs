//! The messages of the proc connector, as bytes: `linux/netlink.h`,
//! `linux/connector.h` and `linux/cn_proc.h`.

use super::event::{COMM, EXEC, EXIT, EventKinds, FORK, ProcessEvent};
use crate::clock::Timestamp;

/// `CN_IDX_PROC` and `CN_VAL_PROC`: the number of this connector, and the
/// multicast group of its messages.
pub(super) const CONNECTOR: u32 = 1;

/// `PROC_CN_MCAST_LISTEN`.
const LISTEN: u32 = 1;
/// `PROC_CN_MCAST_IGNORE`.
const IGNORE: u32 = 2;
/// `NLMSG_DONE`, the type of every message of a connector.
const DONE: u16 = 3;
/// `sizeof(struct nlmsghdr)`.
const NETLINK_HEADER: usize = 16;
/// `sizeof(struct cn_msg)`.
const CONNECTOR_HEADER: usize = 20;
/// The offset of the fields of `struct proc_event` that depend on the event:
/// after `what`, `cpu` and `timestamp_ns`.
const EVENT_HEADER: usize = 16;

/// `PROC_EVENT_NONE`: the answer to a request.
const NONE: u32 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    /// An event of a process.
    Event(ProcessEvent),
    /// The kernel's answer to a request of some listener: an error number, or 0.
    Answer(u32),
    /// A thread got a name.
    Named { process: u32, thread: u32 },
    /// A thread other than the first one of its process was created.
    Began { process: u32, thread: u32 },
}

/// The request for events of `kinds`. With `filtered`, for kernels from 6.6 on,
/// which take a `struct proc_input` and send nothing else; otherwise for all
/// kernels, which then send every event.
pub(super) fn listen(kinds: EventKinds, filtered: bool) -> Vec<u8> {
    let wish = if kinds == EventKinds::NONE { IGNORE } else { LISTEN };
    let input = [wish, kinds.bits()];
    let input = if filtered { &input[..] } else { &input[..1] };
    let payload = size_of_val(input);
    let length = NETLINK_HEADER + CONNECTOR_HEADER + payload;
    let mut bytes = Vec::with_capacity(length);
    let word = |bytes: &mut Vec<u8>, word: u32| bytes.extend(word.to_ne_bytes());
    let half = |bytes: &mut Vec<u8>, half: u16| bytes.extend(half.to_ne_bytes());
    word(&mut bytes, length as u32);
    half(&mut bytes, DONE);
    half(&mut bytes, 0);
    word(&mut bytes, 0);
    word(&mut bytes, 0);
    for value in [CONNECTOR, CONNECTOR, 0, 0] {
        word(&mut bytes, value);
    }
    half(&mut bytes, payload as u16);
    half(&mut bytes, 0);
    for &value in input {
        word(&mut bytes, value);
    }
    bytes
}

/// Decodes the messages in one datagram. Other bytes and events are skipped, and
/// so are the ends of threads.
pub(super) fn decode(mut datagram: &[u8], mut each: impl FnMut(Message)) {
    while let Some(length) = word(datagram, 0) {
        let length = length as usize;
        if length < NETLINK_HEADER || length > datagram.len() {
            return;
        }
        if let Some(message) = one(&datagram[NETLINK_HEADER..length]) {
            each(message);
        }
        // Messages begin at multiples of four (`NLMSG_ALIGN`).
        let next = length.next_multiple_of(4).min(datagram.len());
        datagram = &datagram[next..];
    }
}

fn one(connector: &[u8]) -> Option<Message> {
    if (word(connector, 0)?, word(connector, 4)?) != (CONNECTOR, CONNECTOR) {
        return None;
    }
    let event = connector.get(CONNECTOR_HEADER..)?;
    let at = Timestamp::from_nanos(u64::from_ne_bytes(event.get(8..16)?.try_into().ok()?));
    let field = |index: usize| word(event, EVENT_HEADER + 4 * index);
    let event = match word(event, 0)? {
        NONE => return field(0).map(Message::Answer),
        COMM => return Some(Message::Named { thread: field(0)?, process: field(1)? }),
        EXEC => ProcessEvent::Exec { process: field(1)?, at },
        FORK => {
            let (parent, thread, child) = (field(1)?, field(2)?, field(3)?);
            if thread != child {
                return Some(Message::Began { process: child, thread });
            }
            ProcessEvent::Fork { parent, child, at }
        }
        EXIT => {
            let (thread, process) = (field(0)?, field(1)?);
            if thread != process {
                return None;
            }
            ProcessEvent::Exit { process, at }
        }
        _ => return None,
    };
    Some(Message::Event(event))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A message as the kernel sends it.
    fn message(what: u32, fields: &[u32]) -> Vec<u8> {
        let payload = EVENT_HEADER + 4 * fields.len();
        let length = NETLINK_HEADER + CONNECTOR_HEADER + payload;
        let mut bytes = Vec::new();
        bytes.extend((length as u32).to_ne_bytes());
        bytes.extend([3, 0, 0, 0]);
        bytes.extend([0; 8]);
        for value in [CONNECTOR, CONNECTOR, 7, 0] {
            bytes.extend(value.to_ne_bytes());
        }
        bytes.extend((payload as u16).to_ne_bytes());
        bytes.extend([0; 2]);
        bytes.extend(what.to_ne_bytes());
        bytes.extend(1_u32.to_ne_bytes());
        bytes.extend(5_000_u64.to_ne_bytes());
        for field in fields {
            bytes.extend(field.to_ne_bytes());
        }
        bytes
    }

    fn decoded(bytes: &[u8]) -> Vec<Message> {
        let mut all = Vec::new();
        decode(bytes, |message| all.push(message));
        all
    }

    #[test]
    fn events_of_processes_are_told_apart_from_those_of_threads() {
        let at = Timestamp::from_nanos(5_000);
        let read = |what, fields: &[u32]| decoded(&message(what, fields));
        assert_eq!(read(EXEC, &[7, 7]), [Message::Event(ProcessEvent::Exec { process: 7, at })]);
        assert_eq!(
            read(FORK, &[7, 6, 9, 9]),
            [Message::Event(ProcessEvent::Fork { parent: 6, child: 9, at })]
        );
        assert_eq!(read(FORK, &[7, 6, 9, 6]), [Message::Began { process: 6, thread: 9 }]);
        assert_eq!(
            read(EXIT, &[7, 7, 0, 17, 1, 1]),
            [Message::Event(ProcessEvent::Exit { process: 7, at })]
        );
        assert_eq!(read(EXIT, &[8, 7, 0, 17, 1, 1]), []);
        assert_eq!(read(NONE, &[1]), [Message::Answer(1)]);
        assert_eq!(read(COMM, &[8, 7]), [Message::Named { process: 7, thread: 8 }]);
        assert_eq!(read(4, &[7, 7, 0, 0]), [], "another user");
    }

    #[test]
    fn a_datagram_may_hold_several_messages() {
        let both = [message(EXEC, &[7, 7]), message(EXIT, &[7, 7, 0, 0, 1, 1])].concat();
        assert_eq!(decoded(&both).len(), 2);
        assert_eq!(decoded(&both[..both.len() - 1]).len(), 1, "the second one is cut off");
    }

    #[test]
    fn a_request_is_as_long_as_it_says() {
        for (filtered, length) in [(false, 40), (true, 44)] {
            let request = listen(EventKinds::EXEC, filtered);
            assert_eq!(request.len(), length);
            assert_eq!(word(&request, 0), Some(length as u32));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            decode(&bytes, |_| {});
        }
    }
}
