//! Arithmetic and comparisons of numbers.

use std::cmp::Ordering;

use crate::error::Raise;
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::value::IValue::{self, Bool, Complex, Float, Int};

type Result<T = IValue> = std::result::Result<T, Raise>;

const REAL: &str = "int float int_float float_int -";
const ALL: &str = "int float int_float float_int complex int_complex complex_int float_complex \
                   complex_float -";
const EQUAL: &str = "int float int_float float_int complex float_complex complex_float - bool str \
                     device enum int_list float_list bool_list str_list";

pub(crate) const TABLE: Table = &[
    op("aten::add", ALL, |_, args| {
        arithmetic(&args, i64::wrapping_add, |a, b| a + b, |a, b| (a.0 + b.0, a.1 + b.1))
    })
    .strides(ResultStrides::Numbers),
    op("aten::sub", ALL, |_, args| {
        arithmetic(&args, i64::wrapping_sub, |a, b| a - b, |a, b| (a.0 - b.0, a.1 - b.1))
    })
    .strides(ResultStrides::Numbers),
    op("aten::mul", ALL, |_, args| {
        arithmetic(
            &args,
            i64::wrapping_mul,
            |a, b| a * b,
            |a, b| (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0),
        )
    })
    .strides(ResultStrides::Numbers),
    op("aten::div", "int float complex -", divide).strides(ResultStrides::Numbers),
    op("aten::floordiv", "int float int_float float_int -", floor_divide),
    op("aten::remainder", "int float int_float float_int -", remainder)
        .strides(ResultStrides::Numbers),
    op("aten::__round_to_zero_floordiv", "int", round_to_zero),
    op("aten::divmod", "int float int_float float_int", divmod),
    op(
        "aten::pow",
        "int float int_float float_int Scalar_Scalar complex float_complex complex_float",
        power,
    ),
    op("aten::pow", "int_to_int", |_, args| match u32::try_from(args.int(1)?) {
        Ok(exponent) => Ok(Int(args.int(0)?.wrapping_pow(exponent))),
        Err(_) => Err(Raise::unsupported("aten::pow.int_to_int with a negative exponent")),
    }),
    op("aten::neg", "int float complex", |_, args| negative(args.get(0)))
        .strides(ResultStrides::Elements),
    op("aten::neg", "Scalar", |_, args| single(negative(args.get(0))))
        .strides(ResultStrides::Elements),
    op("prim::abs", "int float complex", |_, args| absolute(args.get(0))),
    op("prim::abs", "Scalar", |_, args| single(absolute(args.get(0)))),
    op("prim::min", REAL, |_, args| pick(&args, |a, b| a < b, |a, b| a < b)),
    op("prim::max", REAL, |_, args| pick(&args, |a, b| a > b, |a, b| a > b)),
    op("aten::eq", EQUAL, |_, args| Ok(Bool(equal(&args)?))).strides(ResultStrides::Numbers),
    op("aten::ne", EQUAL, |_, args| Ok(Bool(!equal(&args)?))).strides(ResultStrides::Numbers),
    op("aten::lt", "int float int_float float_int - str", |_, args| {
        compare(&args, |order| order == Ordering::Less)
    })
    .strides(ResultStrides::Numbers),
    op("aten::gt", "int float int_float float_int - str", |_, args| {
        compare(&args, |order| order == Ordering::Greater)
    })
    .strides(ResultStrides::Numbers),
    op("aten::le", "int float int_float float_int - str", |_, args| {
        compare(&args, |order| order != Ordering::Greater)
    })
    .strides(ResultStrides::Numbers),
    op("aten::ge", "int float int_float float_int - str", |_, args| {
        compare(&args, |order| order != Ordering::Less)
    })
    .strides(ResultStrides::Numbers),
    op("aten::__and__", "bool int", |_, args| bits(&args, |a, b| a & b, |a, b| a & b))
        .strides(ResultStrides::Numbers),
    op("aten::__or__", "bool int", |_, args| bits(&args, |a, b| a | b, |a, b| a | b))
        .strides(ResultStrides::Numbers),
    op("aten::__xor__", "bool int", |_, args| bits(&args, |a, b| a ^ b, |a, b| a ^ b))
        .strides(ResultStrides::Numbers),
    op("aten::__not__", "-", |_, args| Ok(Bool(!args.bool(0)?))),
    op("aten::__lshift__", "int", |_, args| shift(&args, i64::wrapping_shl))
        .strides(ResultStrides::Numbers),
    op("aten::__rshift__", "int", |_, args| shift(&args, i64::wrapping_shr))
        .strides(ResultStrides::Numbers),
];

