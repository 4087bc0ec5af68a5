//! The result of one policy.

use unjank_host::Nanos;

use super::Latency;
use crate::analyze::Skew;
use unjank_cachesim::killing::Killing;
use unjank_cachesim::paged::Paged;
use unjank_cachesim::tier::{PerPage, Replayed, TierPolicy, Traffic};
use unjank_cachesim::workload::Workload;

/// The result of one policy of the tier, of no tier, or of no swap.
#[derive(Debug, Clone)]
pub struct PolicyResult {
    /// The name of the policy, `no tier` or `no swap`.
    pub name: String,
    /// The policy of the tier; `None` without swap.
    pub policy: Option<TierPolicy>,
    /// Reads and writes.
    pub traffic: Traffic,
    /// The skew of reads and writes of storage, over the pages that had any.
    pub skew: Skew,
    /// The memory that the tier's metadata takes, in bytes.
    pub metadata: usize,
    /// Pages that the rule admitted and the write budget rejected.
    pub over_budget: u64,
    /// Apps that were killed, and launches of apps that had been killed; `None` with swap.
    pub killed: Option<[u64; 2]>,
    /// The launches, in their order.
    pub launches: Vec<Launched>,
}

/// One launch of a simulation, and its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// Name of the app.
    pub app: String,
    /// Number of the launch among those of its app, from 0.
    pub round: usize,
    /// Whether the app had to start, rather than come back.
    pub starts: bool,
    /// The time of the launch.
    pub time: Nanos,
}

impl PolicyResult {
    pub(super) fn of_tier(
        policy: TierPolicy,
        paged: &Paged,
        replayed: &Replayed,
        latency: Latency,
    ) -> Self {
        let launches = paged.launches.iter().zip(&replayed.waits).map(|(launch, waits)| Launched {
            app: paged.apps[launch.app].clone(),
            round: launch.round,
            starts: launch.starts,
            time: latency.of(launch.starts, *waits),
        });
        let is_none = policy == TierPolicy::NONE;
        Self {
            name: if is_none { "no tier".to_owned() } else { policy.to_string() },
            policy: Some(policy),
            traffic: replayed.traffic,
            skew: replayed.per_page.as_ref().map(skew).unwrap_or_default(),
            metadata: if is_none { 0 } else { replayed.bytes },
            over_budget: replayed.over_budget,
            killed: None,
            launches: launches.collect(),
        }
    }

    pub(super) fn without_swap(workload: &Workload, killing: &Killing, latency: Latency) -> Self {
        let launches = killing.launches.iter().map(|(launch, starts, waits)| Launched {
            app: workload.apps[launch.app].name.clone(),
            round: launch.round,
            starts: *starts,
            time: latency.of(*starts, *waits),
        });
        Self {
            name: "no swap".to_owned(),
            policy: None,
            traffic: killing.traffic,
            skew: skew(&killing.per_page),
            metadata: 0,
            over_budget: 0,
            killed: Some([killing.kills, killing.restarts]),
            launches: launches.collect(),
        }
    }

    /// The share of the pages admitted by the rule that the budget rejected; `None` if it admitted
    /// none.
    pub fn share_over_budget(&self) -> Option<f64> {
        let wanted = self.traffic.entered + self.over_budget;
        (wanted > 0).then(|| self.over_budget as f64 / wanted as f64)
    }

    /// Whether this is no tier or no swap, with which policies are compared.
    pub fn is_baseline(&self) -> bool {
        self.policy.is_none_or(|policy| policy == TierPolicy::NONE)
    }

    /// Mean and standard deviation of the launches of each round, in nanoseconds.
    pub fn rounds(&self) -> Vec<Spread> {
        let rounds = self.launches.iter().map(|launch| launch.round + 1).max().unwrap_or_default();
        let of_round = |round| self.launches.iter().filter(move |launch| launch.round == round);
        (0..rounds).map(|round| Spread::of(of_round(round))).collect()
    }

    /// Mean and standard deviation of all launches but the first of each app.
    pub fn later(&self) -> Option<Spread> {
        let later = self.launches.iter().filter(|launch| launch.round > 0);
        (later.clone().count() > 0).then(|| Spread::of(later))
    }
}

fn skew(per_page: &PerPage) -> Skew {
    Skew::of(per_page.counts())
}

/// Mean and standard deviation of launch times, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The number of launches.
    pub n: usize,
    /// The mean launch time.
    pub mean: f64,
    /// The standard deviation of the launches, not of their mean.
    pub deviation: f64,
}

impl Spread {
    fn of<'a>(launches: impl Iterator<Item = &'a Launched>) -> Self {
        let times: Vec<f64> = launches.map(|launch| launch.time.0 as f64).collect();
        let n = times.len();
        let mean = times.iter().sum::<f64>() / n.max(1) as f64;
        let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
        Self { n, mean, deviation: (squares / n.saturating_sub(1).max(1) as f64).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(round: usize, millis: u64) -> Launched {
        Launched { app: "a".into(), round, starts: round == 0, time: Nanos::from_millis(millis) }
    }

    #[test]
    fn launches_are_summarised_by_round() {
        let result = PolicyResult {
            name: String::new(),
            policy: None,
            traffic: Traffic::default(),
            skew: Skew::default(),
            metadata: 0,
            over_budget: 0,
            killed: None,
            launches: vec![launched(0, 10), launched(1, 4), launched(0, 14), launched(1, 4)],
        };
        let rounds = result.rounds();
        assert_eq!((rounds[0].n, rounds[0].mean), (2, 12e6));
        assert!((rounds[0].deviation - 8f64.sqrt() * 1e6).abs() < 1.0);
        assert_eq!(rounds[1], Spread { n: 2, mean: 4e6, deviation: 0.0 });
        assert_eq!(result.later(), Some(rounds[1]));
    }
}
