//! Samples the code addresses of the busiest threads.

use std::collections::HashMap;

use unjank_host::perf_event::InstructionSamples;
use unjank_host::program_code::ProgramCode;
use unjank_host::sched::ThreadId;
use unjank_host::{Nanos, Root};

use super::lock_functions;
use super::observed::{Code, ObservedThread, share_of};

/// CPU time between two samples of a thread: no divisor of a clock tick, so that
/// no loop runs in step with it.
const EVERY: Nanos = Nanos(1_009_000);
/// How many threads are sampled: each needs 20 KiB of locked memory.
const MOST: usize = 16;
/// A thread that uses a smaller share of a CPU has too few samples.
const SUSPECT: f64 = 0.05;
/// How many samples are kept for each thread.
const KEPT: usize = 20_000;
/// Samples are grouped by cache line.
const LINE: u64 = 64;
/// A loop has at most this many lines; code with more is not read.
const FEW: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Sampling {
    of: HashMap<ThreadId, Sampled>,
    /// The reason if a thread could not be sampled.
    pub(crate) refused: Option<String>,
}

#[derive(Debug)]
struct Sampled {
    process: u32,
    samples: InstructionSamples,
    kept: Vec<u64>,
}

impl Sampling {
    /// Adds the busiest of these threads.
    pub(crate) fn choose(&mut self, seen: impl Iterator<Item = ObservedThread>) {
        let new = seen.filter(|it| !self.of.contains_key(&it.thread));
        let wants = |it: &ObservedThread| it.cpu_share() + it.ready_share().unwrap_or(0.0);
        let mut suspects: Vec<ObservedThread> =
            new.filter(|it| wants(it) >= SUSPECT && it.cpu > Nanos::ZERO).collect();
        suspects.sort_by(|one, other| other.cpu_share().total_cmp(&one.cpu_share()));
        for suspect in suspects.into_iter().take(MOST.saturating_sub(self.of.len())) {
            match InstructionSamples::of(suspect.thread, EVERY) {
                Ok(samples) => {
                    let process = suspect.owner.process;
                    let new = Sampled { process, samples, kept: Vec::new() };
                    self.of.insert(suspect.thread, new);
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => self.refused = Some(error.to_string()),
            }
        }
    }

    /// Empties the kernel's buffers before they overflow.
    pub(crate) fn drain(&mut self) {
        for Sampled { samples, kept, .. } in self.of.values_mut() {
            let room = KEPT.saturating_sub(kept.len());
            kept.extend(samples.take().into_iter().take(room));
        }
    }

    /// The result, with function names if the processes still live.
    pub(crate) fn finish(mut self, root: &Root) -> HashMap<ThreadId, Code> {
        self.drain();
        let mut by_process: HashMap<u32, Vec<(ThreadId, Vec<u64>)>> = HashMap::new();
        for (thread, Sampled { process, kept, .. }) in self.of {
            by_process.entry(process).or_default().push((thread, kept));
        }
        by_process
            .into_iter()
            .flat_map(|(process, threads)| codes(root, process, threads))
            .collect()
    }
}

/// The result for the threads of one process.
fn codes(
    root: &Root,
    process: u32,
    threads: Vec<(ThreadId, Vec<u64>)>,
) -> impl Iterator<Item = (ThreadId, Code)> {
    let program = ProgramCode::of(root, process).ok();
    let mut addresses: Vec<u64> = threads.iter().flat_map(|(_, kept)| kept).copied().collect();
    addresses.sort_unstable();
    addresses.dedup();
    let places = program.as_ref().map(|it| it.locations(root, &addresses)).unwrap_or_default();
    let codes: Vec<_> = threads
        .into_iter()
        .map(|(thread, samples)| {
            let lines = hot_lines(&samples);
            let few = (1..=FEW).contains(&lines.len());
            let pauses = program.as_ref().filter(|_| few).and_then(|program| {
                // A pause may begin in one line and end in the next.
                let each = lines.iter().map(|line| program.pauses(root, *line, LINE as usize + 1));
                each.reduce(|one, other| Some(one? || other?)).flatten()
            });
            let function = |address: &u64| places.get(address)?.function.as_deref();
            let code = Code {
                samples: samples.len() as u64,
                lines: lines.len(),
                pauses,
                place: most_frequent(&samples).and_then(|address| places.get(&address).cloned()),
                lock: lock_functions::most_frequent(samples.iter().filter_map(function))
                    .map(|(name, times)| (name, share_of(times, samples.len() as u64))),
            };
            (thread, code)
        })
        .collect();
    codes.into_iter()
}

/// The fewest lines that hold nine tenths of the samples, the fullest first.
fn hot_lines(samples: &[u64]) -> Vec<u64> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for sample in samples {
        *counts.entry(sample / LINE * LINE).or_default() += 1;
    }
    let mut counts: Vec<(u64, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(line, count)| (std::cmp::Reverse(count), line));
    let enough = (samples.len() * 9).div_ceil(10);
    let mut held = 0;
    let take = |&(_, count): &(u64, usize)| {
        let wanted = held < enough;
        held += count;
        wanted
    };
    counts.into_iter().take_while(take).map(|(line, _)| line).collect()
}

fn most_frequent(samples: &[u64]) -> Option<u64> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for sample in samples {
        *counts.entry(*sample).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(address, count)| (count, address)).map(|(address, _)| address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_lines_hold_nine_tenths_of_the_samples() {
        let samples = [&[0x1000; 60][..], &[0x1080; 35], &[0x2000; 5]].concat();
        assert_eq!(hot_lines(&samples), [0x1000, 0x1080]);
        assert_eq!(most_frequent(&samples), Some(0x1000));
        assert!(hot_lines(&[]).is_empty());
        let spread: Vec<u64> = (0..100).map(|n| n * LINE).collect();
        assert_eq!(hot_lines(&spread).len(), 90);
    }

    #[test]
    fn an_idle_thread_is_no_suspect() {
        let mut sampling = Sampling::default();
        sampling.choose([ObservedThread::new(ThreadId::current(), "idle")].into_iter());
        assert!(sampling.of.is_empty() && sampling.refused.is_none());
        assert!(sampling.finish(&Root::system()).is_empty());
    }
}
