//! Miss-ratio curves: misses over the size of the cache.
//!
//! | module | subject |
//! |---|---|
//! | [`lru`] | the exact curve of LRU, all sizes in one pass |
//! | [`algorithm`] | the subject of a curve: a policy, or Belady's optimum |
//! | [`external`] | a policy of another program |
//! | [`sampled`] | the curve of any policy from a sample of the pages |
//! | [`distance`](mod@distance) | LRU stack distances |

pub mod algorithm;
pub mod distance;
pub mod external;
pub mod lru;
mod recency;
pub mod sampled;

pub use algorithm::{Algorithm, Algorithms, UnknownAlgorithm};
pub use distance::StackDistance;
pub use external::{External, ExternalPolicy};
pub use lru::LruCurve;
pub use sampled::{Estimate, Sample, SampleError, Sampler};
