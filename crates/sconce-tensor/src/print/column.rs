use super::PrintOptions;
use super::number::{fixed, scientific};
use crate::Scalar;

/// How all elements of a tensor (or all real or imaginary parts) are written: one notation and one
/// width. `torch._tensor_str._Formatter`.
pub(super) struct Column {
    notation: Notation,
    width: usize,
    precision: usize,
}

enum Notation {
    /// Integers and truth values, as they are.
    Exact,
    /// Floating numbers that are all integers: `1.`
    Integral,
    Fixed,
    Scientific,
}

impl Column {
    /// The column of integers or truth values.
    pub(super) fn exact(values: impl Iterator<Item = Scalar>) -> Column {
        let width = values.map(|value| exact(value).len()).max().unwrap_or(1);
        Column { notation: Notation::Exact, width, precision: 0 }
    }

    /// The column of floating numbers. Zeros and non-finite numbers take no part in the choice.
    pub(super) fn floating(values: &[f64], options: &PrintOptions) -> Column {
        let precision = options.precision;
        let mut column = Column { notation: Notation::Integral, width: 1, precision };
        let telling = || values.iter().copied().filter(|v| v.is_finite() && *v != 0.0);
        if telling().next().is_none() {
            return column;
        }
        let (low, high) = telling()
            .fold((f64::INFINITY, 0f64), |(low, high), v| (low.min(v.abs()), high.max(v.abs())));
        let scientific_by_range = high / low > 1000.0 || high > 1.0e8 || low < 1.0e-4;
        if options.sci_mode.unwrap_or(scientific_by_range) {
            column.notation = Notation::Scientific;
        } else if telling().any(|v| v != v.ceil()) {
            column.notation = Notation::Fixed;
        }
        column.width = telling().map(|v| column.bare(v).len()).max().unwrap_or(1).max(1);
        column
    }

    /// Characters that every element takes at least.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    fn bare(&self, value: f64) -> String {
        match self.notation {
            Notation::Exact | Notation::Integral => {
                let dot = if value.is_finite() { "." } else { "" };
                fixed(value, 0) + dot
            }
            Notation::Fixed => fixed(value, self.precision),
            Notation::Scientific => scientific(value, self.precision),
        }
    }

    /// One element, filled up with spaces on the left.
    pub(super) fn float(&self, value: f64) -> String {
        format!("{:>1$}", self.bare(value), self.width)
    }

    /// One integer or truth value, filled up with spaces on the left.
    pub(super) fn scalar(&self, value: Scalar) -> String {
        format!("{:>1$}", exact(value), self.width)
    }
}

fn exact(value: Scalar) -> String {
    match value {
        Scalar::Bool(true) => "True".into(),
        Scalar::Bool(false) => "False".into(),
        Scalar::Int(i) => i.to_string(),
        Scalar::UInt(u) => u.to_string(),
        Scalar::Float(f) | Scalar::Complex(f, _) => fixed(f, 0),
    }
}
