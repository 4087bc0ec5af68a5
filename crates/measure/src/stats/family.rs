//! Correction for multiple comparisons.
//!
//! Of a hundred comparisons between equal things, five differ "with 95 %
//! confidence". Holm's procedure (*A Simple Sequentially Rejective Multiple
//! Test Procedure*, 1979) keeps the probability of even one false difference at
//! 5 %, whatever the dependence between them, and has more power than
//! Bonferroni's.

use super::{CONFIDENCE, DRAWS};

/// The p-values of one family, corrected so that each can be compared with 0.05
/// by itself; in the given order.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut so_far = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        let left = (p_values.len() - place) as f64;
        so_far = so_far.max((p_values[index] * left).min(1.0));
        corrected[index] = so_far;
    }
    corrected
}

/// The number of bootstrap draws whose smallest p-value still decides one of
/// `questions` with a margin.
pub fn draws_for(questions: usize) -> usize {
    let smallest = 2.0 * questions as f64 / (1.0 - CONFIDENCE);
    ((5.0 * smallest) as usize).clamp(DRAWS, 20 * DRAWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_is_the_textbook_one() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (got, wanted) in corrected.iter().zip(expected) {
            assert!((got - wanted).abs() < 1e-12, "{corrected:?}");
        }
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_larger_family_draws_more() {
        assert_eq!(draws_for(1), DRAWS);
        assert!(draws_for(500) > DRAWS);
        // The smallest possible p-value decides, even after correction.
        let questions = 900;
        assert!(2.0 / draws_for(questions) as f64 * (questions as f64) < 0.05);
    }
}
