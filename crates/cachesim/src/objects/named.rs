//! Policies for objects by their names on the command line.

use std::fmt;
use std::str::FromStr;

use super::eviction::Eviction;
use super::gdsf::Gdsf;
use crate::page::SpaceError;
use crate::replacement::{Clock, Fifo, Lfu, LfuDa, Lru, Sieve};

/// Generic code for a policy of any type, compiled separately for each.
pub trait VisitObjects {
    /// The result of [`visit`](Self::visit).
    type Output;

    /// Runs the code with an empty policy.
    fn visit<E: Eviction + Send + 'static>(self, eviction: E) -> Self::Output;
}

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident = $typed:literal;)*) => {
        /// A policy for objects.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ObjectPolicy { $($(#[$doc])* $name,)* }

        impl ObjectPolicy {
            /// All policies.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $typed,)* }
            }

            /// Runs `visitor` with this policy for `footprint` different objects.
            ///
            /// # Errors
            ///
            /// More objects than [`MAX_PAGES`](crate::page::MAX_PAGES).
            pub fn visit<V: VisitObjects>(
                self,
                footprint: u32,
                visitor: V,
            ) -> Result<V::Output, SpaceError> {
                Ok(match self {
                    $(Self::$name => visitor.visit($name::for_objects(footprint)?),)*
                })
            }
        }
    };
}

policies! {
    /// First in, first out.
    Fifo = "fifo";
    /// Least recently used.
    Lru = "lru";
    /// Second chance.
    Clock = "clock";
    /// SIEVE.
    Sieve = "sieve";
    /// Least frequently used.
    Lfu = "lfu";
    /// Least frequently used, with dynamic ageing.
    LfuDa = "lfu-da";
    /// Greedy-Dual-Size-Frequency.
    Gdsf = "gdsf";
}

impl fmt::Display for ObjectPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ObjectPolicy {
    type Err = UnknownObjectPolicy;

    /// Parses a name. Case, hyphens and underscores are ignored.
    fn from_str(typed: &str) -> Result<Self, UnknownObjectPolicy> {
        let letters = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
        let meant = |policy: &&Self| letters(policy.name()) == letters(typed);
        let found = Self::ALL.iter().find(meant).copied();
        found.ok_or_else(|| UnknownObjectPolicy { typed: typed.to_owned() })
    }
}

/// A name that no policy for objects has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown policy {typed:?}; for objects, expected one of {}", names())]
pub struct UnknownObjectPolicy {
    /// The name as typed.
    pub typed: String,
}

/// The names of all policies.
fn names() -> String {
    ObjectPolicy::ALL.iter().map(|policy| policy.name()).collect::<Vec<_>>().join(", ")
}
