//! A directory of objects under numbers: a process that is context manager
//! keeps it, servers put their objects in, clients look them up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::payload::{Object, Payload};
use crate::protocol::Handle;
use crate::reference::Reference;
use crate::request::{Answer, Request, Served};
use crate::server::Server;

/// Puts the object in the payload under the number before it. These codes are
/// far from those that Android's `servicemanager` knows.
const REGISTER: u32 = u32::from_be_bytes(*b"ujrg");
/// Asks for the object under the number.
const LOOK_UP: u32 = u32::from_be_bytes(*b"ujlu");

/// There is no object under this number.
const UNKNOWN: i32 = -libc::ENOENT;
/// The call is none of this registry's.
const BAD_CALL: i32 = -libc::EBADMSG;
/// The registry could not keep the object.
const NOT_KEPT: i32 = -libc::EIO;

/// The registry holds [`MOST`] objects already.
const FULL: i32 = -libc::ENOSPC;

/// How many numbers a registry holds objects under, whoever asks for more.
pub const MOST: usize = 4096;

/// How long a look-up that waits sleeps between two attempts.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A directory of objects. The last object that is registered under a number
/// is the one that is found, until its process dies.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug, Default)]
struct Shelf {
    objects: HashMap<u64, Kept>,
    last_cookie: u64,
}

#[derive(Debug)]
struct Kept {
    reference: Reference,
    /// The cookie under which the object is watched, the same for an object
    /// that is there under several numbers.
    cookie: u64,
}

impl Shelf {
    fn is_full_for(&self, number: u64) -> bool {
        self.objects.len() >= MOST && !self.objects.contains_key(&number)
    }

    /// Puts an object under a number, and watches it unless it is watched
    /// already. What was under the number before.
    fn keep(&mut self, number: u64, reference: Reference) -> Result<Option<Kept>> {
        let known =
            self.objects.values().find(|kept| kept.reference.handle() == reference.handle());
        let cookie = if let Some(kept) = known {
            kept.cookie
        } else {
            self.last_cookie = self.last_cookie.wrapping_add(1);
            reference.watch(self.last_cookie)?;
            self.last_cookie
        };
        Ok(self.objects.insert(number, Kept { reference, cookie }))
    }
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the registry on this thread, with a server that is the device's
    /// context manager, until the server is stopped.
    ///
    /// # Errors
    /// As [`Server::serve`].
    pub fn serve(&self, server: &mut Server) -> Result<Served> {
        let registry = self.clone();
        server.on_notice(move |notice| registry.note(notice));
        server.serve(|request, reply| self.answer(request, reply))
    }

    /// The answer to a call, for a server that does more than this.
    pub fn answer(&self, request: &Request<'_>, reply: &mut Payload) -> Answer {
        let number = request.payload.first_chunk().map(|number| u64::from_ne_bytes(*number));
        match (request.code, number) {
            (REGISTER, Some(number)) => {
                if self.lock().is_full_for(number) {
                    return Answer::Refuse(FULL);
                }
                let kept =
                    request.reference(0).and_then(|reference| self.lock().keep(number, reference));
                if kept.is_ok() { Answer::Reply } else { Answer::Refuse(NOT_KEPT) }
            }
            (LOOK_UP, Some(number)) => match self.lock().objects.get(&number) {
                Some(kept) => {
                    reply.put_handle(&kept.reference);
                    Answer::Reply
                }
                None => Answer::Refuse(UNKNOWN),
            },
            _ => Answer::Refuse(BAD_CALL),
        }
    }

