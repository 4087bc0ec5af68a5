//! Records that are made by hand.

use super::super::format::{FieldPlace, NamedField};
use super::*;
use crate::clock::Timestamp;

fn format(name: &str, id: u16, fields: &[(&str, u16, u16)]) -> Format {
    let fields = [("common_flags", 2, 1), ("common_pid", 4, 4)].iter().chain(fields);
    let fields = fields.map(|&(name, offset, size)| NamedField {
        name: name.to_owned(),
        field: Field { offset, size, signed: true, place: FieldPlace::Here },
    });
    Format { name: name.to_owned(), id, fields: fields.collect() }
}

fn waking() -> Format {
    let fields = [("comm", 8, 16), ("pid", 24, 4), ("prio", 28, 4), ("target_cpu", 32, 4)];
    format("sched_waking", 375, &fields)
}

fn record(id: u16, numbers: [i32; 3]) -> Vec<u8> {
    let mut record = id.to_le_bytes().to_vec();
    record.extend([0, 0, 5, 0, 0, 0]);
    record.extend(*b"vic ==> tim\n\0\0\0\0");
    record.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    record
}

fn decode(decoder: &Decoder, data: &[u8]) -> Option<EventKind> {
    let at = Timestamp::from_nanos(9);
    let event = decoder.decode(&Record { at, data })?;
    assert_eq!(event.at, at);
    Some(event.kind)
}

#[test]
fn a_record_becomes_the_event_of_its_number() {
    let mut decoder = Decoder::default();
    decoder.learn("sched", &waking()).unwrap();
    let task = Task { tid: ThreadId(77), comm: "vic ==> tim\n".into(), prio: -1 };
    let at = Timestamp::from_nanos(9);
    let event = decoder.decode(&Record { at, data: &record(375, [77, -1, 1]) });
    let kind = EventKind::Waking { task, cpu: 1 };
    assert_eq!(event, Some(Event { at, current: ThreadId(5), context: Context::Thread, kind }));
    assert_eq!(decode(&decoder, &record(376, [77, 19, 1])), None, "never learned");
    assert_eq!(decode(&decoder, &record(375, [77, 19, -4])), None, "no such CPU");
    assert_eq!(decode(&decoder, &record(375, [77, 19, 1])[..33]), None, "cut");
    assert_eq!(decode(&decoder, &[]), None);
}

#[test]
fn an_event_that_lacks_a_field_is_refused() {
    let mut lacking = waking();
    lacking.fields.pop();
    let mut decoder = Decoder::default();
    assert_eq!(decoder.learn("sched", &lacking).unwrap_err(), "it has no field target_cpu");
    let unknown = format("ext4_sync", 9, &[]);
    assert_eq!(decoder.learn("ext4", &unknown).unwrap_err(), "it is not decoded");
}

#[test]
fn a_change_of_frequency_names_its_cpu() {
    let mut decoder = Decoder::default();
    let fields = [("state", 8, 4), ("cpu_id", 12, 4)];
    decoder.learn("power", &format("cpu_frequency", 1, &fields)).unwrap();
    let head = [1, 0, 0, 0, 3, 0, 0, 0];
    let record = [&head[..], &1_200_000_u32.to_le_bytes(), &1_u32.to_le_bytes()].concat();
    let frequency = Hertz::from_khz(1_200_000);
    assert_eq!(decode(&decoder, &record), Some(EventKind::Frequency { cpu: 1, frequency }));
}

#[test]
fn a_work_item_names_its_function() {
    let mut decoder = Decoder::default();
    let fields = [("work", 8, 8), ("function", 16, 8)];
    let begins = format("workqueue_execute_start", 1, &fields);
    decoder.learn("workqueue", &begins).unwrap();
    let (item, function) = (0xffff_8881_0000_0909_u64, 0xffff_ffff_8a00_1234_u64);
    let head = [1, 0, 0, 0, 3, 0, 0, 0];
    let record = [&head[..], &item.to_le_bytes(), &function.to_le_bytes()].concat();
    assert_eq!(decode(&decoder, &record), Some(EventKind::WorkBegins { item, function }));
}

