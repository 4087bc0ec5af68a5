//! The cost of a write of the tier: an option of commands that compare policies.

use unjank_cachesim::bounds::MAX_WRITE_COST;

/// The cost of a write of the tier.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct WriteCostArgs {
    /// The cost of a write of the tier (wear, power, time), in reads or writes of storage; none
    /// leaves costs and the offline optimum out
    #[arg(long = "write-cost", value_name = "COST", default_value = "0.001", value_parser = write_cost)]
    cost: WriteCost,
}

impl WriteCostArgs {
    /// The cost, if there is one.
    pub(super) fn get(self) -> Option<f64> {
        self.cost.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct WriteCost(Option<f64>);

fn write_cost(typed: &str) -> Result<WriteCost, String> {
    if typed == "none" {
        return Ok(WriteCost(None));
    }
    match typed.parse() {
        Ok(cost) if (0.0..=MAX_WRITE_COST).contains(&cost) => Ok(WriteCost(Some(cost))),
        _ => Err(format!("a cost is a number from 0 to {MAX_WRITE_COST}, or none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_a_number_or_none() {
        assert_eq!(write_cost("0.25"), Ok(WriteCost(Some(0.25))));
        assert_eq!(write_cost("none"), Ok(WriteCost(None)));
        for wrong in ["-1", "65", "NaN", "much", ""] {
            assert!(write_cost(wrong).is_err(), "{wrong}");
        }
    }
}
