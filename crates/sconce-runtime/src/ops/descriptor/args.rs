//! The operands of an operator.

use sconce_kernels::Generator;

use crate::error::{Error, Raise};
use crate::value::shared::Shared;
use crate::value::{Dict, IValue, List, Text};

/// The operands of an operator, each of the type its schema says.
pub(crate) struct Args<'a>(pub(crate) &'a mut [IValue]);

macro_rules! getter {
    ($name:ident, $variant:ident, $ty:ty, $what:literal) => {
        pub(crate) fn $name(&self, index: usize) -> Result<$ty, Raise> {
            match self.0.get(index) {
                Some(IValue::$variant(value)) => Ok(value.clone()),
                other => Err(wrong(index, $what, other)),
            }
        }
    };
}

impl Args<'_> {
    getter!(int, Int, i64, "an int");
    getter!(bool, Bool, bool, "a bool");
    getter!(str, Str, Text, "a str");
    getter!(list, List, Shared<List>, "a list");
    getter!(dict, Dict, Shared<Dict>, "a dict");
    getter!(generator, Generator, Shared<Generator>, "a generator");

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// An operand as it is.
    pub(crate) fn get(&self, index: usize) -> &IValue {
        self.0.get(index).unwrap_or(&IValue::None)
    }

    /// An operand, taken out.
    pub(crate) fn take(&mut self, index: usize) -> IValue {
        self.0.get_mut(index).map_or(IValue::None, |slot| std::mem::replace(slot, IValue::None))
    }

    /// An int or float as a float.
    pub(crate) fn real(&self, index: usize) -> Result<f64, Raise> {
        match self.get(index) {
            IValue::Float(value) => Ok(*value),
            IValue::Int(value) => Ok(*value as f64),
            // Which is a number to schemas.
            IValue::Complex(..) => Err(Raise::unsupported("this operator on complex numbers")),
            other => Err(wrong(index, "a number", Some(other))),
        }
    }

    /// An int, or `None`.
    pub(crate) fn optional_int(&self, index: usize) -> Result<Option<i64>, Raise> {
        if self.get(index).is_none() { Ok(None) } else { self.int(index).map(Some) }
    }
}

fn wrong(index: usize, what: &str, found: Option<&IValue>) -> Raise {
    let found = found.map_or("nothing", IValue::kind_name);
    Raise::Error(Error::Malformed(format!("operand {index} of an operator is {found}, not {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complex_number_is_no_fault_of_the_program() {
        // `n > 1` of a complex `n`, which the schema `gt(Scalar, Scalar)` takes.
        let mut operands = [IValue::Complex(0.5, -1.0), IValue::Int(1)];
        let result = Args(&mut operands).real(0);
        let Err(Raise::Error(Error::Unsupported { what, .. })) = result else {
            panic!("{result:?}")
        };
        assert_eq!(what, "this operator on complex numbers");
    }
}
