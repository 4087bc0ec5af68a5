//! Lengths of time in the file.

use std::fmt;

use jiff::SignedDuration;
use serde::de::{self, Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use unjank_host::Nanos;

/// A length of time, written as a number and a unit: `50ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Nanos);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}us", self.0.get() / 1_000))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length of time with its unit, such as \"50ms\" or \"3s\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
                let length: Option<SignedDuration> = text.parse().ok();
                let nanos = length.and_then(|length| u64::try_from(length.as_nanos()).ok());
                nanos
                    .filter(|&nanos| nanos > 0)
                    .map(|nanos| Time(Nanos(nanos)))
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Text)
    }
}
