//! Operators that become something else: assertions, which must stay where they are; what is made of other operators;
//! what is better known under another name.

use sconce_ir::{Constant, Kind, Type, ValueId, operators};

use super::builder::{Builder, Result, unsupported};
use crate::Error;
use crate::schema::Argument;

/// Assertions, and the private operators that check them: passes leave those where they are. How many of the
/// arguments count: on which device a tensor is does not.
const ASSERTIONS: &[(&str, &str, &str, usize)] = &[
    ("aten::_assert_scalar", "", "sconce::assert_scalar", 2),
    ("aten::_assert_async", "", "sconce::assert_tensor", 1),
    ("aten::_assert_async", "msg", "sconce::assert_tensor", 2),
    ("aten::_assert_tensor_metadata", "", "sconce::assert_tensor_metadata", 4),
    ("aten::sym_constrain_range", "", "sconce::assert_range", 3),
    ("aten::sym_constrain_range_for_size", "", "sconce::assert_size_range", 3),
    ("aten::_linalg_check_errors", "", "sconce::assert_linalg", 3),
];

/// Operators that are known under another name, with the same arguments.
const RENAMED: &[(&str, &str, &str)] = &[
    ("aten::sym_size", "int", "aten::size.int"),
    ("aten::sym_stride", "int", "aten::stride.int"),
    ("aten::sym_numel", "", "aten::numel"),
    ("aten::sym_storage_offset", "", "aten::storage_offset"),
    // A view, of a tensor that nothing writes to through it.
    ("aten::_neg_view", "", "aten::neg"),
];

/// `torch.float32`
const FLOAT32: i64 = 6;
/// `torch.float64`
const FLOAT64: i64 = 7;
/// `torch.int64`
const INT64: i64 = 4;

type Given<'a> = [(&'a str, &'a Argument)];

