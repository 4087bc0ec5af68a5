//! A driver for tests without a kernel. It checks written commands byte by byte, and
//! answers with prepared returns.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::Path;
use std::slice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;

use crate::driver::{Driver, Transfer};
use crate::mapping::Mapping;
use crate::protocol::{ExtendedError, FlatObject, Layout};
use crate::reply::Return;

/// The device name in errors of every scripted driver.
pub(crate) const DEVICE: &str = "/dev/scripted";

/// A check of written commands.
struct Inspection(Box<Look>);

type Look = dyn FnOnce(&[u8]) + Send;

impl fmt::Debug for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inspection")
    }
}

/// One expected transfer.
#[derive(Debug, Default)]
pub(crate) struct Step {
    writes: Vec<u8>,
    /// A payload, and the offset of its address in `writes`.
    payload: Option<(Vec<u8>, usize)>,
    takes: Option<usize>,
    returns: Vec<u8>,
    claims: Option<usize>,
    error: Option<i32>,
    waits: Option<bool>,
    inspection: Option<Inspection>,
}

impl Step {
    /// Expects a transfer that writes nothing and reads.
    pub(crate) fn reads() -> Self {
        Self { waits: Some(true), ..Self::default() }
    }

    /// Expects these bytes, and memory for returns.
    pub(crate) fn writes(bytes: impl Into<Vec<u8>>) -> Self {
        Self { writes: bytes.into(), waits: Some(true), ..Self::default() }
    }

    /// Expects these bytes, and no memory for returns.
    pub(crate) fn sends(bytes: impl Into<Vec<u8>>) -> Self {
        Self { writes: bytes.into(), waits: Some(false), ..Self::default() }
    }

    /// Expects the last command so far to be a `TransactionData` that points
    /// to this payload; the bytes expected have 0 for its address.
    pub(crate) fn pointing_to(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = Some((payload.into(), self.writes.len() - 16));
        self
    }

    /// Expects these further bytes.
    pub(crate) fn then(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.writes.extend(bytes.into());
        self
    }

    /// Answers with these returns.
    pub(crate) fn returns(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.returns = bytes.into();
        self
    }

    /// Reports that it took so many of the bytes.
    pub(crate) fn takes(mut self, bytes: usize) -> Self {
        self.takes = Some(bytes);
        self
    }

    /// Reports that it returned so many bytes.
    pub(crate) fn claims(mut self, bytes: usize) -> Self {
        self.claims = Some(bytes);
        self
    }

    /// Fails with this `errno`.
    pub(crate) fn fails(mut self, errno: i32) -> Self {
        self.error = Some(errno);
        self
    }

    /// Expects bytes that the test checks itself, and memory for returns.
    pub(crate) fn inspects(inspection: impl FnOnce(&[u8]) + Send + 'static) -> Self {
        Self { inspection: Some(Inspection(Box::new(inspection))), ..Self::default() }
    }

    /// Expects any bytes.
    pub(crate) fn whatever(returns: Vec<u8>) -> Self {
        Self { returns, ..Self::default() }
    }
}

/// A driver that follows a script. After the last step it answers `ECONNREFUSED`, as
/// the kernel does while a process is torn down.
#[derive(Debug)]
pub(crate) struct Scripted {
    mapping: Mapping,
    steps: Mutex<VecDeque<Step>>,
    /// The result of each context-manager request: 0 or an `errno`.
    pub(crate) manager: [i32; 2],
    pub(crate) extended_error: Option<ExtendedError>,
    pub(crate) object_flags: AtomicU32,
    pub(crate) wakes: AtomicU32,
    pub(crate) exits: AtomicU32,
    pub(crate) max_threads: AtomicU32,
}

impl Scripted {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::over(Mapping::anonymous(64 << 10), steps)
    }

    /// Over memory with payloads in it.
    pub(crate) fn over(mapping: Mapping, steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            mapping,
            steps: Mutex::new(steps.into_iter().collect()),
            manager: [0, 0],
            extended_error: None,
            object_flags: AtomicU32::new(u32::MAX),
            wakes: AtomicU32::new(0),
            exits: AtomicU32::new(0),
            max_threads: AtomicU32::new(u32::MAX),
        }
    }

    /// How many steps are left.
    pub(crate) fn left(&self) -> usize {
        self.steps.lock().unwrap().len()
    }
}

