//! The client over a scripted driver.

use proptest::prelude::*;
use unjank_needs::allocations;

use super::*;
use crate::mapping::Mapping;
use crate::protocol::{
    BC_ACQUIRE_DONE, BC_FREE_BUFFER, BC_REPLY, BC_TRANSACTION, BC_TRANSACTION_SG, BR_ACQUIRE,
    BR_DEAD_REPLY, BR_ERROR, BR_NOOP, BR_ONEWAY_SPAM_SUSPECT, BR_REPLY, BR_TRANSACTION,
    BR_TRANSACTION_COMPLETE, BR_TRANSACTION_PENDING_FROZEN, BufferObject, ExtendedError, Layout,
    PtrCookie, TF_STATUS_CODE, TYPE_PTR, TransactionData,
};
use crate::scripted::{Bytes, Scripted, Step, streams};

const TARGET: Handle = Handle::CONTEXT_MANAGER;

/// The bytes of a call with the code 1 and the payload `hello`.
fn call() -> Bytes {
    let data = TransactionData { code: 1, data_size: 5, ..TransactionData::default() };
    Bytes::default().with(BC_TRANSACTION, &data)
}

/// The bytes that give a payload back.
fn freed(address: u64) -> Vec<u8> {
    Bytes::default().with(BC_FREE_BUFFER, &address).into()
}

/// The returns of a call that ends with `last`.
fn answered(last: u32) -> Bytes {
    Bytes::default().code(BR_NOOP).code(BR_TRANSACTION_COMPLETE).code(last)
}

fn reply(buffer: u64, data_size: u64, flags: u32) -> Bytes {
    let data = TransactionData { flags, data_size, buffer, ..TransactionData::default() };
    Bytes::default().code(BR_NOOP).code(BR_TRANSACTION_COMPLETE).with(BR_REPLY, &data)
}

fn client(steps: impl IntoIterator<Item = Step>) -> (Arc<Scripted>, Client) {
    let driver = Arc::new(Scripted::new(steps));
    (Arc::clone(&driver), Client::new(driver))
}

fn hello(client: &mut Client) -> Result<Vec<u8>> {
    let mut reply = b"what was here before".to_vec();
    client.call(TARGET, 1, b"hello", &mut reply).map(|()| reply)
}

fn error_after(step: Step) -> Error {
    hello(&mut client([step]).1).unwrap_err()
}

#[test]
fn a_call_writes_a_transaction_and_hands_out_the_reply() {
    let mapping = Mapping::anonymous(4096);
    let address = mapping.deliver(512, b"world!");
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            Step::writes(call()).pointing_to("hello").returns(reply(address, 6, 0)),
            Step::writes(call())
                .pointing_to("hello")
                .then(freed(address))
                .returns(reply(address, 2, 0)),
            Step::sends(freed(address)),
        ],
    ));
    let mut client = Client::new(Arc::clone(&driver) as Arc<dyn Driver>);
    assert_eq!(hello(&mut client).unwrap(), b"world!");
    assert_eq!(hello(&mut client).unwrap(), b"wo");
    assert_eq!(driver.left(), 1, "the reply is held until the next call");
    drop(client);
    assert_eq!(driver.left(), 0);
}

#[test]
fn a_large_reply_is_given_back_before_the_next_call_goes_out() {
    let mapping = Mapping::anonymous(64 << 10);
    let address = mapping.deliver(0, &[7; 1025]);
    let then = |size, next: Step| {
        [Step::whatever(reply(address, size, 0).into()), next.returns(reply(address, 0, 0))]
    };
    let before = Step::writes([freed(address), call().into()].concat()).pointing_to("hello");
    let after = Step::writes(call()).pointing_to("hello").then(freed(address));
    let steps = [then(1025, before), then(1024, after)].into_iter().flatten();
    let driver = Arc::new(Scripted::over(mapping, steps));
    for size in [1025, 1024] {
        let mut client = Client::new(Arc::clone(&driver) as Arc<dyn Driver>);
        assert_eq!(client.call_in_place(TARGET, 1, b"hello").unwrap().len(), size);
        client.call_in_place(TARGET, 1, b"hello").unwrap();
        // Its last reply would be given back on drop, which is not in the script.
        client.held = None;
    }
    assert_eq!(driver.left(), 0);
}

