//! Numbers, shapes and numbered names as text.

use std::io::Write;

use sconce::tensor::{Scalar, Tensor};

use crate::error::Failure;

/// The numbers behind quantized, sparse and other tensors, for work that looks at each of them.
///
/// An expanded view can stand for more elements than anyone can count; one beyond both its storage
/// and a gibibyte is refused.
pub fn numbers(tensor: &Tensor) -> Result<Tensor, sconce::tensor::Error> {
    let held = tensor.storage().map_or(0, |storage| storage.nbytes());
    let limit = held.max(1 << 30);
    if tensor.nbytes() > limit {
        let needed = u128::from(tensor.nbytes());
        return Err(sconce::tensor::Error::TooLarge { what: "an expanded view", needed, limit });
    }
    if tensor.quantizer().is_some() {
        return tensor.dequantize();
    }
    if let Some(parts) = tensor.sparse_coo_parts() {
        return Ok(parts.values.clone());
    }
    if let Some(parts) = tensor.sparse_compressed_parts() {
        return Ok(parts.values.clone());
    }
    if let Some(parts) = tensor.nested_parts() {
        return Ok(parts.buffer.clone());
    }
    Ok(tensor.clone())
}

/// Four digits that count.
pub fn short_number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor();
    if !(-4.0..9.0).contains(&exponent) {
        return format!("{value:.3e}");
    }
    let digits = (3.0 - exponent).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// `128x64x3`, `scalar`, or `nested`.
pub fn dims(shape: &Option<Vec<i64>>) -> String {
    match shape.as_deref() {
        None => "nested".to_owned(),
        Some([]) => "scalar".to_owned(),
        Some(sizes) => sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x"),
    }
}

/// Orders names so that `layers.2` stands before `layers.10`.
pub fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let number = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, others) = (number(left), number(right));
        if digits > 0 && others > 0 {
            let (x, y) = (&left[..digits], &right[..others]);
            let (x, y) = (x.trim_start_matches('0'), y.trim_start_matches('0'));
            let order = x.len().cmp(&y.len()).then_with(|| x.cmp(y));
            if order.is_ne() {
                return order;
            }
            (left, right) = (&left[digits..], &right[others..]);
            continue;
        }
        match (left.chars().next(), right.chars().next()) {
            (Some(x), Some(y)) if x == y => {
                (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]);
            }
            (None, None) => return a.cmp(b),
            (x, y) => return x.cmp(&y),
        }
    }
}

/// The elements as lists in lists. NaN and infinities, which JSON lacks, are strings.
pub fn nested_lists(tensor: &Tensor, to: &mut dyn Write) -> std::io::Result<Result<(), Failure>> {
    let values = match numbers(tensor).and_then(|_| tensor.values()) {
        Ok(values) => values,
        Err(error) => return Ok(Err(error.into())),
    };
    let sizes: Vec<u64> = tensor.sizes().iter().map(|&size| size as u64).collect();
    if tensor.numel() == 0 {
        // Nothing is below the first empty dimension.
        let outer: Vec<u64> = sizes.iter().copied().take_while(|&size| size > 0).collect();
        let mut text = "[]".to_owned();
        for &size in outer.iter().rev() {
            if size.saturating_mul(text.len() as u64) > 1 << 30 {
                return Ok(Err(Failure::unreadable("the text would take more than a gibibyte")));
            }
            text = format!("[{}]", vec![text.as_str(); size as usize].join(","));
        }
        return writeln!(to, "{text}").map(Ok);
    }
    // Elements between two brackets of each level.
    let mut spans: Vec<u64> = vec![1; sizes.len()];
    for level in (0..sizes.len()).rev() {
        let below = spans.get(level + 1).copied().unwrap_or(1);
        spans[level] = below * sizes[level];
    }
    for (at, scalar) in values.enumerate() {
        let at = at as u64;
        if at > 0 {
            to.write_all(b",")?;
        }
        let opened = spans.iter().filter(|&&span| at.is_multiple_of(span)).count();
        let closed = spans.iter().filter(|&&span| (at + 1).is_multiple_of(span)).count();
        to.write_all("[".repeat(opened).as_bytes())?;
        to.write_all(scalar_json(scalar).as_bytes())?;
        to.write_all("]".repeat(closed).as_bytes())?;
    }
    to.write_all(b"\n").map(Ok)
}

pub fn scalar_text(scalar: Scalar) -> String {
    match scalar {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::UInt(value) => value.to_string(),
        Scalar::Float(value) => float_text(value),
        Scalar::Complex(re, im) => {
            let sign = if im.is_sign_negative() { "" } else { "+" };
            format!("{}{sign}{}j", float_text(re), float_text(im))
        }
        _ => String::new(),
    }
}

/// A float: `nan`, `inf` and `-inf` where JSON has no number.
pub fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    format!("{value:?}")
}

fn scalar_json(scalar: Scalar) -> String {
    match scalar {
        Scalar::Float(value) if value.is_finite() => float_text(value),
        Scalar::Float(_) => format!("\"{}\"", scalar_text(scalar)),
        Scalar::Complex(re, im) => {
            format!("[{},{}]", scalar_json(Scalar::Float(re)), scalar_json(Scalar::Float(im)))
        }
        other => scalar_text(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits() {
        let cases = [
            (0.0, "0"),
            (0.00329, "0.00329"),
            (-7.7784, "-7.778"),
            (134.4, "134.4"),
            (1e-9, "1.000e-9"),
            (123_456_789.0, "123456789"),
            (3.5e12, "3.500e12"),
        ];
        for (value, want) in cases {
            assert_eq!(short_number(value), want);
        }
    }

    #[test]
    fn shapes() {
        assert_eq!(dims(&Some(vec![2, 3])), "2x3");
        assert_eq!(dims(&Some(vec![])), "scalar");
        assert_eq!(dims(&None), "nested");
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["layers.10.b", "layers.2.a", "layers.02.a", "fc", "layers.2"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["fc", "layers.2", "layers.02.a", "layers.2.a", "layers.10.b"]);
    }
}
