//! Time on a CPU, which other programs lengthen less than time on the clock.

/// Seconds that the first thread was on a CPU so far (`proc(5)`, `schedstat`, updated at each tick).
pub(crate) fn on_cpu() -> f64 {
    let told = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    told.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}