#[test]
fn a_reply_is_given_back_before_a_call_while_returns_are_left() {
    let mapping = Mapping::anonymous(4096);
    let address = mapping.deliver(0, b"ok");
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            Step::whatever(reply(address, 2, 0).code(BR_NOOP).into()),
            Step::sends([freed(address), call().into()].concat()).pointing_to("hello"),
            Step::reads().returns(answered(BR_FAILED_REPLY)),
        ],
    ));
    let mut client = Client::new(Arc::clone(&driver) as Arc<dyn Driver>);
    assert_eq!(hello(&mut client).unwrap(), b"ok");
    assert!(matches!(hello(&mut client), Err(Error::FailedReply { .. })));
    assert_eq!(driver.left(), 0);
}

#[test]
fn a_reply_is_given_back_even_if_the_next_call_fails() {
    let one_way =
        TransactionData { code: 1, flags: TF_ONE_WAY, data_size: 5, ..TransactionData::default() };
    for one_way in [None, Some(Bytes::default().with(BC_TRANSACTION, &one_way))] {
        let sends = one_way.is_some();
        let mapping = Mapping::anonymous(4096);
        let address = mapping.deliver(0, b"ok");
        let fails = Step::writes(one_way.unwrap_or_else(call))
            .pointing_to("hello")
            .then(freed(address))
            .takes(4 + size_of::<TransactionData>())
            .returns(Bytes::default().code(BR_NOOP).code(BR_FAILED_REPLY));
        let driver = Arc::new(Scripted::over(
            mapping,
            [
                Step::whatever(reply(address, 2, 0).into()),
                fails,
                Step::sends(freed(address)),
                Step::writes(call()).pointing_to("hello").returns(answered(BR_DEAD_REPLY)),
            ],
        ));
        let mut client = Client::new(Arc::clone(&driver) as Arc<dyn Driver>);
        assert_eq!(hello(&mut client).unwrap(), b"ok");
        let error = if sends {
            client.send(TARGET, 1, b"hello").unwrap_err()
        } else {
            hello(&mut client).unwrap_err()
        };
        assert!(matches!(error, Error::FailedReply { .. }), "{error}");
        assert!(matches!(hello(&mut client), Err(Error::DeadReply { .. })));
        drop(client);
        assert_eq!(driver.left(), 0, "and it is given back once");
    }
}

#[test]
fn a_reply_in_place_is_the_mapping_itself() {
    let mapping = Mapping::anonymous(4096);
    let address = mapping.deliver(512, b"world!");
    let freed = || Step::sends(freed(address));
    let step = || Step::writes(call()).pointing_to("hello").returns(reply(address, 6, 0));
    let driver = Arc::new(Scripted::over(mapping, [step(), freed(), step(), freed()]));
    let mut client = Client::new(Arc::clone(&driver) as Arc<dyn Driver>);
    let in_place = client.call_in_place(TARGET, 1, b"hello").unwrap();
    assert_eq!((&*in_place, in_place.as_ptr().addr() as u64), (&b"world!"[..], address));
    client.give_back().unwrap();
    client.give_back().unwrap();
    assert_eq!(driver.left(), 2, "it is given back once");
    assert_eq!(client.call_in_place(TARGET, 1, b"hello").unwrap().len(), 6);
    drop(client);
    assert_eq!(driver.left(), 0);
}

