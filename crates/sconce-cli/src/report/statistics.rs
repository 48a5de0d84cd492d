//! Statistics of a tensor as JSON.

use sconce::tensor::Stats;
use serde::Serialize;

/// [`Stats`] for JSON, in which NaN and infinities are `null`.
#[derive(Serialize)]
pub struct StatisticsRow {
    count: u64,
    nan: u64,
    pos_inf: u64,
    neg_inf: u64,
    zeros: u64,
    subnormal: u64,
    min: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    std: Option<f64>,
    l2: f64,
    constant: bool,
}

impl From<&Stats> for StatisticsRow {
    fn from(stats: &Stats) -> StatisticsRow {
        StatisticsRow {
            count: stats.count,
            nan: stats.nan,
            pos_inf: stats.pos_inf,
            neg_inf: stats.neg_inf,
            zeros: stats.zeros,
            subnormal: stats.subnormal,
            min: stats.min,
            max: stats.max,
            mean: stats.mean,
            std: stats.std,
            l2: stats.l2,
            constant: stats.constant,
        }
    }
}
