//! CPU time, which other programs affect less than wall-clock time.

/// The CPU time of the main thread so far, in seconds (`proc(5)`, `schedstat`, updated at each
/// tick).
pub(crate) fn on_cpu() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    schedstat.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}
