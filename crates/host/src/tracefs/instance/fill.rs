//! How much time the buffers hold, and how large they are.

use std::sync::atomic::Ordering;

use unjank_units::{Bytes, Nanos};

use super::{Instance, malformed};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::tracefs::format::Malformed;
use crate::tracefs::moment::parse_seconds;

/// The state of one CPU's buffer (`tracing_stats_read` in `kernel/trace/trace.c`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Fill {
    /// The size of its events.
    events: Bytes,
    /// The age of the oldest event.
    age: Nanos,
}

impl Instance {
    /// The least time that a buffer of a CPU holds, of those that are full for three quarters or more;
    /// `None` if there are none.
    ///
    /// # Errors
    /// If a `stats` file cannot be read.
    pub fn held(&self) -> Result<Option<Nanos>> {
        let three_quarters = self.buffer().get() / 4 * 3;
        let mut ages = Vec::new();
        for (cpu, text) in self.stats()? {
            let fill =
                Fill::parse(&text).map_err(|error| malformed(&self.stats_of(cpu), &error))?;
            ages.extend((fill.events.get() >= three_quarters).then_some(fill.age));
        }
        Ok(ages.into_iter().min())
    }

    /// The buffer size for each CPU.
    pub fn buffer(&self) -> Bytes {
        Bytes((self.pages.load(Ordering::Relaxed) * self.layout.page_size()) as u64)
    }

    /// Changes the buffer size for each CPU. A larger buffer keeps its events.
    ///
    /// # Errors
    /// If the memory is not available.
    pub fn resize(&self, buffer: Bytes) -> Result<()> {
        let kib = buffer.get().div_ceil(1024).max(1).to_string();
        self.tracefs.root().write(self.dir().join("buffer_size_kb"), &kib)?;
        self.pages.store(buffer.get() as usize / self.layout.page_size(), Ordering::Relaxed);
        Ok(())
    }
}

impl Fill {
    fn parse(text: &str) -> Result<Self, Malformed> {
        let mut fill = Self::default();
        let (mut oldest, mut now) = (Timestamp::default(), Timestamp::default());
        for (line, number) in text.lines().zip(1..) {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            let wrong = || Malformed::new(number, "expected a number");
            match name.trim() {
                "bytes" => fill.events = Bytes(value.parse().map_err(|_| wrong())?),
                "oldest event ts" => oldest = parse_seconds(value).ok_or_else(wrong)?,
                "now ts" => now = parse_seconds(value).ok_or_else(wrong)?,
                _ => {}
            }
        }
        fill.age = now.since(oldest);
        Ok(fill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_the_oldest_event_is_known() {
        let text = "entries: 7\noverrun: 3\nbytes: 4096\noldest event ts: 41730.983147\n\
                    now ts: 41732.000047\ndropped events: 0\n";
        let fill = Fill::parse(text).unwrap();
        assert_eq!(fill, Fill { events: Bytes(4_096), age: Nanos::from_micros(1_016_900) });
        for wrong in ["bytes: many\n", "now ts: 12\n", "oldest event ts: 1.5\n"] {
            assert!(Fill::parse(wrong).is_err(), "{wrong}");
        }
    }
}
