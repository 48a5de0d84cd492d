//! Tensors as text, character for character as `str(tensor)` is in Python.
//!
//! The rules are those of `torch/_tensor_str.py` (2.15): `options` holds what
//! `torch.set_printoptions` sets, `number` formats one number as Python does, `column` chooses the
//! notation and width that all elements of a tensor share, `rows` lays out brackets, line breaks and
//! ellipses, and this file puts the parts of each layout and the words behind them together.

mod column;
mod number;
mod options;
mod rows;

use std::fmt;

pub use options::PrintOptions;

use crate::geometry::python_tuple;
use crate::tensor::Body;
use crate::tensor::nested::Nested;
use crate::tensor::quantized::Quantizer;
use crate::{DType, Error, Tensor};
use rows::Cells;

/// More elements than this are never printed, whatever the options say: beyond it comes `...`.
/// A tensor of a few bytes can claim any number of elements and dimensions.
const MAX_SHOWN: u128 = 1 << 22;

/// Components of a nested tensor that are printed at most.
const MAX_COMPONENTS: usize = 1 << 16;

/// Characters of all components together: they may overlap in a small buffer.
const MAX_COMPONENT_TEXT: usize = 1 << 26;

/// Dimensions that are printed at most; PyTorch's own operators end there too.
const MAX_DIMS: usize = 64;

/// A tensor that formats as Python prints it; made by [`Tensor::display`].
pub struct Display<'a> {
    tensor: &'a Tensor,
    options: PrintOptions,
    parameter: bool,
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.parameter {
            f.write_str("Parameter containing:\n")?;
        }
        match self.tensor.to_text(&self.options) {
            Ok(text) => f.write_str(&text),
            Err(error) => {
                write!(f, "tensor(<{error}>, size={}", python_tuple(self.tensor.sizes()))?;
                write!(f, ", dtype={})", self.tensor.dtype())
            }
        }
    }
}

impl fmt::Display for Tensor {
    /// The tensor as `str(tensor)` prints it in Python: [`Tensor::display`] with the default options.
    ///
    /// ```
    /// let tensor = sconce_tensor::Tensor::from_vec(vec![1i64, 2], &[2])?;
    /// assert_eq!(tensor.to_string(), "tensor([1, 2])");
    /// # Ok::<(), sconce_tensor::Error>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display(&PrintOptions::default()).fmt(f)
    }
}

