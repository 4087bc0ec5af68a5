//! Statistical power: the smallest effect that would have been found.

use super::CONFIDENCE;

/// The probability of finding an effect of the minimum size.
pub const POWER: f64 = 0.8;

/// The smallest true difference that is found with probability [`POWER`] at
/// this standard error, if `questions` are asked at once (Bonferroni). This
/// is the usual (z of the confidence + z of the power) · standard error
/// (Cohen, *Statistical Power Analysis*, chapter 2).
pub fn minimum_effect(standard_error: f64, questions: usize) -> f64 {
    let tail = (1.0 - CONFIDENCE) / 2.0 / questions.max(1) as f64;
    (upper_point(tail) + upper_point(1.0 - POWER)) * standard_error
}

/// The value that a standard normal variable exceeds with this probability.
fn upper_point(probability: f64) -> f64 {
    let exceeds = |z: f64| libm::erfc(z / std::f64::consts::SQRT_2) / 2.0;
    let (mut low, mut high) = (-40.0, 40.0);
    // Each step halves 80; 64 of them exhaust the precision of an f64.
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if exceeds(middle) > probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_points_are_the_tabulated_ones() {
        for (probability, z) in
            [(0.5, 0.0), (0.025, 1.959_964), (0.2, 0.841_621), (1e-6, 4.753_424)]
        {
            assert!((upper_point(probability) - z).abs() < 1e-5, "{probability}");
        }
    }

    #[test]
    fn one_question_needs_two_point_eight_standard_errors() {
        assert!((minimum_effect(10.0, 1) - 28.016).abs() < 0.01);
        assert!(minimum_effect(10.0, 20) > minimum_effect(10.0, 1));
    }
}
