//! How far two tensors are apart.

use sconce::tensor::{DType, Error, Quantizer, Scalar, Tensor};
use serde::Serialize;

use super::DiffArgs;
use crate::report::elements;
use crate::report::numbers;

/// How far two tensors are apart, over the elements that are finite in both.
#[derive(Serialize, Clone, Copy, Debug)]
pub struct Distance {
    /// The largest difference of two elements.
    pub max_abs: f64,
    /// Norm of the difference by the norm of the second.
    pub rel_l2: f64,
    /// The cosine of the angle between the two.
    pub cosine: Option<f64>,
    /// Elements farther apart than the tolerances.
    pub differing: u64,
}

/// Whether two tensors of one dtype hold the same bytes.
pub fn same_bytes(a: &Tensor, b: &Tensor) -> Result<bool, Error> {
    let (left, right) = (elements::components(a)?, elements::components(b)?);
    if left.len() != right.len() {
        return Ok(false);
    }
    for ((_, a), (_, b)) in left.iter().zip(&right) {
        if a.sizes() != b.sizes() || *a.contiguous_bytes()? != *b.contiguous_bytes()? {
            return Ok(false);
        }
    }
    same_quantizer(a, b)
}

fn same_quantizer(a: &Tensor, b: &Tensor) -> Result<bool, Error> {
    match (a.quantizer(), b.quantizer()) {
        (None, None) => Ok(true),
        (
            Some(Quantizer::PerTensorAffine { scale: x, zero_point: m }),
            Some(Quantizer::PerTensorAffine { scale: y, zero_point: n }),
        ) => Ok(x.to_bits() == y.to_bits() && m == n),
        (
            Some(Quantizer::PerChannel { scales: x, zero_points: m, axis: i, .. }),
            Some(Quantizer::PerChannel { scales: y, zero_points: n, axis: j, .. }),
        ) => Ok(i == j && same_bytes(x, y)? && same_bytes(m, n)?),
        _ => Ok(false),
    }
}

/// How far two tensors are apart; `None` where the elements do not stand beside each other, as in sparse tensors that hold
/// different entries.
pub fn distance(a: &Tensor, b: &Tensor, args: &DiffArgs) -> Result<Option<Distance>, Error> {
    let (left, right) = (elements::components(a)?, elements::components(b)?);
    let indices = left.len().saturating_sub(1);
    if a.nested_parts().is_none() && indices > 0 {
        for ((_, a), (_, b)) in left.iter().zip(&right).take(indices) {
            if a.sizes() != b.sizes() || a.to_vec::<i64>().ok() != b.to_vec::<i64>().ok() {
                return Ok(None);
            }
        }
    }
    let (x, y) = (numbers::numbers(a)?, numbers::numbers(b)?);
    if x.numel() != y.numel() {
        return Ok(None);
    }
    let mut sums = Sums::default();
    for (a, b) in x.values()?.zip(y.values()?) {
        match (a, b) {
            (Scalar::Complex(re_a, im_a), Scalar::Complex(re_b, im_b)) => {
                let far = sums.add(re_a, re_b, args) | sums.add(im_a, im_b, args);
                sums.differing += u64::from(far);
            }
            (Scalar::Int(a), Scalar::Int(b)) if a != b => {
                sums.integers(i128::from(a), i128::from(b), args)
            }
            (Scalar::UInt(a), Scalar::UInt(b)) if a != b => {
                sums.integers(i128::from(a), i128::from(b), args);
            }
            (a, b) => {
                let number = |scalar: Scalar| scalar.to_f64().unwrap_or(f64::NAN);
                let far = sums.add(number(a), number(b), args);
                sums.differing += u64::from(far);
            }
        }
    }
    Ok(Some(sums.finish()))
}

#[derive(Default)]
struct Sums {
    max_abs: f64,
    squares: f64,
    a: f64,
    b: f64,
    product: f64,
    differing: u64,
}

impl Sums {
    /// Takes in a pair; whether it is farther apart than the tolerances. NaN equals NaN.
    fn add(&mut self, a: f64, b: f64, args: &DiffArgs) -> bool {
        if !a.is_finite() || !b.is_finite() {
            return !(a == b || (a.is_nan() && b.is_nan()));
        }
        let apart = (a - b).abs();
        self.max_abs = self.max_abs.max(apart);
        self.squares += apart * apart;
        self.a += a * a;
        self.b += b * b;
        self.product += a * b;
        apart > args.atol + args.rtol * b.abs()
    }

    /// Integers are told apart exactly, where `f64` would round them together.
    fn integers(&mut self, a: i128, b: i128, args: &DiffArgs) {
        let far = self.add(a as f64, b as f64, args);
        let exact = args.atol == 0.0 && args.rtol == 0.0;
        self.differing += u64::from(far || exact);
    }

    fn finish(self) -> Distance {
        let norms = self.a.sqrt() * self.b.sqrt();
        let rel_l2 = match (self.squares, self.b) {
            (0.0, _) => 0.0,
            (squares, b) => squares.sqrt() / b.sqrt().max(f64::MIN_POSITIVE),
        };
        Distance {
            max_abs: self.max_abs,
            rel_l2,
            cosine: (norms > 0.0).then(|| (self.product / norms).clamp(-1.0, 1.0)),
            differing: self.differing,
        }
    }
}

/// The dtype that both hold the same numbers in: that of the narrower, where the other one rounded to it is equal.
pub fn equal_after_cast(a: &Tensor, b: &Tensor) -> Result<Option<DType>, Error> {
    if a.quantizer().is_some() || b.quantizer().is_some() {
        return Ok(None);
    }
    let plain = |tensor: &Tensor| {
        tensor.sparse_coo_parts().is_none()
            && tensor.sparse_compressed_parts().is_none()
            && tensor.nested_parts().is_none()
    };
    if !plain(a) || !plain(b) {
        return Ok(None);
    }
    let (wide, narrow) = match a.dtype().item_size() >= b.dtype().item_size() {
        true => (a, b),
        false => (b, a),
    };
    for (from, to) in [(wide, narrow), (narrow, wide)] {
        match numbers::numbers(from)?.to_dtype(to.dtype()) {
            Ok(cast) if *cast.contiguous_bytes()? == *to.contiguous_bytes()? => {
                return Ok(Some(to.dtype()));
            }
            Ok(_) | Err(Error::Unsupported(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