#[test]
fn the_reply_may_come_in_pieces_and_after_signals() {
    let mapping = Mapping::anonymous(4096);
    let address = mapping.deliver(0, b"ok");
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            Step::writes(call()).pointing_to("hello").takes(0).fails(libc::EINTR),
            Step::writes(call()).pointing_to("hello").fails(libc::EINTR),
            Step::reads().returns(Bytes::default().code(BR_NOOP)),
            Step::reads().returns(Bytes::default().code(BR_TRANSACTION_COMPLETE)),
            Step::reads().returns(reply(address, 2, 0)),
        ],
    ));
    assert_eq!(hello(&mut Client::new(driver)).unwrap(), b"ok");
}

#[test]
fn a_ping_is_a_call_without_payload() {
    let data = TransactionData { code: 0x5F50_4E47, ..TransactionData::default() };
    let ping = Bytes::default().with(BC_TRANSACTION, &data);
    let mapping = Mapping::anonymous(4096);
    let address = mapping.deliver(0, &[]);
    let step = Step::writes(ping).pointing_to("").returns(reply(address, 0, 0));
    Client::new(Arc::new(Scripted::over(mapping, [step]))).ping().unwrap();
}

#[test]
fn a_context_manager_is_waited_for() {
    let nobody = || Step::whatever(Bytes::default().code(BR_DEAD_REPLY).into());
    let mapping = Mapping::anonymous(4096);
    let answer = reply(mapping.deliver(0, &[]), 0, 0);
    let steps = [nobody(), nobody(), Step::whatever(answer.into())];
    let mut client = Client::new(Arc::new(Scripted::over(mapping, steps)));
    client.wait_for_context_manager(Duration::from_secs(3600)).unwrap();

    let mut client = Client::new(Arc::new(Scripted::new([nobody()])));
    let error = client.wait_for_context_manager(Duration::ZERO).unwrap_err();
    assert!(matches!(error, Error::NoContextManager { .. }), "{error}");
}

#[test]
fn errors_distinguish_what_is_missing() {
    let nobody = Bytes::default().code(BR_NOOP).code(BR_DEAD_REPLY);
    let error = error_after(Step::whatever(nobody.into()));
    assert!(matches!(error, Error::NoContextManager { .. }));
    assert_eq!(
        error.to_string(),
        "BC_TRANSACTION to handle 0 on /dev/scripted: BR_DEAD_REPLY, \
         it has no context manager"
    );

    let error = error_after(Step::whatever(answered(BR_DEAD_REPLY).into()));
    assert_eq!(
        error.to_string(),
        "BC_TRANSACTION to handle 0 on /dev/scripted: BR_DEAD_REPLY, \
         its process died before it replied"
    );

    let dead = Bytes::default().code(BR_DEAD_REPLY);
    let (_, mut client) = client([Step::whatever(dead.into())]);
    let error = client.call(Handle(3), 1, b"", &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "BC_TRANSACTION to handle 3 on /dev/scripted: BR_DEAD_REPLY, its process is gone"
    );
}

#[test]
fn a_failure_has_the_drivers_reason() {
    for (extended_error, ending) in [
        (None, "BR_FAILED_REPLY"),
        (Some((BR_FAILED_REPLY, 0)), "BR_FAILED_REPLY"),
        (Some((BR_DEAD_REPLY, -libc::EINVAL)), "BR_FAILED_REPLY"),
        (
            Some((BR_FAILED_REPLY, -libc::ENOSPC)),
            "BR_FAILED_REPLY, No space left on device (os error 28)",
        ),
        (Some((BR_FAILED_REPLY, i32::MIN)), "(os error 2147483647)"),
    ] {
        let mut driver = Scripted::new([Step::whatever(answered(BR_FAILED_REPLY).into())]);
        driver.extended_error =
            extended_error.map(|(command, param)| ExtendedError { id: 1, command, param });
        let error = hello(&mut Client::new(Arc::new(driver))).unwrap_err();
        assert!(matches!(error, Error::FailedReply { .. }));
        assert!(error.to_string().ends_with(ending), "{error}");
    }
}

