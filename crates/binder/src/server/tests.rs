//! The server over a scripted driver.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use unjank_needs::allocations;

use super::*;
use crate::mapping::Mapping;
use crate::payload::Object;
use crate::protocol::{
    BC_DEAD_BINDER_DONE, BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_FREE_BUFFER, BC_INCREFS_DONE,
    BC_REPLY, BR_CLEAR_DEATH_NOTIFICATION_DONE, BR_DEAD_BINDER, BR_DEAD_REPLY, BR_DECREFS,
    BR_INCREFS, BR_NOOP, BR_RELEASE, BR_TRANSACTION, BR_TRANSACTION_COMPLETE,
    BR_TRANSACTION_SEC_CTX, Layout, PING, PtrCookie, TF_ONE_WAY, TF_STATUS_CODE, TransactionData,
};
use crate::reply::Return;
use crate::scripted::{Bytes, Scripted, Step, streams};

fn code(code: u32) -> Vec<u8> {
    Bytes::default().code(code).into()
}

fn enters() -> Step {
    Step::sends(code(BC_ENTER_LOOPER))
}

fn exits() -> Step {
    Step::sends(code(BC_EXIT_LOOPER))
}

/// The returns after a reply.
fn sent() -> Vec<u8> {
    Bytes::default().code(BR_NOOP).code(BR_TRANSACTION_COMPLETE).into()
}

/// A call with the code 9 from the process 100 of the user 1000.
fn call(buffer: u64, data_size: u64) -> TransactionData {
    TransactionData {
        code: 9,
        sender_pid: 100,
        sender_euid: 1000,
        buffer,
        data_size,
        ..TransactionData::default()
    }
}

fn comes(call: TransactionData) -> Bytes {
    Bytes::default().code(BR_NOOP).with(BR_TRANSACTION, &call)
}

/// The bytes of a reply of `size` bytes.
fn reply(flags: u32, size: u64) -> Vec<u8> {
    let data = TransactionData { flags, data_size: size, ..TransactionData::default() };
    Bytes::default().with(BC_REPLY, &data).into()
}

/// The bytes that give a call back.
fn freed(buffer: u64) -> Vec<u8> {
    Bytes::default().with(BC_FREE_BUFFER, &buffer).into()
}

/// Expects a reply, the call given back after it, and room for returns.
fn replies(buffer: u64, flags: u32, payload: impl Into<Vec<u8>>) -> Step {
    let payload = payload.into();
    Step::writes(reply(flags, payload.len() as u64)).pointing_to(payload).then(freed(buffer))
}

fn server(driver: &Arc<Scripted>) -> Server {
    let driver = Arc::clone(driver) as Arc<dyn Driver>;
    Server::become_context_manager(driver, NodeFlags::NONE).unwrap()
}

fn refused(manager: [i32; 2]) -> Error {
    let mut driver = Scripted::new([]);
    driver.manager = manager;
    Server::become_context_manager(Arc::new(driver), NodeFlags::INHERIT_RT).unwrap_err()
}

#[test]
fn flags_go_to_the_driver_or_are_reported_as_lost() {
    let driver = Arc::new(Scripted::new([]));
    let server = Server::become_context_manager(
        Arc::clone(&driver) as Arc<dyn Driver>,
        NodeFlags::INHERIT_RT,
    );
    assert_eq!(server.unwrap().flags(), NodeFlags::INHERIT_RT);
    assert_eq!(driver.object_flags.load(Ordering::Relaxed), 0x800);

    let mut old = Scripted::new([]);
    old.manager = [libc::EINVAL, 0];
    let server = Server::become_context_manager(Arc::new(old), NodeFlags::INHERIT_RT);
    assert_eq!(server.unwrap().flags(), NodeFlags::NONE);
}

#[test]
fn a_refused_handle_0_has_a_reason() {
    assert_eq!(
        refused([libc::EBUSY, 0]).to_string(),
        "BINDER_SET_CONTEXT_MGR_EXT on /dev/scripted: EBUSY, it already has a context manager"
    );
    assert_eq!(
        refused([libc::EINVAL, libc::EBUSY]).to_string(),
        "BINDER_SET_CONTEXT_MGR on /dev/scripted: EBUSY, it already has a context manager"
    );
    assert_eq!(
        refused([libc::EPERM, 0]).to_string(),
        "no permission for BINDER_SET_CONTEXT_MGR_EXT on /dev/scripted"
    );
    assert_eq!(
        refused([libc::ENOMEM, 0]).to_string(),
        "BINDER_SET_CONTEXT_MGR_EXT on /dev/scripted: \
         Cannot allocate memory (os error 12)"
    );
}