#[test]
fn a_transaction_of_binder_is_sent_and_received_under_its_number() {
    let mut decoder = Decoder::default();
    let fields = [("debug_id", 8, 4), ("target_node", 12, 4), ("to_proc", 16, 4)];
    decoder.learn("binder", &format("binder_transaction", 1, &fields)).unwrap();
    let received = format("binder_transaction_received", 2, &fields[..1]);
    decoder.learn("rust_binder", &received).unwrap();
    let record = |id: u8| [&[id, 0, 0, 0, 3, 0, 0, 0], &[51, 1, 0, 0][..], &[0; 8]].concat();
    let transaction = 0x133;
    let sent = |role| Some(EventKind::BinderSent { transaction, process: ThreadId(0), role });
    // Without the fields that tell them apart, it is a call.
    assert_eq!(decode(&decoder, &record(1)), sent(BinderRole::Call));
    assert_eq!(decode(&decoder, &record(2)), Some(EventKind::BinderReceived { transaction }));
}

#[test]
fn a_thread_that_was_preempted_is_runnable() {
    let fields = [
        ("prev_comm", 8, 1),
        ("prev_pid", 9, 1),
        ("prev_prio", 10, 1),
        ("next_comm", 11, 1),
        ("next_pid", 12, 1),
        ("next_prio", 13, 1),
        ("prev_state", 14, 8),
    ];
    let mut decoder = Decoder::default();
    decoder.learn("sched", &format("sched_switch", 1, &fields)).unwrap();
    let runnable = |state: u64| {
        let head = [1, 0, 0, 0, 3, 0, 0, 0, b'p', 3, 4, b'n', 6, 7];
        let record = [&head[..], &state.to_le_bytes()].concat();
        match decode(&decoder, &record).unwrap() {
            EventKind::Switch { prev, prev_state, next } => {
                assert_eq!((prev.tid.0, next.tid.0), (3, 6));
                prev_state.is_runnable()
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(runnable(0), "R");
    assert!(runnable(0x100), "R+");
    assert!(!runnable(0x01), "S");
    assert!(!runnable(0x82), "D with wake-kill, before 4.14");
}

#[test]
fn flags_tell_interrupts_from_threads() {
    let mut decoder = Decoder::default();
    decoder.learn("timer", &format("hrtimer_expire_exit", 1, &[])).unwrap();
    let context = |flags: u8| {
        let at = Timestamp::from_nanos(9);
        let record = [1, 0, flags, 0, 3, 0, 0, 0];
        decoder.decode(&Record { at, data: &record }).map(|event| event.context)
    };
    assert_eq!(context(0x00), Some(Context::Thread));
    assert_eq!(context(0x01), Some(Context::Thread), "interrupts are off");
    assert_eq!(context(0x10), Some(Context::Softirq));
    assert_eq!(context(0x19), Some(Context::Irq), "in the middle of a soft interrupt");
    assert_eq!(context(0x40), Some(Context::Irq), "one that cannot be masked");
}

proptest::proptest! {
    #[test]
    fn any_record_is_decoded_or_skipped(
        bytes in proptest::collection::vec(0_u8.., 0..64),
        fields in proptest::collection::vec((0_u16..80, 0_u16..20), 2),
    ) {
        let (irq, name) = (fields[0], fields[1]);
        let mut format = format("irq_handler_entry", 7, &[("irq", irq.0, irq.1)]);
        let place = FieldPlace::Elsewhere;
        let field = Field { offset: name.0, size: name.1, signed: false, place };
        format.fields.push(NamedField { name: "name".to_owned(), field });
        let mut decoder = Decoder::default();
        decoder.learn("irq", &format).unwrap();
        let _decoded_or_none = decode(&decoder, &[&[7, 0], &bytes[..]].concat());
    }
}