#[test]
fn a_status_is_an_error_unless_it_is_0() {
    let mapping = Mapping::anonymous(4096);
    let refused = mapping.deliver(0, &(-74_i32).to_ne_bytes());
    let accepted = mapping.deliver(8, &0_i32.to_ne_bytes());
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            Step::whatever(reply(refused, 4, TF_STATUS_CODE).into()),
            Step::whatever(reply(accepted, 4, TF_STATUS_CODE).into()),
            Step::whatever(reply(refused, 3, TF_STATUS_CODE).into()),
        ],
    ));
    let mut client = Client::new(driver);
    let error = hello(&mut client).unwrap_err();
    assert_eq!(
        error.to_string(),
        "BC_TRANSACTION to handle 0 on /dev/scripted: refused with status -74"
    );
    assert_eq!(hello(&mut client).unwrap(), b"");
    let error = hello(&mut client).unwrap_err().to_string();
    assert!(error.ends_with("a status of 3 bytes instead of 4"), "{error}");
}

#[test]
fn every_return_code_ends_the_call_or_does_not() {
    let ends = |name| match name {
        "BR_DEAD_REPLY" | "BR_FAILED_REPLY" | "BR_FROZEN_REPLY" => "no reply",
        "BR_ERROR" | "BR_REPLY" | "BR_ACQUIRE_RESULT" | "BR_ATTEMPT_ACQUIRE" | "BR_FINISHED" => {
            "broken"
        }
        _ => "goes on",
    };
    for &(code, name, payload) in Return::ALL {
        let bytes = [&code.to_ne_bytes()[..], &vec![0xFF; payload]].concat();
        let wanted = ends(name);
        // A notice that is acknowledged takes a step of its own.
        let (driver, mut client) = client([
            Step::whatever(bytes),
            Step::whatever(Vec::new()),
            Step::whatever(answered(BR_DEAD_REPLY).into()),
            Step::whatever(answered(BR_DEAD_REPLY).into()),
        ]);
        let error = hello(&mut client).unwrap_err();
        let seen = match error {
            Error::DeadReply { .. } if driver.left() < 3 => "goes on",
            Error::Malformed { malformed: Malformed::Transfer { .. }, .. } => "goes on",
            Error::DeadReply { .. }
            | Error::NoContextManager { .. }
            | Error::FailedReply { .. }
            | Error::FrozenReply { .. } => "no reply",
            _ => "broken",
        };
        assert_eq!(seen, wanted, "{name}: {error}");
    }
}

#[test]
fn references_are_acknowledged_during_a_call() {
    let object = PtrCookie { ptr: 5, cookie: 6 };
    let (driver, mut client) = client([
        Step::writes(call())
            .pointing_to("hello")
            .returns(Bytes::default().with(BR_ACQUIRE, &object)),
        Step::sends(Bytes::default().with(BC_ACQUIRE_DONE, &object)),
        Step::reads().returns(answered(BR_DEAD_REPLY)),
    ]);
    assert!(matches!(hello(&mut client), Err(Error::DeadReply { .. })));
    assert_eq!(driver.left(), 0);
}

#[test]
fn a_client_goes_on_after_a_death_and_not_after_nonsense() {
    let twice = || Step::whatever(answered(BR_DEAD_REPLY).into());
    let (_, mut fine) = client([twice(), twice()]);
    assert!(matches!(hello(&mut fine), Err(Error::DeadReply { .. })));
    assert!(matches!(hello(&mut fine), Err(Error::DeadReply { .. })));

    for nonsense in [
        Bytes::default().code(1234),
        Bytes::default().with(BR_ERROR, &-libc::EPERM),
        reply(1, 1, 0),
    ] {
        let (driver, mut client) = client([Step::whatever(nonsense.into()), twice()]);
        hello(&mut client).unwrap_err();
        assert!(matches!(hello(&mut client), Err(Error::Abandoned { .. })));
        assert_eq!(driver.left(), 1, "the driver is not asked again");
    }
}

