//! One floating number as Python formats it.

/// Digits behind the point that are ever asked for: more than any `f64` has.
const MAX_PRECISION: usize = 1100;

/// `nan`, `inf`, `-inf`; Python never shows the sign of a NaN.
fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        return Some("nan");
    }
    value.is_infinite().then_some(if value > 0.0 { "inf" } else { "-inf" })
}

/// `f"{value:.{precision}f}"`.
pub(super) fn fixed(value: f64, precision: usize) -> String {
    match special(value) {
        Some(text) => text.into(),
        None => format!("{value:.*}", precision.min(MAX_PRECISION)),
    }
}

/// `f"{value:.{precision}e}"`: an exponent of two digits at least, with its sign.
pub(super) fn scientific(value: f64, precision: usize) -> String {
    match special(value) {
        Some(text) => text.into(),
        None => python_exponent(&format!("{value:.*e}", precision.min(MAX_PRECISION))),
    }
}

/// `repr(value)`: the shortest digits that read back as the same number.
pub(super) fn repr(value: f64) -> String {
    if let Some(text) = special(value) {
        return text.into();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        return python_exponent(&format!("{value:e}"));
    }
    let text = format!("{value}");
    if text.contains('.') { text } else { text + ".0" }
}

/// `1.5e-7` to `1.5e-07`, `1e20` to `1e+20`.
fn python_exponent(text: &str) -> String {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(rest) => ('-', rest),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_python_formats() {
        // Left: what Python 3.11 prints.
        let fixed_cases: [(&str, f64, usize); 8] = [
            ("0.12", 0.125, 2),
            ("0.38", 0.375, 2),
            ("2", 2.5, 0),
            ("-0.0000", -0.0, 4),
            ("nan", f64::NAN, 4),
            ("-inf", f64::NEG_INFINITY, 4),
            ("1000000.00", 1e6, 2),
            ("0.0000", 1e-300, 4),
        ];
        for (want, value, precision) in fixed_cases {
            assert_eq!(fixed(value, precision), want);
        }
        let scientific_cases: [(&str, f64, usize); 6] = [
            ("1.0000e+00", 1.0, 4),
            ("-1.2346e-05", -1.23456e-5, 4),
            ("1e+100", 1e100, 0),
            ("0.00e+00", 0.0, 2),
            ("1.2e+00", 1.25, 1),
            ("inf", f64::INFINITY, 4),
        ];
        for (want, value, precision) in scientific_cases {
            assert_eq!(scientific(value, precision), want);
        }
        let repr_cases: [(&str, f64); 9] = [
            ("0.1", 0.1),
            ("1.0", 1.0),
            ("1e+16", 1e16),
            ("9999999999999998.0", 9999999999999998.0),
            ("0.0001", 1e-4),
            ("1.5e-05", 1.5e-5),
            ("-0.0", -0.0),
            ("0.07450980693101883", 0.07450980693101883),
            ("nan", -f64::NAN),
        ];
        for (want, value) in repr_cases {
            assert_eq!(repr(value), want);
        }
    }
}
