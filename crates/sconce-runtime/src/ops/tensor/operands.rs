//! Operands of tensor operators, and what kernels say when they refuse.

use sconce_kernels::{DType, MemoryFormat, Operand, Scalar, Tensor};

use crate::error::{Error, Raise, kernel};
use crate::ops::Args;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

/// What a kernel made, as a value.
pub(crate) fn made(result: sconce_kernels::Result<Tensor>) -> Result {
    result.map(IValue::Tensor).map_err(kernel)
}

/// Two tensors that a kernel made, as a tuple.
pub(crate) fn both(result: sconce_kernels::Result<(Tensor, Tensor)>) -> Result {
    let (first, second) = result.map_err(kernel)?;
    Ok(IValue::tuple(vec![IValue::Tensor(first), IValue::Tensor(second)]))
}

/// Tensors that a kernel made, as a list.
pub(crate) fn listed(result: sconce_kernels::Result<Vec<Tensor>>) -> Result {
    let tensors = result.map_err(kernel)?;
    let items = tensors.into_iter().map(IValue::Tensor).collect();
    Ok(IValue::list(sconce_ir::Type::Tensor, items))
}

fn wrong(index: usize, what: &str, found: &IValue) -> Raise {
    let found = found.kind_name();
    Raise::Error(Error::Malformed(format!("operand {index} of an operator is {found}, not {what}")))
}

