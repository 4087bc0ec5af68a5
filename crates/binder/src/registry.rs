//! A directory of objects under numbers. The context manager's process keeps it,
//! servers register objects, and clients look them up.

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

/// Registers the object in the payload under the number before it. These codes are
/// unknown to Android's `servicemanager`.
const REGISTER: u32 = u32::from_be_bytes(*b"ujrg");
/// Asks for the object under the number.
const LOOK_UP: u32 = u32::from_be_bytes(*b"ujlu");

/// There is no object under this number.
const UNKNOWN: i32 = -libc::ENOENT;
/// The registry does not know the call.
const BAD_CALL: i32 = -libc::EBADMSG;
/// The registry could not keep the object.
const NOT_KEPT: i32 = -libc::EIO;

/// The registry holds [`MOST_OBJECTS`] objects already.
const FULL: i32 = -libc::ENOSPC;

/// The most numbers under which a registry holds objects.
pub const MOST_OBJECTS: usize = 4096;

/// Time between two look-ups in [`wait_for`].
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A directory of objects. A look-up finds the object registered last under its
/// number, until the object's process dies.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    directory: Arc<Mutex<Directory>>,
}

#[derive(Debug, Default)]
struct Directory {
    objects: HashMap<u64, Registered>,
    last_cookie: u64,
}

#[derive(Debug)]
struct Registered {
    reference: Reference,
    /// The cookie under which the object is watched; the same under all numbers of an
    /// object.
    cookie: u64,
}

impl Directory {
    fn is_full_for(&self, number: u64) -> bool {
        self.objects.len() >= MOST_OBJECTS && !self.objects.contains_key(&number)
    }

    /// Registers an object under a number, and watches it unless it is watched
    /// already. Returns the former object of the number.
    fn keep(&mut self, number: u64, reference: Reference) -> Result<Option<Registered>> {
        let known =
            self.objects.values().find(|kept| kept.reference.handle() == reference.handle());
        let cookie = if let Some(kept) = known {
            kept.cookie
        } else {
            self.last_cookie = self.last_cookie.wrapping_add(1);
            reference.watch(self.last_cookie)?;
            self.last_cookie
        };
        Ok(self.objects.insert(number, Registered { reference, cookie }))
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

    /// Handles a notice of the server: removes objects that died.
    pub fn note(&self, notice: Notice) {
        if let Notice::Died(cookie) = notice {
            self.lock().objects.retain(|_, kept| kept.cookie != cookie);
        }
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.lock().objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Directory> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers an object of this process under a number, if the device's context
/// manager is a registry.
///
/// # Errors
/// As [`Client::call`]; [`Error::Status`] from another context manager.
pub fn register(client: &mut Client, number: u64, object: Object) -> Result<()> {
    let mut request = Payload::new();
    request.extend_from_slice(&number.to_ne_bytes());
    request.put_object(object);
    client.call_with(Handle::CONTEXT_MANAGER, REGISTER, &request).map(|_empty| ())
}

/// The object under a number, if there is one.
///
/// # Errors
/// As [`Client::call`]; [`Error::Malformed`] for an object of this process.
pub fn look_up(client: &mut Client, number: u64) -> Result<Option<Reference>> {
    match client.call_in_place(Handle::CONTEXT_MANAGER, LOOK_UP, &number.to_ne_bytes()) {
        Ok(reply) => reply.reference(0).map(Some),
        Err(Error::Status { status: UNKNOWN, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// As [`look_up`], but waits for the registry and for the object.
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

    /// Offsets in the mapping of the payload of a registration, its table, and a bare
    /// number.
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

    /// A transfer that replies with a payload or a bare status, and gets `then`.
    fn replies(status: bool, then: Vec<u8>) -> Step {
        Step::inspects(move |commands| {
            let data = TransactionData::take(&mut &commands[4..]).unwrap();
            assert_eq!(data.flags == TF_STATUS_CODE, status, "{data:?}");
        })
        .returns(then)
    }

    #[test]
    fn a_registered_object_is_found_until_it_dies() {
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
    fn a_full_registry_only_replaces_objects() {
        let driver: Arc<dyn Driver> =
            Arc::new(Scripted::new((0..3 * MOST_OBJECTS).map(|_| Step::whatever(Vec::new()))));
        let mut directory = Directory::default();
        for number in 0..MOST_OBJECTS as u64 {
            assert!(!directory.is_full_for(number));
            let reference = Reference::acquire(&driver, Handle(number as u32 % 2)).unwrap();
            directory.keep(number, reference).unwrap();
        }
        assert_eq!((directory.objects.len(), directory.last_cookie), (MOST_OBJECTS, 2));
        assert!(directory.is_full_for(MOST_OBJECTS as u64) && !directory.is_full_for(0));
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
