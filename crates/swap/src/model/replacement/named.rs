//! Policies by the names that are typed on a command line.

use std::fmt;
use std::str::FromStr;

use super::{Arc, Clock, Fifo, Larc, Lirs, Lru, Mq, Replacement, S3Fifo, Sieve, TwoQ, WTinyLfu};
use crate::model::page::Space;

/// What is done with a policy of any type.
///
/// A call through [`Policy::visit`] is compiled for each policy apart, so that
/// a loop over requests has no indirect calls in it.
pub trait Visit {
    /// What comes out.
    type Output;

    /// Does it with an empty cache.
    fn visit<R: Replacement>(self, cache: R) -> Self::Output;
}

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident = $typed:literal;)*) => {
        /// A replacement policy, with the parameters of its paper.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Policy { $($(#[$doc])* $name,)* }

        impl Policy {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name as typed.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $typed,)* }
            }

            /// Makes an empty cache under this policy and does something with it.
            pub fn visit<V: Visit>(self, space: Space, visitor: V) -> V::Output {
                match self { $(Self::$name => visitor.visit($name::new(space)),)* }
            }
        }
    };
}

policies! {
    /// First in, first out.
    Fifo = "fifo";
    /// Least recently used.
    Lru = "lru";
    /// Second chance with one bit.
    Clock = "clock";
    /// SIEVE.
    Sieve = "sieve";
    /// S3-FIFO.
    S3Fifo = "s3-fifo";
    /// 2Q.
    TwoQ = "2q";
    /// ARC.
    Arc = "arc";
    /// LIRS.
    Lirs = "lirs";
    /// Window-TinyLFU.
    WTinyLfu = "w-tinylfu";
    /// LARC.
    Larc = "larc";
    /// Multi-queue.
    Mq = "mq";
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no policy has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no policy {typed:?}; there are {}", names())]
pub struct UnknownPolicy {
    typed: String,
}

fn names() -> String {
    Policy::ALL.iter().map(|policy| policy.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    /// Case, hyphens and underscores do not matter: `S3FIFO` is `s3-fifo`.
    fn from_str(typed: &str) -> Result<Self, UnknownPolicy> {
        let letters = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
        let meant = |policy: &&Self| letters(policy.name()) == letters(typed);
        let unknown = || UnknownPolicy { typed: typed.to_owned() };
        Self::ALL.iter().find(meant).copied().ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for policy in Policy::ALL {
            assert_eq!(policy.name().parse(), Ok(*policy));
            assert_eq!(policy.to_string().to_uppercase().parse(), Ok(*policy));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_all() {
        let error = "rlu".parse::<Policy>().unwrap_err().to_string();
        assert!(error.starts_with("there is no policy \"rlu\"; there are fifo, lru"), "{error}");
    }

    #[test]
    fn a_page_takes_sixteen_bytes_at_most() {
        struct Bytes;
        impl Visit for Bytes {
            type Output = usize;
            fn visit<R: Replacement>(self, cache: R) -> usize {
                cache.bytes()
            }
        }
        for policy in Policy::ALL {
            for capacity in [1, 1_000, 100_000, 1_000_000] {
                let space = Space::new(capacity, 100_000).unwrap();
                let bytes = policy.visit(space, Bytes);
                // The ends of lists come on top.
                assert!(bytes <= 16 * 100_000 + 256, "{policy} takes {bytes} bytes");
            }
        }
    }
}