fn no_number<T>() -> Result<T> {
    Err(Raise::unsupported("arithmetic of what is not a number"))
}

/// What PyTorch gives for a number whose kind is not known before it runs: it goes through C's
/// `float`.
pub(crate) fn single(result: Result) -> Result {
    Ok(match result? {
        Float(value) => Float(f64::from(value as f32)),
        value => value,
    })
}

fn negative(value: &IValue) -> Result {
    Ok(match value {
        Int(a) => Int(a.wrapping_neg()),
        Float(a) => Float(-a),
        Complex(re, im) => Complex(-re, -im),
        _ => return no_number(),
    })
}

fn absolute(value: &IValue) -> Result {
    Ok(match value {
        Int(a) => Int(a.wrapping_abs()),
        Float(a) => Float(a.abs()),
        Complex(re, im) => Float(re.hypot(*im)),
        _ => return no_number(),
    })
}

/// Real and imaginary part.
type Parts = (f64, f64);

fn complex(value: &IValue) -> Result<Parts> {
    Ok(match value {
        Int(a) => (*a as f64, 0.0),
        Float(a) => (*a, 0.0),
        Complex(re, im) => (*re, *im),
        _ => return no_number(),
    })
}

fn arithmetic(
    args: &Args<'_>,
    ints: fn(i64, i64) -> i64,
    floats: fn(f64, f64) -> f64,
    complexes: fn(Parts, Parts) -> Parts,
) -> Result {
    Ok(match (args.get(0), args.get(1)) {
        (Int(a), Int(b)) => Int(ints(*a, *b)),
        (Complex(..), _) | (_, Complex(..)) => {
            let (re, im) = complexes(complex(args.get(0))?, complex(args.get(1))?);
            Complex(re, im)
        }
        _ => Float(floats(args.real(0)?, args.real(1)?)),
    })
}

fn divide(_: &mut dyn OpContext, args: Args<'_>) -> Result {
    if let (Complex(..), _) | (_, Complex(..)) = (args.get(0), args.get(1)) {
        let quotient = number(complex(args.get(0))?) / number(complex(args.get(1))?);
        return Ok(Complex(quotient.re, quotient.im));
    }
    Ok(Float(args.real(0)? / args.real(1)?))
}

fn number(parts: Parts) -> num_complex::Complex64 {
    num_complex::Complex64::new(parts.0, parts.1)
}

fn by_zero() -> Raise {
    Raise::message("division by 0")
}

