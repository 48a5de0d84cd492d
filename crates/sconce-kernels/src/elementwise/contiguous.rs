//! A fast path for row-major tensors of one dtype and one shape.
//!
//! There is nothing to promote and nothing to broadcast, and an operand that nobody else holds gives
//! its memory to the result. For small tensors the general path costs more than the arithmetic.

use crate::{BinaryOp, DType, Operand, PodElement, Scalar, Tensor, UnaryOp};

/// Integers up to here are the same number in `f32`.
const EXACT_IN_F32: u64 = 1 << 24;

/// As [`crate::binary`], for the operands and operators that need none of its rules; `None` for
/// others, which are as they were. An operand that the caller is done with (`done`) becomes the result
/// where it is [disposable](Tensor::is_disposable).
pub fn contiguous_binary(
    op: BinaryOp,
    a: &Tensor,
    b: Operand<'_>,
    done: [bool; 2],
) -> Option<Tensor> {
    let spare = |tensor: &Tensor, done: bool| done && tensor.is_disposable();
    let into = match b {
        _ if !fits(op, a, b) => return None,
        Operand::Tensor(b) if b.is(a) => None,
        _ if spare(a, done[0]) => Some(a),
        Operand::Tensor(b) if spare(b, done[1]) => Some(b),
        _ => None,
    };
    Zip { a, b, into }.run(op)
}

/// As [`crate::binary_in_place`], for the operands and operators that need none of its rules; gives
/// whether it was done.
pub fn contiguous_binary_in_place(op: BinaryOp, a: &Tensor, b: Operand<'_>) -> bool {
    let apart = match b {
        Operand::Tensor(b) => !b.storage().ptr_eq(a.storage()),
        Operand::Scalar(_) => true,
    };
    apart && fits(op, a, b) && Zip { a, b, into: Some(a) }.run(op).is_some()
}

/// Whether there is nothing to promote, to broadcast or to gather.
fn fits(op: BinaryOp, a: &Tensor, b: Operand<'_>) -> bool {
    let alike = match b {
        // Element by element: to call a function that compares memory takes longer.
        Operand::Tensor(b) => {
            a.dtype() == b.dtype() && a.sizes().iter().eq(b.sizes()) && b.is_row_major()
        }
        Operand::Scalar(_) => true,
    };
    alike
        && a.is_row_major()
        && matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div)
}

/// Two operands that fit, and which of them becomes the result if none is made.
struct Zip<'a> {
    a: &'a Tensor,
    b: Operand<'a>,
    into: Option<&'a Tensor>,
}