#[test]
fn a_driver_that_counts_wrongly_is_an_error() {
    for step in [
        Step::whatever(Vec::new()).takes(1000),
        Step::whatever(Vec::new()).claims(1000),
        Step::whatever(Vec::new()).takes(0),
        Step::whatever(Vec::new()).takes(usize::MAX).claims(usize::MAX),
    ] {
        let error = error_after(step);
        assert!(
            matches!(error, Error::Malformed { malformed: Malformed::Transfer { .. }, .. }),
            "{error}"
        );
    }
}

#[test]
fn a_refused_transfer_names_the_request_and_the_device() {
    let error = error_after(Step::whatever(Vec::new()).fails(libc::EBADF));
    assert_eq!(
        error.to_string(),
        "BINDER_WRITE_READ on /dev/scripted: Bad file descriptor (os error 9)"
    );
}

#[test]
fn a_round_trip_allocates_nothing() {
    let mapping = Mapping::anonymous(4096);
    let address = mapping.deliver(0, &[7; 1024]);
    let steps = (0..20).map(|_| Step::whatever(reply(address, 1024, 0).into()));
    let mut client = Client::new(Arc::new(Scripted::over(mapping, steps)));
    let mut reply = Vec::with_capacity(1024);
    let count = allocations::of(|| {
        for _ in 0..10 {
            client.call(TARGET, 1, &[1; 64], &mut reply).unwrap();
            assert_eq!(client.call_in_place(TARGET, 1, &[1; 64]).unwrap().len(), 1024);
        }
    });
    assert_eq!((count, reply.len()), (0, 1024));
}

#[test]
fn a_call_into_the_waiting_thread_is_refused() {
    let mapping = Mapping::anonymous(4096);
    let here = mapping.deliver(0, b"ok");
    let into = |flags| TransactionData { buffer: here, flags, ..TransactionData::default() };
    let busy = TransactionData { flags: TF_STATUS_CODE, data_size: 4, ..into(0) };
    let busy = TransactionData { buffer: 0, ..busy };
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            Step::writes(call())
                .pointing_to("hello")
                .returns(Bytes::default().with(BR_TRANSACTION, &into(0))),
            Step::sends(freed(here))
                .then(Bytes::default().with(BC_REPLY, &busy))
                .pointing_to((-libc::EBUSY).to_ne_bytes()),
            Step::reads().returns(Bytes::default().with(BR_TRANSACTION, &into(TF_ONE_WAY))),
            Step::sends(freed(here)),
            Step::reads().returns(reply(here, 2, 0)),
            Step::sends(freed(here)),
        ],
    ));
    assert_eq!(hello(&mut Client::new(Arc::clone(&driver) as Arc<dyn Driver>)).unwrap(), b"ok");
    assert_eq!(driver.left(), 0);
}

#[test]
fn a_one_way_call_is_over_when_it_is_on_its_way() {
    let send = |answer: Bytes| {
        let data = TransactionData {
            code: 1,
            flags: TF_ONE_WAY,
            data_size: 5,
            ..TransactionData::default()
        };
        let call = Bytes::default().with(BC_TRANSACTION, &data);
        let (driver, mut client) = client([
            Step::writes(call).pointing_to("hello").returns(Bytes::default().code(BR_NOOP)),
            Step::reads().returns(answer),
        ]);
        let outcome = client.send(TARGET, 1, b"hello");
        assert_eq!(driver.left(), 0);
        outcome
    };
    let code = |code| Bytes::default().code(code);
    assert_eq!(send(code(BR_TRANSACTION_COMPLETE)).unwrap(), Sent::Delivered);
    assert_eq!(send(code(BR_ONEWAY_SPAM_SUSPECT)).unwrap(), Sent::Suspected);
    assert_eq!(send(code(BR_TRANSACTION_PENDING_FROZEN)).unwrap(), Sent::WaitsForFrozen);
    let error = send(code(BR_DEAD_REPLY)).unwrap_err();
    assert!(matches!(error, Error::NoContextManager { .. }), "{error}");
    let error = send(code(BR_FAILED_REPLY)).unwrap_err();
    assert!(matches!(error, Error::FailedReply { .. }), "{error}");
    let error = send(reply(0, 0, 0).code(BR_NOOP)).map(|sent| sent == Sent::Delivered);
    assert!(error.unwrap(), "the rest belongs to another call");
    let error = send(code(BR_ERROR)).unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
}

