//! Operators of numbers that have instructions of their own: the operands' kind is known from the
//! schema, so running one is a look at two registers.

use crate::ops;
use crate::value::IValue::{self, Bool, Float, Int};

/// An operator of two ints or two floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberOp {
    AddInt,
    SubInt,
    MulInt,
    FloorDivInt,
    RemainderInt,
    AndInt,
    OrInt,
    XorInt,
    EqInt,
    NeInt,
    LtInt,
    LeInt,
    GtInt,
    GeInt,
    AddFloat,
    SubFloat,
    MulFloat,
    DivFloat,
    EqFloat,
    NeFloat,
    LtFloat,
    LeFloat,
    GtFloat,
    GeFloat,
}

use NumberOp::*;

const OPERATORS: &[(&str, &str, NumberOp)] = &[
    ("aten::add", "int", AddInt),
    ("aten::sub", "int", SubInt),
    ("aten::mul", "int", MulInt),
    ("aten::floordiv", "int", FloorDivInt),
    ("aten::remainder", "int", RemainderInt),
    ("aten::__and__", "int", AndInt),
    ("aten::__or__", "int", OrInt),
    ("aten::__xor__", "int", XorInt),
    ("aten::eq", "int", EqInt),
    ("aten::ne", "int", NeInt),
    ("aten::lt", "int", LtInt),
    ("aten::le", "int", LeInt),
    ("aten::gt", "int", GtInt),
    ("aten::ge", "int", GeInt),
    ("aten::add", "float", AddFloat),
    ("aten::sub", "float", SubFloat),
    ("aten::mul", "float", MulFloat),
    ("aten::div", "float", DivFloat),
    ("aten::eq", "float", EqFloat),
    ("aten::ne", "float", NeFloat),
    ("aten::lt", "float", LtFloat),
    ("aten::le", "float", LeFloat),
    ("aten::gt", "float", GtFloat),
    ("aten::ge", "float", GeFloat),
];

impl NumberOp {
    /// The instruction of an operator, if it has one.
    pub(crate) fn find(symbol: &str, overload: &str) -> Option<Self> {
        let found = OPERATORS.iter().find(|&&(s, o, _)| s == symbol && o == overload);
        found.map(|&(_, _, op)| op)
    }

    /// The operator of the registry that it stands for.
    pub(crate) fn builtin(self) -> Result<ops::Builtin, crate::Error> {
        let line = OPERATORS.iter().find(|&&(_, _, op)| op == self);
        let builtin = line.and_then(|&(symbol, overload, _)| ops::find(symbol, overload));
        builtin.ok_or_else(|| crate::Error::Malformed(format!("{self:?} is not an operator")))
    }

    /// What it gives; `None` where the registry's function must say what is wrong.
    #[inline(always)]
    pub(crate) fn of(self, a: &IValue, b: &IValue) -> Option<Number> {
        Some(match (a, b) {
            (&Int(a), &Int(b)) => match self {
                AddInt => Number::Int(a.wrapping_add(b)),
                SubInt => Number::Int(a.wrapping_sub(b)),
                MulInt => Number::Int(a.wrapping_mul(b)),
                FloorDivInt => Number::Int(ops::floor_quotient(a, b).ok()?),
                RemainderInt => Number::Int(ops::floor_rest(a, b).ok()?),
                AndInt => Number::Int(a & b),
                OrInt => Number::Int(a | b),
                XorInt => Number::Int(a ^ b),
                EqInt => Number::Bool(a == b),
                NeInt => Number::Bool(a != b),
                LtInt => Number::Bool(a < b),
                LeInt => Number::Bool(a <= b),
                GtInt => Number::Bool(a > b),
                GeInt => Number::Bool(a >= b),
                _ => return None,
            },
            (&Float(a), &Float(b)) => match self {
                AddFloat => Number::Float(a + b),
                SubFloat => Number::Float(a - b),
                MulFloat => Number::Float(a * b),
                DivFloat => Number::Float(a / b),
                EqFloat => Number::Bool(a == b),
                NeFloat => Number::Bool(a != b),
                LtFloat => Number::Bool(a < b),
                LeFloat => Number::Bool(a <= b),
                GtFloat => Number::Bool(a > b),
                GeFloat => Number::Bool(a >= b),
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// What such an operator gives. Put into a register, it is two stores: a whole [`IValue`] is first
/// made in memory, and reading that back takes longer than the operator.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Bool(bool),
    Int(i64),
    Float(f64),
}

impl Number {
    /// Puts it in the place of a value.
    #[inline(always)]
    pub(crate) fn put(self, slot: &mut IValue) {
        match (self, slot) {
            (Number::Int(new), Int(old)) => *old = new,
            (Number::Bool(new), Bool(old)) => *old = new,
            (Number::Float(new), Float(old)) => *old = new,
            (new, slot) => *slot = new.into(),
        }
    }
}

impl From<Number> for IValue {
    fn from(number: Number) -> IValue {
        match number {
            Number::Bool(value) => Bool(value),
            Number::Int(value) => Int(value),
            Number::Float(value) => Float(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytecode::interpreter::Machine;
    use crate::ops::Args;

    #[test]
    fn each_gives_what_the_registry_gives() {
        let module = sconce_torchscript::load(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/programs/loops/model.pt"
        ));
        let mut machine = Machine::new(&module.unwrap(), Box::new(crate::Silent), false);
        let ints = [0, 1, -1, 7, -7, i64::MIN, i64::MAX].map(Int);
        let floats = [0.0, -0.0, 1.5, -7.25, f64::NAN, f64::INFINITY].map(Float);
        for &(symbol, overload, op) in OPERATORS {
            let builtin = ops::find(symbol, overload).unwrap();
            let values: &[IValue] = if overload == "int" { &ints } else { &floats };
            for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
                let mut args = [a.clone(), b.clone()];
                let known = builtin.call(&mut machine, Args(&mut args)).ok();
                let shown = |value: Option<IValue>| format!("{value:?}");
                assert_eq!(
                    shown(op.of(a, b).map(IValue::from)),
                    shown(known),
                    "{symbol}.{overload} {a:?} {b:?}"
                );
            }
        }
    }
}