#[test]
fn each_reply_goes_out_with_the_wait_for_the_next_call() {
    let mapping = Mapping::anonymous(4096);
    let first = mapping.deliver(0, b"one");
    let second = mapping.deliver(64, b"three");
    let with_context =
        Bytes::default().code(BR_NOOP).with(BR_TRANSACTION_SEC_CTX, &(call(second, 5), 0));
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            enters(),
            Step::reads().returns(comes(call(first, 3))),
            replies(first, 0, "ONE").returns(with_context),
            replies(second, 0, "THREE").returns(sent()),
            exits(),
        ],
    ));
    let served = server(&driver).serve(|request, reply| {
        assert_eq!((request.code, request.one_way), (9, false));
        assert_eq!((request.sender_pid, request.sender_euid), (100, 1000));
        reply.extend(request.payload.to_ascii_uppercase());
        if reply.len() == 5 { Answer::ReplyAndStop } else { Answer::Reply }
    });
    assert_eq!(served.unwrap(), Served { calls: 2, undelivered: 0, threads: 1 });
    assert_eq!(driver.left(), 0);
}

#[test]
fn a_refusal_is_a_status_and_a_one_way_call_has_no_reply() {
    let one_way = TransactionData { flags: TF_ONE_WAY, ..call(0, 0) };
    let mapping = Mapping::anonymous(4096);
    let here = mapping.deliver(0, &[]);
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            enters(),
            Step::reads().returns(comes(TransactionData { buffer: here, ..one_way })),
            Step::writes(freed(here)).returns(comes(call(here, 0))),
            replies(here, TF_STATUS_CODE, (-38_i32).to_ne_bytes())
                .returns(code(BR_TRANSACTION_COMPLETE)),
        ],
    ));
    let mut one_ways = Vec::new();
    let error = server(&driver).serve(|request, reply| {
        one_ways.push(request.one_way);
        reply.push(1);
        Answer::Refuse(-38)
    });
    assert!(matches!(error, Err(Error::Request { .. })), "the script is over: {error:?}");
    assert_eq!((driver.left(), one_ways), (0, vec![true, false]));
}

#[test]
fn a_ping_is_answered_without_the_handler() {
    let mapping = Mapping::anonymous(4096);
    let here = mapping.deliver(0, &[]);
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            enters(),
            Step::reads().returns(comes(TransactionData { code: PING, ..call(here, 0) })),
            replies(here, 0, []),
        ],
    ));
    let outcome = server(&driver).serve(|_, _| panic!("a ping reached the handler"));
    assert!(outcome.is_err());
    assert_eq!(driver.left(), 0);
}

#[test]
fn a_stopper_ends_the_loop_after_the_reply() {
    let mapping = Mapping::anonymous(4096);
    let here = mapping.deliver(0, b"?");
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            enters(),
            Step::reads().returns(comes(call(here, 1))),
            replies(here, 0, "!").returns(sent()),
            exits(),
            enters(),
            exits(),
        ],
    ));
    let mut server = server(&driver);
    let stopper = server.stopper();
    let done = server.serve(|_, reply| {
        stopper.stop().unwrap();
        reply.push(b'!');
        Answer::Reply
    });
    assert_eq!(done.unwrap().calls, 1);
    assert_eq!(driver.wakes.load(Ordering::Relaxed), 1);
    let again = server.serve(|_, _| panic!("no call came"));
    assert_eq!((again.unwrap().calls, driver.left()), (0, 0));
}

#[test]
fn a_call_that_was_read_is_served_before_the_loop_ends() {
    let mapping = Mapping::anonymous(4096);
    let here = mapping.deliver(0, &[]);
    let two = [Vec::from(comes(call(here, 0))), comes(call(here, 0)).into()].concat();
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            enters(),
            Step::reads().returns(two),
            Step::sends([freed(here), reply(0, 0)].concat()).pointing_to([]),
            replies(here, 0, []).returns(sent()),
            exits(),
        ],
    ));
    let served = server(&driver).serve(|_, _| Answer::ReplyAndStop);
    assert_eq!((served.unwrap().calls, driver.left()), (2, 0));
}

