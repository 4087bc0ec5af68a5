//! Replacement policies by their names on the command line.

use std::fmt;
use std::str::FromStr;

use super::parameters::Slot;
use super::{
    Arc, Car, Clock, ClockPro, Fifo, Hyperbolic, Larc, LeCar, Lfu, LfuDa, Lhd, Lirs, Lru, Mq,
    Replacement, S3Fifo, Sieve, Slru, TwoQ, WTinyLfu, WTinyLfuExact,
};
use super::{clock, hyperbolic, lecar, lhd, lirs, mq, s3_fifo, slru, two_q, w_tiny_lfu};
use crate::page::Space;

/// Generic code for a policy of any type.
///
/// [`Policy::visit`] compiles it separately for each policy, so that a loop over requests has no
/// indirect calls.
pub trait Visit {
    /// The result of [`visit`](Self::visit).
    type Output;

    /// Runs the code with an empty cache.
    fn visit<R: Replacement + Send + Sync + 'static>(self, cache: R) -> Self::Output;
}

macro_rules! policies {
    (@empty $name:ident $space:ident) => { $name::new($space) };
    (@empty $name:ident $space:ident $chosen:ident) => { $name::with($space, $chosen) };
    ($($(#[$doc:meta])* $name:ident $(($chosen:ident: $parameters:ty))? = $typed:literal;)*) => {
        /// A replacement policy, and its parameters.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Policy { $($(#[$doc])* $name $(($parameters))?,)* }

        impl Policy {
            /// All policies, with the parameters of their papers.
            pub const ALL: &[Self] = &[$(Self::$name $((<$parameters>::PAPER))?,)*];

            /// The name on the command line, without parameters.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name { .. } => $typed,)* }
            }

            /// Runs `visitor` with an empty cache under this policy.
            pub fn visit<V: Visit>(self, space: Space, visitor: V) -> V::Output {
                match self {
                    $(Self::$name $(($chosen))? => {
                        visitor.visit(policies!(@empty $name space $($chosen)?))
                    })*
                }
            }

            /// The policy's parameters by name.
            fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
                match self {
                    $(Self::$name $(($chosen))? => {
                        std::iter::empty()$(.chain($chosen.slots()))?.collect()
                    })*
                }
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
    Clock(chosen: clock::Parameters) = "clock";
    /// CLOCK-Pro.
    ClockPro = "clock-pro";
    /// SIEVE.
    Sieve = "sieve";
    /// S3-FIFO.
    S3Fifo(chosen: s3_fifo::Parameters) = "s3-fifo";
    /// 2Q.
    TwoQ(chosen: two_q::Parameters) = "2q";
    /// ARC.
    Arc = "arc";
    /// LIRS.
    Lirs(chosen: lirs::Parameters) = "lirs";
    /// Window-TinyLFU with Caffeine's sketch.
    WTinyLfu(chosen: w_tiny_lfu::Parameters) = "w-tinylfu";
    /// Window-TinyLFU with exact counters.
    WTinyLfuExact(chosen: w_tiny_lfu::Parameters) = "w-tinylfu-exact";
    /// LARC.
    Larc = "larc";
    /// Segmented LRU.
    Slru(chosen: slru::Parameters) = "slru";
    /// Least frequently used.
    Lfu = "lfu";
    /// Least frequently used, with dynamic ageing.
    LfuDa = "lfu-da";
    /// CAR.
    Car = "car";
    /// `LeCaR`.
    LeCar(chosen: lecar::Parameters) = "lecar";
    /// Hyperbolic caching.
    Hyperbolic(chosen: hyperbolic::Parameters) = "hyperbolic";
    /// Least hit density.
    Lhd(chosen: lhd::Parameters) = "lhd";
    /// Multi-queue.
    Mq(chosen: mq::Parameters) = "mq";
}

impl Policy {
    /// The policy of this name, with the parameters of its paper.
    fn named(typed: &str) -> Result<Self, UnknownPolicy> {
        let letters = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
        let meant = |policy: &&Self| letters(policy.name()) == letters(typed);
        let unknown = || UnknownPolicy::Name { typed: typed.to_owned() };
        Self::ALL.iter().find(meant).copied().ok_or_else(unknown)
    }

    /// The policy's parameters in the form of the command line: `kin=0.25, kout=0.5`.
    pub fn parameters(mut self) -> String {
        let typed = |(key, slot): &(&str, Slot<'_>)| format!("{key}={}", slot.value());
        self.slots().iter().map(typed).collect::<Vec<_>>().join(", ")
    }

    fn set(&mut self, typed: &str) -> Result<(), UnknownPolicy> {
        let (policy, known) = (self.name(), self.parameters());
        let (key, value) = typed.split_once('=').unwrap_or((typed, ""));
        let mut slots = self.slots();
        let slot = slots.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(key));
        let Some((key, slot)) = slot else {
            let known = if known.is_empty() { "none".to_owned() } else { known };
            return Err(UnknownPolicy::Key { policy, typed: key.to_owned(), known });
        };
        let value = value.trim();
        let wrong = |range| UnknownPolicy::Value { policy, key, range, typed: value.to_owned() };
        slot.set(value).map_err(wrong)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut chosen, mut usual) = (*self, *self);
        if let Ok(paper) = Self::named(self.name()) {
            usual = paper;
        }
        let mut typed = self.name().to_owned();
        for ((key, slot), (_, other)) in chosen.slots().iter().zip(usual.slots()) {
            if slot.value() != other.value() {
                typed.extend([":", key, "=", &slot.value()]);
            }
        }
        f.pad(&typed)
    }
}

/// A name or parameter that no policy has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownPolicy {
    /// No policy has this name.
    #[error("unknown policy {typed:?}; expected one of {}", names())]
    Name {
        /// The name as typed.
        typed: String,
    },
    /// The policy does not have this parameter.
    #[error("{policy} has no parameter {typed:?}; it has {known}")]
    Key {
        /// Name of the policy: `2q`.
        policy: &'static str,
        /// The parameter as typed.
        typed: String,
        /// The policy's parameters and their default values.
        known: String,
    },
    /// The parameter cannot have this value.
    #[error("{key} of {policy} must be {range}, not {typed:?}")]
    Value {
        /// Name of the policy: `2q`.
        policy: &'static str,
        /// Name of the parameter: `kin`.
        key: &'static str,
        /// The values that it may have.
        range: String,
        /// The value as typed.
        typed: String,
    },
}

fn names() -> String {
    Policy::ALL.iter().map(|policy| policy.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    /// Parses a name with optional parameters: `s3-fifo`, `s3-fifo:small=0.2:ghost=1`. Case,
    /// hyphens and underscores of the name are ignored: `S3FIFO` is `s3-fifo`.
    fn from_str(typed: &str) -> Result<Self, UnknownPolicy> {
        let mut parts = typed.split(':');
        let mut policy = Self::named(parts.next().unwrap_or_default())?;
        parts.try_for_each(|part| policy.set(part))?;
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_printed() {
        for policy in Policy::ALL {
            assert_eq!(policy.name().parse(), Ok(*policy));
            assert_eq!(policy.to_string().to_uppercase().parse(), Ok(*policy));
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_all() {
        let error = "rlu".parse::<Policy>().unwrap_err().to_string();
        assert!(error.starts_with("unknown policy \"rlu\"; expected one of fifo, lru"), "{error}");
    }

    #[test]
    fn parameters_follow_the_name() {
        for typed in ["2q:kin=0.1", "s3-fifo:small=0.25:moves=1", "mq:queues=4", "clock:bits=3"] {
            assert_eq!(typed.parse::<Policy>().unwrap().to_string(), typed);
        }
        let usual: Policy = "S3FIFO:small=0.1:ghost=0.9".parse().unwrap();
        assert_eq!((usual, usual.to_string()), ("s3-fifo".parse().unwrap(), "s3-fifo".to_owned()));
        assert_eq!(Policy::Lru.parameters(), "");
    }

    #[test]
    fn a_wrong_parameter_is_an_error_that_names_the_valid_ones() {
        let error = |typed: &str| typed.parse::<Policy>().unwrap_err().to_string();
        for (typed, expected) in [
            ("2q:in=0.1", "2q has no parameter \"in\"; it has kin=0.25, kout=0.5"),
            ("lru:size=1", "lru has no parameter \"size\"; it has none"),
            ("2q:kin=2", "kin of 2q must be 0 to 1, not \"2\""),
            ("2q:kin", "kin of 2q must be 0 to 1, not \"\""),
            ("mq:queues=9", "queues of mq must be 1 to 8, not \"9\""),
            ("w-tinylfu:window=NaN", "window of w-tinylfu must be 0 to 1, not \"NaN\""),
        ] {
            assert_eq!(error(typed), expected);
        }
    }

    #[test]
    fn parameters_reach_the_policy() {
        struct Misses;
        impl Visit for Misses {
            type Output = u64;
            fn visit<R: Replacement>(self, mut cache: R) -> u64 {
                let pages = (0..60_000u64).map(|at| at * at % 10_007 * at % 3_001 % (1 + at % 701));
                cache.misses(pages.map(|page| crate::Page(page as u32)))
            }
        }
        let misses = |typed: &str| {
            typed.parse::<Policy>().unwrap().visit(Space::new(150, 3_001).unwrap(), Misses)
        };
        // With one list, MQ is LRU.
        assert_eq!(misses("mq:queues=1"), misses("lru"));
        for (chosen, usual) in [
            ("clock:bits=3", "clock"),
            ("s3-fifo:small=0.5", "s3-fifo"),
            ("s3-fifo:ghost=0", "s3-fifo"),
            ("s3-fifo:moves=1", "s3-fifo"),
            ("2q:kin=0.9", "2q"),
            ("2q:kout=4", "2q"),
            ("lirs:hir=0.3", "lirs"),
            ("lirs:stack=1.2", "lirs"),
            ("w-tinylfu:window=0.5", "w-tinylfu"),
            ("w-tinylfu:protected=0.1", "w-tinylfu"),
            ("w-tinylfu:climb=1", "w-tinylfu"),
            ("w-tinylfu-exact", "w-tinylfu"),
            ("w-tinylfu-exact:window=0.5", "w-tinylfu-exact"),
            ("slru:segments=4", "slru"),
            ("lecar:history=0", "lecar"),
            ("lecar:seed=1", "lecar"),
            ("hyperbolic:sample=4", "hyperbolic"),
            ("hyperbolic:seed=1", "hyperbolic"),
            ("lhd:sample=4", "lhd"),
            ("lhd:period=300", "lhd"),
            ("lhd:seed=1", "lhd"),
            ("mq:life=0.1", "mq"),
            ("mq:history=0", "mq"),
        ] {
            assert_ne!(misses(chosen), misses(usual), "{chosen}");
        }
        for extreme in ["s3-fifo:small=0", "2q:kin=1:kout=0", "lirs:hir=1", "w-tinylfu:window=1"] {
            assert!(misses(extreme) > 0, "{extreme}");
        }
    }

    #[test]
    fn a_page_takes_few_bytes() {
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
                // Plus the sentinels of the lists, W-TinyLFU's sketch, heaps, and LHD's densities.
                let always = if policy.name() == "lhd" { 4_000_000 } else { 256 };
                let (page, that_fits) = match policy.name() {
                    "w-tinylfu" => (16, 16),
                    "lfu" => (12, 20),
                    "lfu-da" => (8, 24),
                    "lecar" => (21, 24),
                    _ => (16, 0),
                };
                let fit = capacity.min(100_000) as usize;
                let most = page * 100_000 + that_fits * fit + always;
                assert!(bytes <= most, "{policy} takes {bytes} bytes");
            }
        }
    }
}