impl Builder {
    /// Imports what is not simply called. Gives whether it was such.
    pub(super) fn special(
        &mut self,
        symbol: &str,
        overload: &str,
        given: &Given<'_>,
        outputs: &[Argument],
    ) -> Result<bool> {
        if let Some(name) = symbol.strip_prefix("quantized_decomposed::") {
            return self.quantized(name, overload, given, outputs);
        }
        let is = |known: &str, of: &str| (symbol, overload) == (known, of);
        if let Some(&(.., private, count)) = ASSERTIONS.iter().find(|row| is(row.0, row.1)) {
            let inputs = self.schema_inputs(symbol, overload, given)?;
            let inputs = inputs.get(..count).unwrap_or(&inputs);
            self.node(Kind::Op(private.into()), inputs, &[]);
            return Ok(true);
        }
        if let Some(&(.., name)) = RENAMED.iter().find(|row| is(row.0, row.1)) {
            let inputs = self.schema_inputs(symbol, overload, given)?;
            let value = self.known(name, &inputs)?;
            self.bind(&[value], outputs)?;
            return Ok(true);
        }
        match (symbol, overload) {
            ("aten::item" | "aten::_local_scalar_dense", "") => {
                let inputs = self.schema_inputs(symbol, overload, given)?;
                let cast = match outputs {
                    [Argument::SymInt(_)] => "aten::Int.Tensor",
                    [Argument::SymFloat(_)] => "aten::Float.Tensor",
                    [Argument::SymBool(_)] => "aten::Bool.Tensor",
                    _ => return Ok(false),
                };
                let value = self.known(cast, &inputs)?;
                self.bind(&[value], outputs)?;
            }
            ("aten::_native_batch_norm_legit_functional", "") => {
                self.batch_norm(symbol, given, outputs, "aten::_native_batch_norm_legit")?;
            }
            ("aten::_batch_norm_with_update_functional", "") => {
                self.batch_norm(symbol, given, outputs, "aten::_batch_norm_with_update")?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn schema_inputs(
        &mut self,
        symbol: &str,
        overload: &str,
        given: &Given<'_>,
    ) -> Result<Vec<ValueId>> {
        let operator = operators::find(symbol, overload)
            .ok_or_else(|| unsupported(format!("the operator {symbol} is not known")))?;
        self.inputs_of(operator, given)
    }

    /// Batch normalization that gives new statistics instead of writing them: one that writes to copies.
    fn batch_norm(
        &mut self,
        symbol: &str,
        given: &Given<'_>,
        outputs: &[Argument],
        writing: &str,
    ) -> Result<()> {
        let mut inputs = self.schema_inputs(symbol, "", given)?;
        let none = self.none();
        let mut copies = Vec::new();
        for input in inputs.iter_mut().skip(3).take(2) {
            *input = self.known("aten::clone", &[*input, none])?;
            copies.push(*input);
        }
        let operator = operators::find_full(writing)
            .ok_or_else(|| unsupported(format!("the operator {writing} is not known")))?;
        let node = self.call(operator, &inputs);
        let mut results = self.graph.node(node).outputs().to_vec();
        results.extend(copies);
        self.bind(&results, outputs)
    }

    /// The operators of PyTorch's quantization by export, which are Python there.
    fn quantized(
        &mut self,
        name: &str,
        overload: &str,
        given: &Given<'_>,
        outputs: &[Argument],
    ) -> Result<bool> {
        let mut quantization = Quantization { builder: self, given };
        if let ("choose_qparams" | "choose_qparams_symmetric", "tensor") = (name, overload) {
            let both = quantization.choose(name == "choose_qparams_symmetric")?;
            self.bind(&both, outputs)?;
            return Ok(true);
        }
        let value = match (name, overload) {
            ("quantize_per_tensor", "" | "tensor" | "tensor2") => quantization.quantize()?,
            ("dequantize_per_tensor", "" | "tensor" | "tensor2") => quantization.dequantize()?,
            ("quantize_per_channel", "") => quantization.quantize_channels()?,
            ("dequantize_per_channel", "") => quantization.dequantize_channels()?,
            _ => return Ok(false),
        };
        self.bind(&[value], outputs)?;
        Ok(true)
    }
}

/// A call of an operator of `quantized_decomposed`.
struct Quantization<'b, 'a> {
    builder: &'b mut Builder,
    given: &'b Given<'a>,
}

impl Quantization<'_, '_> {
    fn optional(&mut self, name: &str, ty: Type) -> Result<Option<ValueId>> {
        let found = self.given.iter().find(|(given, _)| *given == name);
        match found {
            None | Some((_, Argument::None(_))) => Ok(None),
            Some((_, argument)) => {
                self.builder.argument(argument, &sconce_ir::Argument::new(name, ty)).map(Some)
            }
        }
    }

    fn value(&mut self, name: &str, ty: Type) -> Result<ValueId> {
        let found = self.optional(name, ty)?;
        found.ok_or_else(|| Error::malformed(format!("there is no argument '{name}'")))
    }

    /// A number, which may be given as a tensor.
    fn number(&mut self, name: &str, ty: Type) -> Result<ValueId> {
        let is_tensor = self
            .given
            .iter()
            .any(|(given, argument)| *given == name && matches!(argument, Argument::Tensor(_)));
        match is_tensor {
            true => {
                let tensor = self.value(name, Type::Tensor)?;
                self.builder.converted(tensor, &ty)
            }
            false => self.value(name, ty),
        }
    }

    fn to(&mut self, tensor: ValueId, dtype: ValueId) -> Result<ValueId> {
        let no = self.builder.constant(&Constant::Bool(false));
        let none = self.builder.none();
        self.builder.known("aten::to.dtype", &[tensor, dtype, no, no, none])
    }

    fn in_float32(&mut self, tensor: ValueId) -> Result<ValueId> {
        let dtype = self.builder.int(FLOAT32);
        self.to(tensor, dtype)
    }

    /// `clamp(round(scaled) + zero_point, quant_min, quant_max).to(dtype)`
    fn rounded(&mut self, scaled: ValueId, zero_point: ValueId) -> Result<ValueId> {
        let rounded = self.builder.known("aten::round", &[scaled])?;
        let one = self.builder.int(1);
        let add = match self.builder.ty(zero_point) {
            Type::Tensor => "aten::add.Tensor",
            _ => "aten::add.Scalar",
        };
        let moved = self.builder.known(add, &[rounded, zero_point, one])?;
        let (least, most) =
            (self.number("quant_min", Type::Int)?, self.number("quant_max", Type::Int)?);
        let clamped = self.builder.known("aten::clamp", &[moved, least, most])?;
        let dtype = self.value("dtype", Type::Int)?;
        self.to(clamped, dtype)
    }

    fn quantize(&mut self) -> Result<ValueId> {
        let input = self.value("input", Type::Tensor)?;
        let input = self.in_float32(input)?;
        let scale = self.number("scale", Type::Float)?;
        let zero_point = self.number("zero_point", Type::Int)?;
        let one = self.builder.constant(&Constant::Float(1.0));
        let inverse = self.builder.known("aten::div.float", &[one, scale])?;
        let scaled = self.builder.known("aten::mul.Scalar", &[input, inverse])?;
        self.rounded(scaled, zero_point)
    }

    /// Scale and zero point by the least and the greatest number, each a tensor of one element.
    fn choose(&mut self, symmetric: bool) -> Result<[ValueId; 2]> {
        let input = self.value("input", Type::Tensor)?;
        let input = self.in_float32(input)?;
        let (least, most) = (self.whole("quant_min")?, self.whole("quant_max")?);
        let (none, zero, one) = (self.builder.none(), self.builder.int(0), self.builder.int(1));
        let low = self.builder.known("aten::min", &[input])?;
        let low = self.builder.known("aten::clamp", &[low, none, zero])?;
        let high = self.builder.known("aten::max", &[input])?;
        let mut span = self.builder.known("aten::clamp", &[high, zero, none])?;
        let mut steps = most as f64 - least as f64;
        if symmetric {
            let mirrored = self.builder.known("aten::neg", &[low])?;
            span = self.builder.known("aten::maximum", &[mirrored, span])?;
            steps /= 2.0;
        } else {
            span = self.builder.known("aten::sub.Tensor", &[span, low, one])?;
        }
        let steps = self.builder.constant(&Constant::Float(steps));
        let scale = self.builder.known("aten::div.Scalar", &[span, steps])?;
        let eps = self.number("eps", Type::Float)?;
        let scale = self.builder.known("aten::clamp", &[scale, eps, none])?;
        let zero_point = if symmetric {
            // The middle of `uint8`, and 0 otherwise.
            let middle = if self.whole("dtype")? == 0 { 128 } else { 0 };
            let middle = self.builder.int(middle);
            let nothing =
                self.builder.known("aten::zeros_like", &[scale, none, none, none, none, none])?;
            self.builder.known("aten::add.Scalar", &[nothing, middle, one])?
        } else {
            let moved = self.builder.known("aten::div.Tensor", &[low, scale])?;
            let moved = self.builder.known("aten::round", &[moved])?;
            let (least, most) = (self.builder.int(least), self.builder.int(most));
            let moved = self.builder.known("aten::rsub.Scalar", &[moved, least, one])?;
            self.builder.known("aten::clamp", &[moved, least, most])?
        };
        let sizes = self.builder.list(Type::Int, &[one]);
        let mut both = [scale, zero_point];
        for (value, dtype) in both.iter_mut().zip([FLOAT64, INT64]) {
            let dtype = self.builder.int(dtype);
            let one = self.builder.known("aten::reshape", &[*value, sizes])?;
            *value = self.to(one, dtype)?;
        }
        Ok(both)
    }

    /// An integer that the program says.
    fn whole(&mut self, name: &str) -> Result<i64> {
        let value = self.value(name, Type::Int)?;
        match self.builder.graph.constant(value) {
            Some(Constant::Int(value)) => Ok(value),
            _ => Err(unsupported(format!("'{name}' is not known before the program runs"))),
        }
    }

    fn out_dtype(&mut self) -> Result<ValueId> {
        let given = self.optional("out_dtype", Type::Int)?;
        Ok(given.unwrap_or_else(|| self.builder.int(FLOAT32)))
    }

    fn dequantize(&mut self) -> Result<ValueId> {
        let input = self.value("input", Type::Tensor)?;
        let scale = self.number("scale", Type::Float)?;
        let zero_point = self.number("zero_point", Type::Int)?;
        let dtype = self.out_dtype()?;
        let input = self.to(input, dtype)?;
        let one = self.builder.int(1);
        let moved = self.builder.known("aten::sub.Scalar", &[input, zero_point, one])?;
        self.builder.known("aten::mul.Scalar", &[moved, scale])
    }

    /// The tensor with the axis of channels last, or back.
    fn axis_last(&mut self, tensor: ValueId) -> Result<ValueId> {
        let axis = self.value("axis", Type::Int)?;
        let last = self.builder.int(-1);
        self.builder.known("aten::transpose.int", &[tensor, axis, last])
    }

    fn quantize_channels(&mut self) -> Result<ValueId> {
        let input = self.value("input", Type::Tensor)?;
        let input = self.in_float32(input)?;
        let input = self.axis_last(input)?;
        let scales = self.value("scales", Type::Tensor)?;
        let zero_points = self.value("zero_points", Type::Tensor)?;
        let inverse = self.builder.known("aten::reciprocal", &[scales])?;
        let scaled = self.builder.known("aten::mul.Tensor", &[input, inverse])?;
        let rounded = self.rounded(scaled, zero_points)?;
        self.axis_last(rounded)
    }

    fn dequantize_channels(&mut self) -> Result<ValueId> {
        let input = self.value("input", Type::Tensor)?;
        let mut moved = self.axis_last(input)?;
        let scales = self.value("scales", Type::Tensor)?;
        if let Some(zero_points) = self.optional("zero_points", Type::Tensor)? {
            let one = self.builder.int(1);
            moved = self.builder.known("aten::sub.Tensor", &[moved, zero_points, one])?;
        }
        let scaled = self.builder.known("aten::mul.Tensor", &[moved, scales])?;
        let back = self.axis_last(scaled)?;
        let dtype = self.out_dtype()?;
        self.to(back, dtype)
    }
}

/// A text of `str.format` with `{}` in each place, and what stood there.
pub(super) fn format_parts(format: &str) -> Result<(String, Vec<String>)> {
    let (mut text, mut names) = (String::new(), Vec::new());
    let mut rest = format;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        let end =
            from.find('}').ok_or_else(|| Error::malformed("print of a text without its '}'"))?;
        let name = from.get(1..end).unwrap_or_default();
        if name.contains(['{', ':', '!', '.', '[']) {
            return Err(unsupported(format!("print of a text with '{{{name}}}'")));
        }
        text.push_str(before);
        text.push_str("{}");
        names.push(name.to_owned());
        rest = from.get(end + 1..).unwrap_or_default();
    }
    text.push_str(rest);
    Ok((text, names))
}