#[test]
fn a_large_call_is_given_back_before_its_reply_goes_out() {
    let mapping = Mapping::anonymous(64 << 10);
    let here = mapping.deliver(0, &[7; 1025]);
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            enters(),
            Step::reads().returns(comes(call(here, 1024))),
            replies(here, 0, "!").returns(comes(call(here, 1025))),
            Step::writes([freed(here), reply(0, 1)].concat()).pointing_to("!").returns(sent()),
            exits(),
        ],
    ));
    let served = server(&driver).serve(|request, reply| {
        reply.push(b'!');
        if request.payload.len() == 1025 { Answer::ReplyAndStop } else { Answer::Reply }
    });
    assert_eq!((served.unwrap().calls, driver.left()), (2, 0));
}

#[test]
fn a_call_is_given_back_even_if_its_reply_fails() {
    let mapping = Mapping::anonymous(4096);
    let here = mapping.deliver(0, b"?");
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            enters(),
            Step::reads().returns(comes(call(here, 1))),
            replies(here, 0, "!")
                .takes(4 + size_of::<TransactionData>())
                .returns(Bytes::default().code(BR_NOOP).code(BR_DEAD_REPLY)),
            Step::sends(freed(here)),
            exits(),
        ],
    ));
    let served = server(&driver).serve(|_, reply| {
        reply.push(b'!');
        Answer::ReplyAndStop
    });
    assert_eq!(served.unwrap(), Served { calls: 1, undelivered: 1, threads: 1 });
    assert_eq!(driver.left(), 0);
}

#[test]
fn notices_are_acknowledged_and_lost_replies_counted() {
    let object = PtrCookie { ptr: 0, cookie: 0 };
    let driver = Arc::new(Scripted::new([
        enters(),
        Step::reads()
            .returns(Bytes::default().code(BR_NOOP).with(BR_INCREFS, &object).code(BR_NOOP)),
        Step::sends(Bytes::default().with(BC_INCREFS_DONE, &object)),
        Step::reads().returns(code(BR_DEAD_REPLY)),
        Step::reads().returns(comes(call(0, 1))),
    ]));
    let error = server(&driver).serve(|_, _| Answer::Reply).unwrap_err();
    assert_eq!(driver.left(), 0);
    assert_eq!(
        error.to_string(),
        "BR_TRANSACTION on /dev/scripted: 1 bytes at 0x0 are not in the mapping"
    );
}

#[test]
fn notices_go_to_the_listener_and_deaths_are_acknowledged() {
    let object = PtrCookie { ptr: 7, cookie: 7 };
    let driver = Arc::new(Scripted::new([
        enters(),
        Step::reads().returns(
            Bytes::default()
                .with(BR_RELEASE, &object)
                .with(BR_DECREFS, &object)
                .with(BR_DEAD_BINDER, &8_u64)
                .with(BR_CLEAR_DEATH_NOTIFICATION_DONE, &9_u64),
        ),
        Step::sends(Bytes::default().with(BC_DEAD_BINDER_DONE, &8_u64)),
    ]));
    let mut server = Server::new(Arc::clone(&driver) as Arc<dyn Driver>);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&heard);
    server.on_notice(move |notice| listener.lock().unwrap().push(notice));
    server.serve(|_, _| panic!("no call came")).unwrap_err();
    assert_eq!(driver.left(), 0);
    let expected = [Notice::Released(7), Notice::Died(8), Notice::Unwatched(9)];
    assert_eq!(*heard.lock().unwrap(), expected);
}

#[test]
fn a_call_names_its_object() {
    let mapping = Mapping::anonymous(4096);
    let here = mapping.deliver(0, &[]);
    let seven = TransactionData { target: 7, cookie: 7, ..call(here, 0) };
    let steps = [Vec::new(), comes(seven).into(), sent(), Vec::new()];
    let driver = Arc::new(Scripted::over(mapping, steps.map(Step::whatever)));
    let mut called = Vec::new();
    let served = Server::new(driver).serve(|request, _| {
        called.push(request.object);
        Answer::ReplyAndStop
    });
    assert_eq!((served.unwrap().calls, called), (1, vec![7]));
}

