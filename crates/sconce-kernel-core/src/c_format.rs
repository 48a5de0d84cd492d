//! Numbers formatted as C's `printf` does: error messages show them so.

/// `nan` and `inf` with their sign.
pub fn not_finite(number: f64) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    format!("{sign}{}", if number.is_nan() { "nan" } else { "inf" })
}

/// `%.*e`: an exponent of two digits at least.
pub fn scientific(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// `%g`: six digits, those at the end that are zero left out.
pub fn general(number: f64) -> String {
    if !number.is_finite() {
        return not_finite(number);
    }
    let trimmed = |digits: &str| match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    if number == 0.0 {
        return if number.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let text = scientific(number, 5);
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent @ -4..=5) => trimmed(&format!("{number:.*}", (5 - exponent) as usize)),
        _ => format!("{}e{exponent}", trimmed(digits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_numbers_have_six_digits() {
        for (number, expected) in [
            (2.0, "2"),
            (-0.0, "-0"),
            (1e30, "1e+30"),
            (3.402_823_466e38, "3.40282e+38"),
            (1e-30, "1e-30"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(general(number), expected);
        }
    }
}