#[test]
fn buffers_go_out_from_where_they_are() {
    let (head, tail) = ([1_u8; 3], [2_u8; 16]);
    let addresses = [head.as_ptr() as u64, tail.as_ptr() as u64];
    let inspect = move |commands: &[u8]| {
        let mut rest = commands;
        assert_eq!(u32::take(&mut rest), Some(BC_TRANSACTION_SG));
        let (data, room) = <(TransactionData, u64)>::take(&mut rest).unwrap();
        assert_eq!((data.data_size, data.offsets_size, room), (80, 16, 24));
        assert_eq!((data.code, data.flags, rest.len()), (1, 0, 0));
        // SAFETY: payloads are alive during a transfer.
        let entries = unsafe { std::slice::from_raw_parts(data.buffer as *const u8, 80) };
        for (entry, (address, length)) in
            entries.chunks(40).zip([(addresses[0], 3), (addresses[1], 16)])
        {
            let buffer = BufferObject::take(&mut &entry[..]).unwrap();
            assert_eq!((buffer.kind, buffer.buffer, buffer.length), (TYPE_PTR, address, length));
        }
    };
    let dead = Bytes::default().code(BR_DEAD_REPLY);
    let (driver, mut client) = client([Step::inspects(inspect).returns(dead)]);
    let error = client.call_sg(Handle(3), 1, &[&head, &tail]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "BC_TRANSACTION_SG to handle 3 on /dev/scripted: BR_DEAD_REPLY, its process is gone"
    );
    assert_eq!(driver.left(), 0);
}

#[test]
fn buffers_allocate_nothing_the_second_time() {
    let mapping = Mapping::anonymous(4096);
    let address = mapping.deliver(0, &[7; 64]);
    let steps = (0..3).map(|_| Step::whatever(reply(address, 64, 0).into()));
    let mut client = Client::new(Arc::new(Scripted::over(mapping, steps)));
    let mut call = || assert_eq!(client.call_sg(TARGET, 1, &[&[1; 9], &[2]]).unwrap().len(), 64);
    call();
    assert_eq!(allocations::of(call), 0);
}

proptest! {
    #[test]
    fn no_returns_make_a_call_panic(
        reads in prop::collection::vec(
            prop_oneof![streams(), prop::collection::vec(any::<u8>(), 0..600)], 0..6
        )
    ) {
        let (_, mut client) = client(reads.into_iter().map(Step::whatever));
        prop_assert!(hello(&mut client).is_err());
    }

    #[test]
    fn a_reply_is_read_from_the_mapping_or_not_at_all(
        offset in -5000_i64..5000, size in prop_oneof![0..5000_u64, any::<u64>()]
    ) {
        let mapping = Mapping::anonymous(4096);
        let start = mapping.deliver(0, &[3; 4096]);
        let address = start.wrapping_add_signed(offset);
        let step = Step::whatever(reply(address, size, 0).into());
        let mut client = Client::new(Arc::new(Scripted::over(mapping, [step])));
        match hello(&mut client) {
            Ok(bytes) => prop_assert_eq!(bytes, vec![3; size as usize]),
            Err(Error::Malformed { malformed, .. }) => {
                prop_assert_eq!(malformed, Malformed::OutsideMapping { address, size });
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