/// Division that rounds down.
pub(crate) fn floor_quotient(a: i64, b: i64) -> Result<i64> {
    if b == 0 {
        return Err(by_zero());
    }
    let quotient = a.wrapping_div(b);
    Ok(if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

/// The rest of a division that rounds down. (Where the divisor is 0, PyTorch's process dies.)
pub(crate) fn floor_rest(a: i64, b: i64) -> Result<i64> {
    if b == 0 {
        return Err(Raise::message("integer modulo by zero"));
    }
    Ok(b.wrapping_add(a.wrapping_rem(b)).wrapping_rem(b))
}

fn floor_divide(_: &mut dyn OpContext, args: Args<'_>) -> Result {
    match (args.get(0), args.get(1)) {
        (Int(a), Int(b)) => Ok(Int(floor_quotient(*a, *b)?)),
        _ => Ok(Float((args.real(0)? / args.real(1)?).floor())),
    }
}

fn remainder(_: &mut dyn OpContext, args: Args<'_>) -> Result {
    match (args.get(0), args.get(1)) {
        (Int(a), Int(b)) => Ok(Int(floor_rest(*a, *b)?)),
        _ => {
            let (a, b) = (args.real(0)?, args.real(1)?);
            Ok(Float((b + a % b) % b))
        }
    }
}

fn round_to_zero(_: &mut dyn OpContext, args: Args<'_>) -> Result {
    match args.int(1)? {
        0 => Err(by_zero()),
        b => Ok(Int(args.int(0)?.wrapping_div(b))),
    }
}

fn divmod(_: &mut dyn OpContext, args: Args<'_>) -> Result {
    let zero = || Raise::message("ZeroDivisionError: integer division or modulo by zero");
    match (args.get(0), args.get(1)) {
        (Int(_), Int(0)) => Err(zero()),
        (Int(a), Int(b)) => {
            let rest = a.wrapping_rem(*b);
            let rest = if rest != 0 && (rest < 0) != (*b < 0) { rest + b } else { rest };
            Ok(IValue::tuple(vec![Int(floor_quotient(*a, *b)?), Int(rest)]))
        }
        _ => {
            let (a, b) = (args.real(0)?, args.real(1)?);
            if b == 0.0 {
                return Err(Raise::message("ZeroDivisionError: float divmod()"));
            }
            let mut rest = a % b;
            if rest != 0.0 && (a < 0.0) != (b < 0.0) {
                rest += b;
            }
            Ok(IValue::tuple(vec![Float((a - rest) / b), Float(rest)]))
        }
    }
}

fn power(_: &mut dyn OpContext, args: Args<'_>) -> Result {
    let zero = || Raise::message("0.0 cannot be raised to a negative power");
    match (args.get(0), args.get(1)) {
        (Complex(..), _) | (_, Complex(..)) => {
            let (a, b) = (number(complex(args.get(0))?), number(complex(args.get(1))?));
            let power = a.powc(b);
            match a.re.is_finite() && a.im.is_finite() && power.re.is_finite() && a.norm() > 0.0 {
                true => Ok(Complex(power.re, power.im)),
                false => Err(Raise::unsupported("this power of a complex number")),
            }
        }
        _ => {
            let (a, b) = (args.real(0)?, args.real(1)?);
            if a == 0.0 && b < 0.0 { Err(zero()) } else { Ok(Float(a.powf(b))) }
        }
    }
}

/// The first where the comparison holds, else the second: what decides where one is not a number.
fn pick(args: &Args<'_>, ints: fn(&i64, &i64) -> bool, floats: fn(&f64, &f64) -> bool) -> Result {
    match (args.get(0), args.get(1)) {
        (Int(a), Int(b)) => Ok(Int(if ints(a, b) { *a } else { *b })),
        _ => {
            let (a, b) = (args.real(0)?, args.real(1)?);
            Ok(Float(if floats(&a, &b) { a } else { b }))
        }
    }
}

fn equal(args: &Args<'_>) -> Result<bool> {
    let equal = args.get(0).equal(args.get(1));
    equal.ok_or_else(|| Raise::unsupported("the comparison of lists of tensors"))
}

fn compare(args: &Args<'_>, holds: fn(Ordering) -> bool) -> Result {
    let order = match (args.get(0), args.get(1)) {
        (IValue::Str(a), IValue::Str(b)) => Some(a.cmp(b)),
        (Int(a), Int(b)) => Some(a.cmp(b)),
        _ => args.real(0)?.partial_cmp(&args.real(1)?),
    };
    Ok(Bool(order.is_some_and(holds)))
}

fn bits(args: &Args<'_>, bools: fn(bool, bool) -> bool, ints: fn(i64, i64) -> i64) -> Result {
    Ok(match (args.get(0), args.get(1)) {
        (Bool(a), Bool(b)) => Bool(bools(*a, *b)),
        _ => Int(ints(args.int(0)?, args.int(1)?)),
    })
}

/// As the processor shifts: by the lowest six bits of the count.
fn shift(args: &Args<'_>, shift: fn(i64, u32) -> i64) -> Result {
    Ok(Int(shift(args.int(0)?, (args.int(1)? & 63) as u32)))
}
