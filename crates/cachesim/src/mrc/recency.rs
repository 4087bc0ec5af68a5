//! A set of time slots that counts the taken slots after a given one.

const WORD: usize = 64;
/// A cache line of words.
const BLOCK: usize = 8 * WORD;
const REGION: usize = 64 * BLOCK;

/// One bit per slot, and the number of set bits in each block and each region.
///
/// A count adds up the regions after the slot, the blocks of its region and the words of its
/// block. That is short for recent slots, which are near the end.
pub(super) struct Recency {
    words: Box<[u64]>,
    blocks: Box<[u16]>,
    regions: Box<[u32]>,
}

impl Recency {
    /// Room for at least so many slots; all are free.
    pub(super) fn new(slots: usize) -> Self {
        let regions = slots.div_ceil(REGION).max(1);
        Self {
            words: vec![0; regions * (REGION / WORD)].into_boxed_slice(),
            blocks: vec![0; regions * (REGION / BLOCK)].into_boxed_slice(),
            regions: vec![0; regions].into_boxed_slice(),
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.words.len() * WORD
    }

    /// Takes a slot that is free.
    pub(super) fn take(&mut self, slot: usize) {
        self.words[slot / WORD] |= 1 << (slot % WORD);
        self.blocks[slot / BLOCK] += 1;
        self.regions[slot / REGION] += 1;
    }

    /// Frees a slot that is taken.
    pub(super) fn free(&mut self, slot: usize) {
        self.words[slot / WORD] &= !(1 << (slot % WORD));
        self.blocks[slot / BLOCK] -= 1;
        self.regions[slot / REGION] -= 1;
    }

    /// How many slots after this one are taken, if none at `end` or later is.
    pub(super) fn after(&self, slot: usize, end: usize) -> u32 {
        let (word, block, region) = (slot / WORD, slot / BLOCK, slot / REGION);
        let above = self.words[word] & (u64::MAX << (slot % WORD)) & !(1 << (slot % WORD));
        let words = &self.words[word + 1..(block + 1) * (BLOCK / WORD)];
        let blocks = &self.blocks[block + 1..(region + 1) * (REGION / BLOCK)];
        let regions = &self.regions[region + 1..end.div_ceil(REGION).max(region + 1)];
        above.count_ones()
            + words.iter().map(|word| word.count_ones()).sum::<u32>()
            + blocks.iter().map(|count| u32::from(*count)).sum::<u32>()
            + regions.iter().sum::<u32>()
    }

    /// Writes, for each word, how many slots before it are taken.
    pub(super) fn ranks(&self, ranks: &mut [u32]) {
        let mut before = 0;
        for (rank, word) in ranks.iter_mut().zip(&self.words) {
            *rank = before;
            before += word.count_ones();
        }
    }

    /// How many slots before this one are taken, from the ranks of the words.
    pub(super) fn rank(&self, slot: usize, ranks: &[u32]) -> u32 {
        let below = self.words[slot / WORD] & !(u64::MAX << (slot % WORD));
        ranks[slot / WORD] + below.count_ones()
    }

    /// Takes the first `taken` slots and frees all others.
    pub(super) fn take_first(&mut self, taken: usize) {
        let of = |at: usize, size: usize| taken.saturating_sub(at * size).min(size);
        for (at, word) in self.words.iter_mut().enumerate() {
            let bits = of(at, WORD);
            *word = if bits == WORD { u64::MAX } else { (1 << bits) - 1 };
        }
        for (at, block) in self.blocks.iter_mut().enumerate() {
            *block = of(at, BLOCK) as u16;
        }
        for (at, region) in self.regions.iter_mut().enumerate() {
            *region = of(at, REGION) as u32;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.blocks) + size_of_val(&*self.regions)
    }
}
