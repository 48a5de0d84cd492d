//! Times of calls, and what stands for all of them: the median.

use serde::Serialize;

/// Times of a call in seconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Times {
    pub min: f64,
    pub median: f64,
    pub mean: f64,
    pub p95: f64,
    pub max: f64,
}

/// Measured times of calls, in order of length.
pub struct Measured {
    sorted: Vec<f64>,
    pub median: f64,
    pub runs: usize,
}

impl Measured {
    pub fn new(mut seconds: Vec<f64>) -> Measured {
        seconds.sort_by(f64::total_cmp);
        let median = quantile(&seconds, 0.5);
        Measured { median, runs: seconds.len(), sorted: seconds }
    }

    pub fn summary(&self) -> Times {
        Times {
            min: quantile(&self.sorted, 0.0),
            median: self.median,
            mean: self.sorted.iter().sum::<f64>() / self.runs.max(1) as f64,
            p95: quantile(&self.sorted, 0.95),
            max: quantile(&self.sorted, 1.0),
        }
    }
}

/// The number below which a part of sorted numbers lies, between two of them in proportion.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = part * sorted.len().saturating_sub(1) as f64;
    let number = |at: f64| sorted.get(at as usize).copied().unwrap_or(0.0);
    let (low, high) = (number(at.floor()), number(at.ceil()));
    low + (high - low) * at.fract()
}

/// A time in a unit that leaves a number of at least one.
pub fn time(seconds: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| seconds >= *unit).unwrap_or((1e-9, "ns"));
    let number = seconds / unit;
    let digits = if number < 9.995 { 2 } else { 1 };
    format!("{number:.digits$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_the_numbers() {
        let measured = Measured::new(vec![3.0, 1.0, 2.0, 4.0, 5.0]);
        let times = measured.summary();
        assert_eq!((times.min, times.median, times.max, times.mean), (1.0, 3.0, 5.0, 3.0));
        assert!((times.p95 - 4.8).abs() < 1e-9);
        assert_eq!(quantile(&[], 0.5), 0.0);
        assert_eq!(time(1.5e-3), "1.50 ms");
        assert_eq!(time(2.5e-5), "25.0 µs");
        assert_eq!(time(7e-9), "7.00 ns");
    }
}