impl Tensor {
    /// The tensor as `str(tensor)` prints it in Python. Reads no more elements than it shows.
    ///
    /// A device is printed unless it is the CPU. Where PyTorch cannot print at all, this prints
    /// something in the same style: integers for the dtypes `uint1` to `uint7`, `int1` to `int7` and
    /// `bits`; `...` and the size for tensors without data, of more than 64 dimensions, and where
    /// more than four million elements would have to be shown. Data that cannot be loaded shows as
    /// the error in angle brackets; [`Tensor::to_text`] gives it as an error instead.
    ///
    /// ```
    /// use sconce_tensor::{PrintOptions, Tensor};
    /// let t = Tensor::from_vec(vec![1f64, 0.5, 9e-4], &[3]).unwrap().with_requires_grad(true);
    /// assert_eq!(
    ///     t.display(&PrintOptions::default()).to_string(),
    ///     "tensor([1.0000e+00, 5.0000e-01, 9.0000e-04], dtype=torch.float64,\n       requires_grad=True)",
    /// );
    /// ```
    pub fn display(&self, options: &PrintOptions) -> Display<'_> {
        Display { tensor: self, options: options.clone(), parameter: false }
    }

    /// The tensor as `str(torch.nn.Parameter(tensor))` prints it: below a line of its own.
    pub fn display_parameter(&self, options: &PrintOptions) -> Display<'_> {
        Display { tensor: self, options: options.clone(), parameter: true }
    }

    /// The text of [`Tensor::display`], or why the elements cannot be read.
    ///
    /// # Errors
    /// Those of [`Storage::data`](crate::Storage::data).
    pub fn to_text(&self, options: &PrintOptions) -> Result<String, Error> {
        let prefix =
            if matches!(self.body, Body::Nested(_)) { "nested_tensor(" } else { "tensor(" };
        let indent = prefix.len();
        let mut words = Vec::new();
        if !self.device().is_cpu() {
            words.push(format!("device='{}'", self.device()));
        }
        let contents = match &self.body {
            Body::SparseCoo(parts) => {
                self.sparse_words(parts.nnz(), &mut words);
                let parts = [("indices", &parts.indices), ("values", &parts.values)];
                part_texts(&parts, indent, options)?
            }
            Body::SparseCompressed(parts) => {
                self.sparse_words(parts.values.sizes()[parts.compressed.ndim() - 1], &mut words);
                let (compressed, plain) = if parts.layout.compresses_rows() {
                    ("crow_indices", "col_indices")
                } else {
                    ("ccol_indices", "row_indices")
                };
                let parts = [
                    (compressed, &parts.compressed),
                    (plain, &parts.plain),
                    ("values", &parts.values),
                ];
                part_texts(&parts, indent, options)?
            }
            Body::Quantized(_, quantizer) => {
                self.quantized_words(quantizer, options, &mut words)?;
                elements(self, indent, options)?.unwrap_or_else(|| "...".into())
            }
            Body::Nested(parts) => match self.components(parts, options)? {
                Some(text) => text,
                None => {
                    words.push(format!("size={}", python_tuple(self.sizes())));
                    "...".into()
                }
            },
            Body::Strided(_) | Body::Meta | Body::Wrapper(_) => {
                self.strided_text(indent, options, &mut words)?
            }
        };
        if self.layout().name() != "strided" {
            words.push(format!("layout={}", self.layout()));
        }
        if self.requires_grad {
            words.push("requires_grad=True".into());
        }
        let force_newline = matches!(self.body, Body::SparseCoo(_));
        Ok(with_words(format!("{prefix}{contents}"), &words, indent, force_newline, options))
    }

    fn strided_text(
        &self,
        indent: usize,
        options: &PrintOptions,
        words: &mut Vec<String>,
    ) -> Result<String, Error> {
        let size = || format!("size={}", python_tuple(&self.sizes));
        let dtype = || format!("dtype={}", self.dtype);
        let text = if self.has_data() { elements(self, indent, options)? } else { None };
        let Some(text) = text else {
            words.push(size());
            if self.dtype != DType::Float32 {
                words.push(dtype());
            }
            return Ok("...".into());
        };
        if self.numel == 0 {
            // Nothing in the brackets tells the shape or the dtype.
            if self.ndim() != 1 {
                words.push(size());
            }
            if self.dtype != DType::Float32 {
                words.push(dtype());
            }
            return Ok(text);
        }
        if options.edgeitems == 0 {
            words.push(size());
        }
        if !has_default_dtype(self.dtype) {
            words.push(dtype());
        }
        Ok(text)
    }

    fn sparse_words(&self, nnz: i64, words: &mut Vec<String>) {
        words.push(format!("size={}", python_tuple(&self.sizes)));
        if self.has_data() {
            words.push(format!("nnz={nnz}"));
        }
        if !has_default_dtype(self.dtype) {
            words.push(format!("dtype={}", self.dtype));
        }
    }

    fn quantized_words(
        &self,
        quantizer: &Quantizer,
        options: &PrintOptions,
        words: &mut Vec<String>,
    ) -> Result<(), Error> {
        words.push(format!("size={}", python_tuple(&self.sizes)));
        words.push(format!("dtype={}", self.dtype));
        words.push(format!("quantization_scheme=torch.{}", quantizer.scheme_name()));
        match quantizer {
            Quantizer::PerTensorAffine { scale, zero_point } => {
                words.push(format!("scale={}", number::repr(*scale)));
                words.push(format!("zero_point={zero_point}"));
            }
            Quantizer::PerChannel { scales, zero_points, axis, .. } => {
                words.push(format!("scale={}", scales.to_text(options)?));
                words.push(format!("zero_point={}", zero_points.to_text(options)?));
                words.push(format!("axis={axis}"));
            }
        }
        Ok(())
    }

    /// The components of a nested tensor, each on its own lines, or `None` where that cannot be.
    fn components(&self, parts: &Nested, options: &PrintOptions) -> Result<Option<String>, Error> {
        if !self.has_data() || parts.len() > MAX_COMPONENTS {
            return Ok(None);
        }
        let (mut texts, mut length) = (Vec::new(), 0);
        for i in 0..parts.len() {
            let component = parts.component(i)?.with_requires_grad(self.requires_grad);
            let component = component.with_device(self.device().clone());
            let text = component.to_text(options)?;
            length += text.len();
            if length > MAX_COMPONENT_TEXT {
                return Ok(None);
            }
            let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
            texts.push(lines.join("\n"));
        }
        Ok(Some(format!("[\n{}\n]", texts.join(",\n"))))
    }
}

/// The dtypes whose elements tell them, so that no word has to.
fn has_default_dtype(dtype: DType) -> bool {
    matches!(dtype, DType::Float32 | DType::Complex64 | DType::Int64 | DType::Bool)
}