    /// Takes note of what the server is told: objects that died are forgotten.
    pub fn note(&self, notice: Notice) {
        if let Notice::Died(cookie) = notice {
            self.lock().objects.retain(|_, kept| kept.cookie != cookie);
        }
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.lock().objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers an object of this process under a number, with the registry that
/// is the device's context manager.
///
/// # Errors
/// As [`Client::call`]; [`Error::Status`] from a context manager that is no
/// registry.
pub fn register(client: &mut Client, number: u64, object: Object) -> Result<()> {
    let mut request = Payload::new();
    request.extend_from_slice(&number.to_ne_bytes());
    request.put_object(object);
    client.call_with(Handle::CONTEXT_MANAGER, REGISTER, &request).map(|_empty| ())
}

/// The object under a number, if there is one.
///
/// # Errors
/// As [`Client::call`]; [`Error::Malformed`] for an object of this process,
/// which it need not call.
pub fn look_up(client: &mut Client, number: u64) -> Result<Option<Reference>> {
    match client.call_in_place(Handle::CONTEXT_MANAGER, LOOK_UP, &number.to_ne_bytes()) {
        Ok(reply) => reply.reference(0).map(Some),
        Err(Error::Status { status: UNKNOWN, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// As [`look_up`], but waits until there is an object under the number, and a
/// registry if need be.
///
/// # Errors
/// [`Error::NotRegistered`] if it takes longer than `limit`, and as
/// [`look_up`].
pub fn wait_for(client: &mut Client, number: u64, limit: Duration) -> Result<Reference> {
    let begin = Instant::now();
    loop {
        match look_up(client, number) {
            Ok(Some(reference)) => return Ok(reference),
            Ok(None) | Err(Error::NoContextManager { .. }) => {}
            Err(error) => return Err(error),
        }
        if begin.elapsed() >= limit {
            let device = client.driver().device().to_owned();
            return Err(Error::NotRegistered { device, number, limit });
        }
        thread::sleep(LOOK_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Driver;
    use crate::mapping::Mapping;
    use crate::protocol::{
        BC_ENTER_LOOPER, BR_DEAD_BINDER, BR_DEAD_REPLY, BR_NOOP, BR_REPLY, BR_TRANSACTION,
        BR_TRANSACTION_COMPLETE, FlatObject, Layout, NodeFlags, TF_STATUS_CODE, TYPE_BINDER,
        TransactionData,
    };
    use crate::scripted::{Bytes, Scripted, Step};

    /// Where in the mapping the payload of a registration lies, its table, and
    /// a bare number.
    const PLACES: [usize; 3] = [0, 64, 128];
    const NUMBER: u64 = 5;

    fn registration(mapping: &Mapping, object: &FlatObject) -> TransactionData {
        let mut payload = NUMBER.to_ne_bytes().to_vec();
        object.put(&mut payload);
        TransactionData {
            code: REGISTER,
            buffer: mapping.deliver(PLACES[0], &payload),
            data_size: payload.len() as u64,
            offsets: mapping.deliver(PLACES[1], &8_u64.to_ne_bytes()),
            offsets_size: 8,
            ..TransactionData::default()
        }
    }

    fn look_up_of(mapping: &Mapping) -> TransactionData {
        let buffer = mapping.deliver(PLACES[2], &NUMBER.to_ne_bytes());
        TransactionData { code: LOOK_UP, buffer, data_size: 8, ..TransactionData::default() }
    }

    fn comes(data: &TransactionData) -> Vec<u8> {
        Bytes::default().code(BR_NOOP).with(BR_TRANSACTION, data).into()
    }

    /// A transfer that replies, with a payload or a bare status, and gets this.
    fn replies(status: bool, then: Vec<u8>) -> Step {
        Step::inspects(move |commands| {
            let data = TransactionData::take(&mut &commands[4..]).unwrap();
            assert_eq!(data.flags == TF_STATUS_CODE, status, "{data:?}");
        })
        .returns(then)
    }

    #[test]
    fn what_is_registered_is_found_until_it_dies() {
        let mapping = Mapping::anonymous(4096);
        let register = registration(&mapping, &FlatObject::of_handle(Handle(3)));
        let look_up = look_up_of(&mapping);
        let driver = Arc::new(Scripted::over(
            mapping,
            [
                Step::sends(Bytes::default().code(BC_ENTER_LOOPER)),
                Step::reads().returns(comes(&look_up)),
                replies(true, comes(&register)),
                Step::whatever(Vec::new()), // BC_ACQUIRE
                Step::whatever(Vec::new()), // BC_REQUEST_DEATH_NOTIFICATION
                replies(false, comes(&register)),
                Step::whatever(Vec::new()), // BC_ACQUIRE, and watched already
                Step::whatever(Vec::new()), // BC_RELEASE of the one before
                replies(false, comes(&look_up)),
                replies(false, comes(&TransactionData { code: 9, ..look_up })),
                replies(true, Bytes::default().with(BR_DEAD_BINDER, &1_u64).into()),
                Step::whatever(Vec::new()), // BC_DEAD_BINDER_DONE
                Step::whatever(Vec::new()), // BC_RELEASE
                Step::reads().returns(comes(&look_up)),
                replies(true, Vec::new()).fails(libc::EBADF),
            ],
        ));
        let registry = Registry::new();
        let mut server = Server::new(Arc::clone(&driver) as Arc<dyn Driver>);
        registry.serve(&mut server).unwrap_err();
        assert_eq!((driver.left(), registry.is_empty()), (0, true));
    }

    #[test]
    fn a_registration_without_an_object_is_refused() {
        let mapping = Mapping::anonymous(4096);
        let own = FlatObject { kind: TYPE_BINDER, ..FlatObject::default() };
        let register = registration(&mapping, &own);
        let nothing = TransactionData { data_size: 8, offsets_size: 0, ..register };
        let short = TransactionData { data_size: 7, ..nothing };
        let driver = Arc::new(Scripted::over(
            mapping,
            [
                Step::whatever(Vec::new()),
                Step::whatever(comes(&register)),
                replies(true, comes(&nothing)),
                replies(true, comes(&short)),
                replies(true, Vec::new()).fails(libc::EBADF),
            ],
        ));
        let registry = Registry::new();
        let mut server = Server::new(Arc::clone(&driver) as Arc<dyn Driver>);
        registry.serve(&mut server).unwrap_err();
        assert_eq!((driver.left(), registry.len()), (0, 0));
    }

    #[test]
    fn a_full_registry_takes_only_what_replaces_something() {
        let driver: Arc<dyn Driver> =
            Arc::new(Scripted::new((0..3 * MOST).map(|_| Step::whatever(Vec::new()))));
        let mut shelf = Shelf::default();
        for number in 0..MOST as u64 {
            assert!(!shelf.is_full_for(number));
            let reference = Reference::acquire(&driver, Handle(number as u32 % 2)).unwrap();
            shelf.keep(number, reference).unwrap();
        }
        assert_eq!((shelf.objects.len(), shelf.last_cookie), (MOST, 2));
        assert!(shelf.is_full_for(MOST as u64) && !shelf.is_full_for(0));
    }

    fn reply(data: &TransactionData) -> Vec<u8> {
        Bytes::default().code(BR_TRANSACTION_COMPLETE).with(BR_REPLY, data).into()
    }

    #[test]
    fn a_look_up_waits_for_the_registry_and_for_the_object() {
        let mapping = Mapping::anonymous(4096);
        let found = TransactionData {
            code: 0,
            ..registration(&mapping, &FlatObject::of_handle(Handle(3)))
        };
        let unknown = TransactionData {
            buffer: mapping.deliver(256, &UNKNOWN.to_ne_bytes()),
            data_size: 4,
            flags: TF_STATUS_CODE,
            ..TransactionData::default()
        };
        let driver = Arc::new(Scripted::over(
            mapping,
            [
                Step::whatever(Bytes::default().code(BR_DEAD_REPLY).into()),
                Step::whatever(reply(&unknown)),
                Step::whatever(reply(&found)),
                Step::whatever(Vec::new()), // BC_ACQUIRE
            ],
        ));
        let mut client = Client::new(driver);
        let object = wait_for(&mut client, NUMBER, Duration::from_secs(3600)).unwrap();
        assert_eq!(object.handle(), Handle(3));
    }

    #[test]
    fn a_look_up_does_not_wait_for_ever() {
        let dead = Bytes::default().code(BR_DEAD_REPLY);
        let mut client = Client::new(Arc::new(Scripted::new([Step::whatever(dead.into())])));
        let error = wait_for(&mut client, NUMBER, Duration::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "nothing is registered under 5 on /dev/scripted after 0ns");
        let error = register(&mut client, 5, Object { name: 1, flags: NodeFlags::NONE });
        assert!(matches!(error, Err(Error::Request { .. })), "the script is over: {error:?}");
    }
}