fn outcome(errno: i32) -> io::Result<()> {
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

/// The bytes must be those expected, and the payload too.
fn check(written: &[u8], step: &Step) {
    let Some((payload, at)) = &step.payload else {
        assert_eq!(written, step.writes);
        return;
    };
    assert_eq!(written.len(), step.writes.len());
    assert_eq!(written[..*at], step.writes[..*at]);
    assert_eq!(written[at + 8..], step.writes[at + 8..]);
    let size = u64::take(&mut &written[at - 16..]).unwrap();
    let address = u64::take(&mut &written[*at..]).unwrap();
    assert_eq!(size, payload.len() as u64);
    if size > 0 {
        // SAFETY: payloads are alive during a transfer (the caller's promise
        // to `write_read`), and a command with this size was just checked.
        let pointed =
            unsafe { slice::from_raw_parts(address as usize as *const u8, payload.len()) };
        assert_eq!(pointed, payload);
    }
}

// SAFETY: payloads are in the mapping before the script begins, and nothing writes
// there afterwards.
unsafe impl Driver for Scripted {
    fn device(&self) -> &Path {
        Path::new(DEVICE)
    }

    fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    unsafe fn write_read(&self, transfer: &mut Transfer<'_>) -> io::Result<()> {
        let Some(mut step) = self.steps.lock().unwrap().pop_front() else {
            return outcome(libc::ECONNREFUSED);
        };
        if let Some(Inspection(inspect)) = step.inspection.take() {
            assert!(!transfer.returns.is_empty(), "room for returns");
            inspect(transfer.commands);
        }
        if let Some(waits) = step.waits {
            assert_eq!(!transfer.returns.is_empty(), waits, "room for returns");
            check(transfer.commands, &step);
        }
        let room = transfer.returns.len().min(step.returns.len());
        transfer.returns[..room].copy_from_slice(&step.returns[..room]);
        transfer.consumed = step.takes.unwrap_or(transfer.commands.len());
        transfer.returned = step.claims.unwrap_or(room);
        outcome(step.error.unwrap_or(0))
    }

    fn set_max_threads(&self, threads: u32) -> io::Result<()> {
        self.max_threads.store(threads, Ordering::Relaxed);
        Ok(())
    }

    fn set_context_manager_object(&self, object: &FlatObject) -> io::Result<()> {
        self.object_flags.store(object.flags, Ordering::Relaxed);
        outcome(self.manager[0])
    }

    fn set_context_manager(&self) -> io::Result<()> {
        outcome(self.manager[1])
    }

    fn extended_error(&self) -> io::Result<ExtendedError> {
        self.extended_error.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
    }

    fn thread_exit(&self) -> io::Result<()> {
        self.exits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Bytes of a stream: codes with their data, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Bytes(Vec<u8>);

impl Bytes {
    pub(crate) fn code(mut self, code: u32) -> Self {
        code.put(&mut self.0);
        self
    }

    pub(crate) fn with(mut self, code: u32, value: &impl Layout) -> Self {
        code.put(&mut self.0);
        value.put(&mut self.0);
        self
    }
}

impl From<Bytes> for Vec<u8> {
    fn from(bytes: Bytes) -> Self {
        bytes.0
    }
}

/// Streams of real return codes with any content, cut off anywhere or whole.
pub(crate) fn streams() -> impl Strategy<Value = Vec<u8>> {
    let one = (0..Return::ALL.len(), prop::collection::vec(any::<u8>(), 72)).prop_map(
        |(pick, content)| {
            let (code, _, payload) = Return::ALL[pick];
            [&code.to_ne_bytes()[..], &content[..payload]].concat()
        },
    );
    (prop::collection::vec(one, 0..8), 0..80_usize).prop_map(|(codes, cut)| {
        let mut stream = codes.concat();
        stream.truncate(stream.len().saturating_sub(cut.saturating_sub(40)));
        stream
    })
}