/// The brackets of a strided or quantized tensor, or `None` where there are none to show.
fn elements(
    tensor: &Tensor,
    indent: usize,
    options: &PrintOptions,
) -> Result<Option<String>, Error> {
    if !tensor.has_data() {
        return Ok(None);
    }
    if tensor.numel == 0 {
        return Ok(Some("[]".into()));
    }
    let summarize = tensor.numel as u64 > options.threshold;
    let shown = tensor.sizes.iter().try_fold(1u128, |product, &size| {
        let most =
            if summarize { options.edgeitems.saturating_mul(2).max(1) as u128 } else { u128::MAX };
        product.checked_mul((size as u128).min(most))
    });
    if tensor.ndim() > MAX_DIMS || shown.is_none_or(|shown| shown > MAX_SHOWN) {
        return Ok(None);
    }
    let cells = Cells::new(tensor)?;
    Ok(Some(rows::text(&cells, indent, summarize, options)))
}

/// `indices=tensor(…),` and so on, each on its own lines.
fn part_texts(
    parts: &[(&str, &Tensor)],
    indent: usize,
    options: &PrintOptions,
) -> Result<String, Error> {
    let mut texts = Vec::new();
    for (name, part) in parts {
        let head = format!("{name}=tensor(");
        let text = elements(part, indent + head.len(), options)?;
        let size = if text.is_none() || part.numel == 0 {
            format!(", size={}", python_tuple(&part.sizes))
        } else {
            String::new()
        };
        texts.push(format!("{head}{}{size})", text.as_deref().unwrap_or("...")));
    }
    Ok(texts.join(&format!(",\n{}", " ".repeat(indent))))
}

/// Appends the words, on the last line as long as they fit there.
fn with_words(
    text: String,
    words: &[String],
    indent: usize,
    mut force_newline: bool,
    options: &PrintOptions,
) -> String {
    // PyTorch counts the length of a text without a line break 2 higher than it is, and that of the
    // last line of others 1 higher; where words go to the next line depends on it.
    let mut last_line = match text.rfind('\n') {
        Some(at) => text.len() - at + 1,
        None => text.len() + 2,
    };
    let mut out = text;
    for word in words {
        if force_newline || last_line + word.len() + 2 > options.linewidth {
            out.push_str(",\n");
            out.push_str(&" ".repeat(indent));
            last_line = indent + word.len();
            force_newline = false;
        } else {
            out.push_str(", ");
            last_line += word.len() + 2;
        }
        out.push_str(word);
    }
    out.push(')');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Storage};

    fn text(tensor: &Tensor) -> String {
        tensor.display(&PrintOptions::default()).to_string()
    }

    #[test]
    fn claims_beyond_reason_show_as_dots() {
        let storage = || Storage::from_bytes(vec![0u8; 4].into(), Device::CPU);
        let wide = Tensor::strided(storage(), DType::Float32, 0, &[2; 40], &[0; 40]).unwrap();
        assert!(text(&wide).starts_with("tensor(...,\n       size=(2, 2,"));
        let deep = Tensor::strided(storage(), DType::Float32, 0, &[1; 5000], &[0; 5000]).unwrap();
        assert!(text(&deep).starts_with("tensor(...,"));
        let full = PrintOptions::full();
        let long = Tensor::strided(storage(), DType::Float32, 0, &[1 << 60], &[0]).unwrap();
        assert_eq!(long.display(&full).to_string(), "tensor(..., size=(1152921504606846976,))");
    }

    #[test]
    fn unreadable_data_says_why() {
        let storage = Storage::lazy(4, Device::CPU, Box::new(|| Err("disk on fire".into())));
        let t = Tensor::strided(storage, DType::Int16, 0, &[2], &[1]).unwrap();
        assert!(t.to_text(&PrintOptions::default()).is_err());
        assert_eq!(
            text(&t),
            "tensor(<storage of 4 bytes could not be loaded: disk on fire>, size=(2,), dtype=torch.int16)"
        );
    }

    #[test]
    fn devices_and_skipped_data() {
        let t =
            Tensor::from_vec(vec![1i64, 2], &[2]).unwrap().with_device("cuda:1".parse().unwrap());
        assert_eq!(text(&t), "tensor([1, 2], device='cuda:1')");
        let skipped = Storage::meta(8).to_device_tag(Device::CPU);
        let t = Tensor::contiguous(skipped, DType::Int64, &[1]).unwrap();
        assert_eq!(text(&t), "tensor(..., size=(1,), dtype=torch.int64)");
    }
}