impl Args<'_> {
    pub(crate) fn tensor(&self, index: usize) -> Result<&Tensor> {
        match self.get(index) {
            IValue::Tensor(tensor) => Ok(tensor),
            IValue::Nested(_) => Err(Raise::unsupported("this operator on nested tensors")),
            IValue::Sparse(_) => Err(Raise::unsupported("this operator on sparse tensors")),
            other => Err(wrong(index, "a tensor", other)),
        }
    }

    /// A tensor, or all sequences of a nested one: what does not depend on their lengths.
    pub(crate) fn tensor_or_nested(&self, index: usize) -> Result<&Tensor> {
        match self.get(index) {
            IValue::Nested(nested) => Ok(&nested.padded),
            _ => self.tensor(index),
        }
    }

    pub(crate) fn optional_tensor(&self, index: usize) -> Result<Option<&Tensor>> {
        if self.get(index).is_none() { Ok(None) } else { self.tensor(index).map(Some) }
    }

    pub(crate) fn scalar(&self, index: usize) -> Result<Scalar> {
        Ok(match self.get(index) {
            IValue::Bool(value) => Scalar::Bool(*value),
            IValue::Int(value) => Scalar::Int(*value),
            IValue::Float(value) => Scalar::Float(*value),
            IValue::Complex(re, im) => Scalar::Complex(num_complex::Complex::new(*re, *im)),
            other => return Err(wrong(index, "a number", other)),
        })
    }

    /// A tensor or a number.
    pub(crate) fn operand(&self, index: usize) -> Result<Operand<'_>> {
        match self.get(index) {
            IValue::Tensor(_) | IValue::Nested(_) | IValue::Sparse(_) => {
                self.tensor(index).map(Operand::Tensor)
            }
            _ => self.scalar(index).map(Operand::Scalar),
        }
    }

    pub(crate) fn optional_operand(&self, index: usize) -> Result<Option<Operand<'_>>> {
        if self.get(index).is_none() { Ok(None) } else { self.operand(index).map(Some) }
    }

    /// Ints; none for `None`.
    pub(crate) fn ints(&self, index: usize) -> Result<Vec<i64>> {
        if self.get(index).is_none() {
            return Ok(Vec::new());
        }
        let list = self.list(index)?;
        let list = list.read();
        let int = |item: &IValue| match item {
            IValue::Int(int) => Ok(*int),
            other => Err(wrong(index, "a list of ints", other)),
        };
        list.items.iter().map(int).collect()
    }

    /// A number, or `None`.
    pub(crate) fn optional_real(&self, index: usize) -> Result<Option<f64>> {
        if self.get(index).is_none() { Ok(None) } else { self.real(index).map(Some) }
    }

    /// Numbers, or `None`.
    pub(crate) fn optional_reals(&self, index: usize) -> Result<Option<Vec<f64>>> {
        if self.get(index).is_none() {
            return Ok(None);
        }
        let list = self.list(index)?;
        let list = list.read();
        let real = |item: &IValue| match item {
            IValue::Float(value) => Ok(*value),
            IValue::Int(value) => Ok(*value as f64),
            other => Err(wrong(index, "a list of numbers", other)),
        };
        list.items.iter().map(real).collect::<Result<_>>().map(Some)
    }

    /// Ints, or `None`.
    pub(crate) fn optional_ints(&self, index: usize) -> Result<Option<Vec<i64>>> {
        if self.get(index).is_none() { Ok(None) } else { self.ints(index).map(Some) }
    }

    /// A str, or `None`.
    #[cfg_attr(not(feature = "linalg"), expect(dead_code, reason = "factorizations take some"))]
    pub(crate) fn optional_str(&self, index: usize) -> Result<Option<crate::value::Text>> {
        if self.get(index).is_none() { Ok(None) } else { self.str(index).map(Some) }
    }

    /// Floats; none for `None`.
    pub(crate) fn floats(&self, index: usize) -> Result<Vec<f64>> {
        if self.get(index).is_none() {
            return Ok(Vec::new());
        }
        let list = self.list(index)?;
        let list = list.read();
        let float = |item: &IValue| match item {
            IValue::Float(float) => Ok(*float),
            IValue::Int(int) => Ok(*int as f64),
            other => Err(wrong(index, "a list of floats", other)),
        };
        list.items.iter().map(float).collect()
    }

    /// Two ints; one stands for both.
    pub(crate) fn pair(&self, index: usize) -> Result<[i64; 2]> {
        match *self.ints(index)?.as_slice() {
            [both] => Ok([both, both]),
            [rows, columns] => Ok([rows, columns]),
            _ => Err(Raise::message("It is expected that two ints are given")),
        }
    }

    pub(crate) fn tensors(&self, index: usize) -> Result<Vec<Tensor>> {
        let tensors = self.optional_tensors(index)?;
        let some: Option<Vec<Tensor>> = tensors.into_iter().collect();
        some.ok_or_else(|| wrong(index, "a list of tensors", &IValue::None))
    }

    pub(crate) fn optional_tensors(&self, index: usize) -> Result<Vec<Option<Tensor>>> {
        let list = self.list(index)?;
        let list = list.read();
        let tensor = |item: &IValue| match item {
            IValue::Tensor(tensor) => Ok(Some(tensor.clone())),
            IValue::None => Ok(None),
            IValue::Sparse(_) => Err(Raise::unsupported("this operator on sparse tensors")),
            other => Err(wrong(index, "a list of tensors", other)),
        };
        list.items.iter().map(tensor).collect()
    }

    /// A dtype by number, or `None`.
    pub(crate) fn dtype(&self, index: usize) -> Result<Option<DType>> {
        match self.optional_int(index)? {
            None => Ok(None),
            Some(number) => match DType::from_scalar_type_number(number) {
                Some(dtype) => Ok(Some(dtype)),
                None => Err(Raise::unsupported(format!("the dtype of number {number}"))),
            },
        }
    }

    /// Refuses layouts, devices and memory formats other than those that everything here has:
    /// strided, CPU, row-major.
    pub(crate) fn plain_options(&self, layout: usize, device: usize) -> Result<()> {
        if !matches!(self.get(layout), IValue::None | IValue::Int(0)) {
            return Err(Raise::unsupported("a layout that is not strided"));
        }
        self.on_cpu(device)
    }

    /// Refuses devices other than the CPU.
    pub(crate) fn on_cpu(&self, device: usize) -> Result<()> {
        match self.get(device) {
            IValue::None => Ok(()),
            IValue::Device(device) if &**device == "cpu" || &**device == "cpu:0" => Ok(()),
            _ => Err(Raise::unsupported("a device other than the CPU")),
        }
    }

    /// A memory format by number, or `None`.
    pub(crate) fn memory_format(&self, index: usize) -> Result<Option<MemoryFormat>> {
        let Some(number) = self.optional_int(index)? else { return Ok(None) };
        match MemoryFormat::from_number(number) {
            Some(format) => Ok(Some(format)),
            None => Err(Raise::unsupported(format!("the memory format of number {number}"))),
        }
    }
}

/// The first operand in the dtype that another gives.
pub(crate) fn cast(args: &Args<'_>, dtype: usize) -> Result<Tensor> {
    let input = args.tensor(0)?;
    let dtype: DType = args.dtype(dtype)?.unwrap_or(input.dtype());
    input.to_dtype(dtype).map_err(kernel)
}