#[test]
fn a_reply_may_hold_an_object() {
    let mapping = Mapping::anonymous(4096);
    let here = mapping.deliver(0, &[]);
    let offered = Object { name: 5, flags: NodeFlags::INHERIT_RT };
    let inspect = move |commands: &[u8]| {
        let mut rest = commands;
        assert_eq!(u32::take(&mut rest), Some(BC_REPLY));
        let data = TransactionData::take(&mut rest).unwrap();
        assert_eq!((data.data_size, data.offsets_size), (28, 8));
        assert_eq!(rest, freed(here));
    };
    let driver = Arc::new(Scripted::over(
        mapping,
        [
            enters(),
            Step::reads().returns(comes(call(here, 0))),
            Step::inspects(inspect).returns(sent()),
            exits(),
        ],
    ));
    let served = server(&driver).serve(|_, reply| {
        reply.extend_from_slice(b"here");
        reply.put_object(offered);
        Answer::ReplyAndStop
    });
    assert_eq!((served.unwrap().calls, driver.left()), (1, 0));
}

#[test]
fn every_return_code_ends_the_loop_or_does_not() {
    let ends = |name| {
        let ending = [
            "BR_ERROR",
            "BR_REPLY",
            "BR_TRANSACTION",
            "BR_TRANSACTION_SEC_CTX",
            "BR_ACQUIRE_RESULT",
            "BR_ATTEMPT_ACQUIRE",
            "BR_FINISHED",
        ];
        ending.contains(&name)
    };
    for &(code, name, payload) in Return::ALL {
        let bytes = [&code.to_ne_bytes()[..], &vec![0xFF; payload]].concat();
        let steps = [Step::whatever(Vec::new()), Step::whatever(bytes)];
        let driver = Arc::new(Scripted::new(steps));
        let error = server(&driver).serve(|_, _| Answer::Reply).unwrap_err();
        let went_on = error.to_string().starts_with("BINDER_WRITE_READ on /dev/scripted");
        assert_eq!(went_on, !ends(name), "{name}: {error}");
    }
}

#[test]
fn serving_allocates_no_more_than_the_first_reply() {
    let mapping = Mapping::anonymous(4096);
    let here = mapping.deliver(0, &[7; 1024]);
    let calls = (0..11).map(|_| Step::whatever(comes(call(here, 1024)).into()));
    let [enters, replies, exits] = [Vec::new(), sent(), Vec::new()].map(Step::whatever);
    let script = [enters].into_iter().chain(calls).chain([replies, exits]);
    let mut server = server(&Arc::new(Scripted::over(mapping, script)));
    let (mut calls, mut by_handler) = (0, 0);
    let in_all = allocations::of(|| {
        let done = server.serve(|request, reply| {
            by_handler += allocations::of(|| reply.extend_from_slice(request.payload));
            calls += 1;
            if calls == 11 { Answer::ReplyAndStop } else { Answer::Reply }
        });
        assert_eq!(done.unwrap().calls, 11);
    });
    assert_eq!((in_all, by_handler), (1, 1), "the reply buffer grows once");
}

proptest! {
    #[test]
    fn no_returns_make_the_loop_panic(
        reads in prop::collection::vec(
            prop_oneof![streams(), prop::collection::vec(any::<u8>(), 0..600)], 0..6
        )
    ) {
        let steps = [Vec::new()].into_iter().chain(reads).map(Step::whatever);
        let driver = Arc::new(Scripted::new(steps));
        prop_assert!(server(&driver).serve(|_, _| Answer::Reply).is_err());
    }

    #[test]
    fn a_call_is_read_from_the_mapping_or_not_at_all(
        offset in -5000_i64..5000, size in prop_oneof![0..5000_u64, any::<u64>()]
    ) {
        let mapping = Mapping::anonymous(4096);
        let start = mapping.deliver(0, &[3; 4096]);
        let address = start.wrapping_add_signed(offset);
        let steps = [Vec::new(), comes(call(address, size)).into(), sent(), Vec::new()];
        let driver = Arc::new(Scripted::over(mapping, steps.map(Step::whatever)));
        let outcome = server(&driver).serve(|request, _| {
            assert_eq!(request.payload, vec![3; size as usize]);
            Answer::ReplyAndStop
        });
        match outcome {
            Ok(served) => prop_assert_eq!(served.calls, 1),
            Err(Error::Malformed { malformed, .. }) => {
                prop_assert_eq!(malformed, crate::Malformed::OutsideMapping { address, size });
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