impl Zip<'_> {
    fn run(&self, op: BinaryOp) -> Option<Tensor> {
        match self.a.dtype() {
            DType::Float32 => {
                let number = match self.b {
                    Operand::Tensor(_) => 0.0,
                    Operand::Scalar(Scalar::Float(number)) => number as f32,
                    Operand::Scalar(Scalar::Int(number))
                        if number.unsigned_abs() < EXACT_IN_F32 =>
                    {
                        number as f32
                    }
                    Operand::Scalar(_) => return None,
                };
                match op {
                    BinaryOp::Add => self.each(number, |x: f32, y| x + y),
                    BinaryOp::Sub => self.each(number, |x: f32, y| x - y),
                    BinaryOp::Mul => self.each(number, |x: f32, y| x * y),
                    _ => self.each(number, |x: f32, y| x / y),
                }
            }
            DType::Float64 => {
                let number = match self.b {
                    Operand::Tensor(_) => 0.0,
                    Operand::Scalar(Scalar::Float(number)) => number,
                    Operand::Scalar(_) => return None,
                };
                match op {
                    BinaryOp::Add => self.each(number, |x: f64, y| x + y),
                    BinaryOp::Sub => self.each(number, |x: f64, y| x - y),
                    BinaryOp::Mul => self.each(number, |x: f64, y| x * y),
                    _ => self.each(number, |x: f64, y| x / y),
                }
            }
            DType::Int64 => {
                let number = match self.b {
                    Operand::Tensor(_) => 0,
                    Operand::Scalar(Scalar::Int(number)) => number,
                    Operand::Scalar(_) => return None,
                };
                match op {
                    BinaryOp::Add => self.each(number, i64::wrapping_add),
                    BinaryOp::Sub => self.each(number, i64::wrapping_sub),
                    BinaryOp::Mul => self.each(number, i64::wrapping_mul),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Applies `f` to all pairs, or to all elements and the number.
    fn each<T: PodElement>(&self, number: T, f: impl Fn(T, T) -> T) -> Option<Tensor> {
        let Zip { a, b, into } = *self;
        let Operand::Tensor(b) = b else { return map(a, into.is_some(), |x| f(x, number)) };
        match into {
            Some(into) if into.is(a) => {
                let ys = b.read::<T>().ok()?;
                for (x, &y) in a.write::<T>().ok()?.iter_mut().zip(ys.iter()) {
                    *x = f(*x, y);
                }
                Some(a.clone())
            }
            Some(_) => {
                let xs = a.read::<T>().ok()?;
                for (&x, y) in xs.iter().zip(b.write::<T>().ok()?.iter_mut()) {
                    *y = f(x, *y);
                }
                Some(b.clone())
            }
            None => {
                let result = Tensor::for_overwrite(a.sizes(), a.dtype()).ok()?;
                let (xs, ys) = (a.read::<T>().ok()?, b.read::<T>().ok()?);
                let mut out = result.write::<T>().ok()?;
                for ((out, &x), &y) in out.iter_mut().zip(xs.iter()).zip(ys.iter()) {
                    *out = f(x, y);
                }
                drop(out);
                Some(result)
            }
        }
    }
}

/// As [`crate::unary`], under the terms of [`contiguous_binary`].
pub fn contiguous_unary(op: UnaryOp, a: &Tensor, done: bool) -> Option<Tensor> {
    if !a.is_row_major() || a.dtype() != DType::Float32 {
        return None;
    }
    let spare = done && a.is_disposable();
    match op {
        UnaryOp::Neg => map(a, spare, |x: f32| -x),
        UnaryOp::Abs => map(a, spare, f32::abs),
        // NaN passes through.
        UnaryOp::Relu => map(a, spare, |x: f32| if x < 0.0 { 0.0 } else { x }),
        UnaryOp::Sqrt => map(a, spare, f32::sqrt),
        _ => None,
    }
}

fn map<T: PodElement>(a: &Tensor, in_place: bool, f: impl Fn(T) -> T) -> Option<Tensor> {
    if in_place {
        a.write::<T>().ok()?.iter_mut().for_each(|x| *x = f(*x));
        return Some(a.clone());
    }
    let result = Tensor::for_overwrite(a.sizes(), a.dtype()).ok()?;
    let xs = a.read::<T>().ok()?;
    let mut out = result.write::<T>().ok()?;
    for (out, &x) in out.iter_mut().zip(xs.iter()) {
        *out = f(x);
    }
    drop(out);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary;
    use crate::unary;

    const OPS: [BinaryOp; 4] = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div];

    fn check(op: BinaryOp, a: &Tensor, b: Operand<'_>) {
        let general = binary(op, a.into(), b).unwrap();
        let bits = |t: &Tensor| t.to_dtype(DType::Float64).unwrap().to_vec::<f64>().unwrap();
        let copy = if let Operand::Tensor(b) = b { Some(b.copy().unwrap()) } else { None };
        let copied = copy.as_ref().map_or(b, Operand::Tensor);
        let results = [
            contiguous_binary(op, a, b, [false; 2]),
            contiguous_binary(op, &a.copy().unwrap(), b, [true, false]),
            contiguous_binary(op, a, copied, [false, true]),
        ];
        for result in results.into_iter().flatten() {
            assert_eq!(result.dtype(), general.dtype());
            assert_eq!(result.sizes(), general.sizes());
            let (x, y) = (bits(&result), bits(&general));
            assert!(
                x.iter().zip(&y).all(|(x, y)| x.to_bits() == y.to_bits()),
                "{op:?} {x:?} {y:?}"
            );
        }
    }

    #[test]
    fn results_are_those_of_the_general_way() {
        let numbers = [1.5, -2.0, 0.0, -0.0, f64::NAN, f64::INFINITY, 1e30, 7.0];
        let wide = Tensor::from_slice(&numbers, &[2, 4]).unwrap();
        let tensors = [DType::Float32, DType::Float64, DType::Int64, DType::Int32]
            .map(|dtype| wide.to_dtype(dtype).unwrap());
        for op in OPS {
            for a in &tensors {
                for b in &tensors {
                    check(op, a, b.into());
                    check(op, a, (&b.transpose(0, 1).unwrap().reshape(&[2, 4]).unwrap()).into());
                }
                check(op, a, 3.into());
                check(op, a, 0.1.into());
                check(op, a, (1_i64 << 40).into());
            }
        }
        for op in [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Relu, UnaryOp::Sqrt] {
            let a = &tensors[0];
            let (general, fast) = (unary(op, a).unwrap(), contiguous_unary(op, a, false).unwrap());
            let bits = |t: &Tensor| -> Vec<u32> {
                t.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
            };
            assert_eq!(bits(&general), bits(&fast), "{op:?}");
        }
    }

    #[test]
    fn only_what_nobody_else_sees_is_written() {
        let a = Tensor::from_slice(&[1f32, 2.0], &[2]).unwrap();
        let view = a.slice(0, Some(0), Some(1), 1).unwrap();
        let sum = contiguous_binary(BinaryOp::Add, &a, (&a).into(), [true; 2]).unwrap();
        assert_eq!(a.to_vec::<f32>().unwrap(), [1.0, 2.0]);
        assert_eq!(sum.to_vec::<f32>().unwrap(), [2.0, 4.0]);
        drop(view);
        let twice = contiguous_binary(BinaryOp::Add, &a, (&a).into(), [false, true]).unwrap();
        assert_eq!(twice.to_vec::<f32>().unwrap(), [2.0, 4.0]);
        let kept = contiguous_binary(BinaryOp::Add, &a, (&sum).into(), [false; 2]).unwrap();
        assert_eq!(a.to_vec::<f32>().unwrap(), [1.0, 2.0]);
        assert!(!kept.is(&a) && !kept.is(&sum));
        let second = contiguous_binary(BinaryOp::Add, &a, (&sum).into(), [false, true]).unwrap();
        assert!(second.is(&sum));
        drop((second, kept));
        let first = contiguous_binary(BinaryOp::Add, &a, (&sum).into(), [true; 2]).unwrap();
        assert!(first.is(&a));
    }
}
