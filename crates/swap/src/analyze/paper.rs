//! Published values of phones, for comparison.
//!
//! Sources: Bahn, Kim, *Analysis and Management Policies for Memory Thrashing of Swap-Enabled
//! Smartphones*, JIIBC 23(2), 2023, section II (doi 10.7236/JIIBC.2023.23.2.61); Kim, Bahn,
//! *Analysis of Smartphone I/O Characteristics — Toward Efficient Swap in a Smartphone*, IEEE
//! Access 7, 2019 (doi 10.1109/ACCESS.2019.2937852).

/// A share of the data, and the share of storage accesses that it makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedSkew {
    /// The phone's memory, and whether it had swap.
    pub device: &'static str,
    /// The paper, as cited: [`BAHN`] or [`KIM`].
    pub source: &'static str,
    /// The hottest share of the data.
    pub data: f64,
    /// The share of accesses to that data.
    pub accesses: f64,
}

/// The papers' values of skew. All but the first are approximate ("about").
pub const SKEW: [PublishedSkew; 4] = [
    PublishedSkew { device: "1 GiB, swap", source: BAHN, data: 0.10, accesses: 0.80 },
    PublishedSkew { device: "2 GiB, swap", source: BAHN, data: 0.25, accesses: 0.80 },
    PublishedSkew { device: "1 and 2 GiB, no swap", source: BAHN, data: 0.50, accesses: 0.80 },
    PublishedSkew { device: "swap", source: KIM, data: 0.15, accesses: 0.80 },
];

/// The share of the data that was never used again after it was swapped out (Kim & Bahn 2019).
pub const NEVER_BACK: f64 = 0.50;

/// Bahn & Kim 2023.
pub const BAHN: &str = "Bahn & Kim 2023";
/// Kim & Bahn 2019.
pub const KIM: &str = "Kim & Bahn 2019";
