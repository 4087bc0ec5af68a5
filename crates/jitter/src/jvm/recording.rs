//! The file of the measuring application: wake-up latencies and events of its JVM.
//!
//! Little-endian: `UJJ1`, version, flags (`u32`, unused), the number of periods, their
//! length in nanoseconds (`u64`), the moment of the first (`i64`, `CLOCK_MONOTONIC`);
//! the latency of each wake-up (`i64`), or −1 for a missed period; the number of
//! events (`u32`), and for each its kind (`u8`), beginning and duration (`i64`), and
//! its name (length in bytes as `u16`, UTF-8).

use std::path::Path;

use unjank_host::{Error, Nanos, Result, Timestamp};

const MAGIC: &[u8; 4] = b"UJJ1";
const VERSION: u32 = 1;
/// The latency of a missed period.
const MISSED: i64 = -1;

/// A run of the measuring application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Time between two wake-ups.
    pub period: Nanos,
    /// The moment at which the first wake-up was due.
    pub first_due: Timestamp,
    /// The latency of each period's wake-up; `None` for a missed period.
    pub lateness: Vec<Option<Nanos>>,
    /// Pauses, safepoints and concurrent phases, by their beginning.
    pub events: Vec<JvmEvent>,
}

/// A pause, a safepoint or a concurrent phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JvmEvent {
    /// The kind of event.
    pub kind: EventKind,
    /// Start of the event.
    pub begin: Timestamp,
    /// Length of the event.
    pub duration: Nanos,
    /// The JVM's name for it: `GC Pause`, `ICBufferFull`.
    pub name: String,
}

/// Kinds of JVM events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The collector stops all Java threads.
    Pause,
    /// The VM stops them for another operation, or waits until they have stopped.
    Safepoint,
    /// The collector works beside running Java threads.
    Concurrent,
}

impl Recording {
    /// The moment at which the wake-up of a period was due.
    pub fn due(&self, period: usize) -> Timestamp {
        self.first_due + Nanos(self.period.get().saturating_mul(period as u64))
    }

    /// The latency of each period. A missed period is late until the thread ran
    /// again, so a stall counts once for each period that it covers.
    pub fn by_period(&self) -> impl Iterator<Item = Nanos> + '_ {
        let next = self.lateness.iter().enumerate().rev().scan(None, |next, (period, late)| {
            *next = late.map(|late| self.due(period) + late).or(*next);
            Some(*next)
        });
        // When the thread ran next, from each period on.
        let mut next: Vec<Option<Timestamp>> = next.collect();
        next.reverse();
        let mut ran: Option<Timestamp> = None;
        self.lateness.iter().zip(next).enumerate().filter_map(move |(period, (late, next))| {
            let due = self.due(period);
            if late.is_some() {
                ran = next;
            }
            let here = if ran.is_some_and(|ran| ran >= due) { ran } else { next };
            here.map(|here| here.since(due))
        })
    }

    /// Periods without a wake-up.
    pub fn missed(&self) -> u64 {
        self.lateness.iter().filter(|late| late.is_none()).count() as u64
    }

    /// Reads the bytes of a file; `path` names it in errors.
    ///
    /// # Errors
    /// Another format or version, or a truncated file.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let wrong = |what: String| Error::Invalid(format!("{}: {what}", path.display()));
        read(&mut Bytes { all: bytes, at: 0 }).map_err(|broken| {
            wrong(match broken {
                Broken::Short(at) => format!("it is truncated at byte {at}"),
                Broken::Other(what) => what,
            })
        })
    }
}

enum Broken {
    Short(usize),
    Other(String),
}

fn read(bytes: &mut Bytes<'_>) -> std::result::Result<Recording, Broken> {
    let other = |what: &str| Broken::Other(what.to_owned());
    if bytes.take(4)? != MAGIC {
        return Err(other("it does not begin with UJJ1"));
    }
    let version = bytes.u32()?;
    if version != VERSION {
        return Err(Broken::Other(format!(
            "it has version {version}; this unjank reads version {VERSION}"
        )));
    }
    let _flags = bytes.u32()?;
    let (periods, period, first_due) = (bytes.u64()?, bytes.u64()?, bytes.i64()?);
    let first_due =
        u64::try_from(first_due).map_err(|_| other("its first wake-up is before boot"))?;
    // Do not allocate for more periods than the file can hold.
    if periods > (bytes.left() / 8) as u64 {
        return Err(Broken::Short(bytes.all.len()));
    }
    let mut lateness = Vec::with_capacity(periods as usize);
    for _ in 0..periods {
        lateness.push(match bytes.i64()? {
            MISSED => None,
            late => Some(Nanos(u64::try_from(late).unwrap_or(0))),
        });
    }
    let mut events = Vec::new();
    for _ in 0..bytes.u32()? {
        events.push(bytes.event()?);
    }
    if bytes.left() > 0 {
        return Err(Broken::Other(format!("it has {} extra bytes at its end", bytes.left())));
    }
    events.sort_by_key(|event| event.begin);
    Ok(Recording {
        period: Nanos(period),
        first_due: Timestamp::from_nanos(first_due),
        lateness,
        events,
    })
}

struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn left(&self) -> usize {
        self.all.len() - self.at
    }

    fn take(&mut self, count: usize) -> std::result::Result<&'a [u8], Broken> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.all.len());
        let end = end.ok_or(Broken::Short(self.all.len()))?;
        let taken = &self.all[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> std::result::Result<[u8; N], Broken> {
        Ok(self.take(N)?.try_into().expect("`take` returns N bytes"))
    }

    fn u32(&mut self) -> std::result::Result<u32, Broken> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> std::result::Result<u64, Broken> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn i64(&mut self) -> std::result::Result<i64, Broken> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    fn event(&mut self) -> std::result::Result<JvmEvent, Broken> {
        let [kind] = self.array()?;
        let kind = match kind {
            1 => EventKind::Pause,
            2 => EventKind::Safepoint,
            3 => EventKind::Concurrent,
            kind => return Err(Broken::Other(format!("it has an event of unknown kind {kind}"))),
        };
        let (begin, duration) = (self.i64()?.max(0) as u64, self.i64()?.max(0) as u64);
        let length = u16::from_le_bytes(self.array()?);
        let name = String::from_utf8_lossy(self.take(length.into())?).into_owned();
        Ok(JvmEvent { kind, begin: Timestamp::from_nanos(begin), duration: Nanos(duration), name })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(lateness: &[i64], events: &[(u8, i64, i64, &str)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend((lateness.len() as u64).to_le_bytes());
        bytes.extend(1_000_000_u64.to_le_bytes());
        bytes.extend(5_000_000_i64.to_le_bytes());
        bytes.extend(lateness.iter().flat_map(|late| late.to_le_bytes()));
        bytes.extend((events.len() as u32).to_le_bytes());
        for (kind, begin, duration, name) in events {
            bytes.push(*kind);
            bytes.extend(begin.to_le_bytes());
            bytes.extend(duration.to_le_bytes());
            bytes.extend((name.len() as u16).to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        bytes
    }

    fn parse(bytes: &[u8]) -> Result<Recording> {
        Recording::parse(bytes, Path::new("run.ujj"))
    }

    #[test]
    fn a_written_file_is_read_back() {
        let bytes = written(&[7, -1, 9], &[(2, 9_000_000, 5, "Cleanup"), (1, 6_000_000, 3, "GC")]);
        let recording = parse(&bytes).unwrap();
        assert_eq!(recording.lateness, [Some(Nanos(7)), None, Some(Nanos(9))]);
        assert_eq!(recording.due(2), Timestamp::from_nanos(7_000_000));
        let names: Vec<_> = recording.events.iter().map(|event| &*event.name).collect();
        assert_eq!(names, ["GC", "Cleanup"]);
        assert_eq!(recording.events[0].kind, EventKind::Pause);
    }

    #[test]
    fn errors_name_the_problem() {
        let error = |bytes: &[u8]| parse(bytes).unwrap_err().to_string();
        assert_eq!(error(b"UJJ2"), "run.ujj: it does not begin with UJJ1");
        let whole = written(&[7], &[(1, 1, 1, "GC")]);
        for end in 4..whole.len() {
            assert!(error(&whole[..end]).contains("truncated at byte"), "{end}");
        }
        assert!(error(&written(&[], &[(9, 1, 1, "")])).contains("unknown kind 9"));
        assert!(error(&[&whole[..], &[0]].concat()).contains("1 extra bytes"));
    }

    #[test]
    fn a_missed_period_is_late_until_the_thread_runs_again() {
        let read = |lateness: &[i64]| {
            let recording = parse(&written(lateness, &[])).unwrap();
            (recording.by_period().map(Nanos::get).collect::<Vec<_>>(), recording.missed())
        };
        // A stall of 2.5 periods of a millisecond, and the periods that it covers.
        let stalled = [7, 2_500_000, -1, -1, 9];
        assert_eq!(read(&stalled), (vec![7, 2_500_000, 1_500_000, 500_000, 9], 2));
        // No stall covers the missed period: it ends with the next wake-up.
        assert_eq!(read(&[7, -1, 9]), (vec![7, 1_000_009, 9], 1));
        // There is no later wake-up.
        assert_eq!(read(&[7, -1]), (vec![7], 1));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(noise in prop::collection::vec(any::<u8>(), 0..200), place in 0_usize..90) {
            let mut bytes = written(&[1, 2, 3], &[(1, 1, 1, "GC")]);
            let from = place.min(bytes.len());
            bytes.splice(from.., noise);
            let _any_answer = parse(&bytes);
        }
    }
}
