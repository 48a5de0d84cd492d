use super::PrintOptions;
use super::column::Column;
use crate::tensor::quantized::{Channels, Quantizer};
use crate::{Error, Scalar, Tensor};

/// The elements of a strided or quantized tensor by index, as they are printed.
pub(super) struct Cells<'a> {
    tensor: &'a Tensor,
    data: &'a [u8],
    dequantize: Dequantize<'a>,
}

enum Dequantize<'a> {
    No,
    Tensor(f32, f32),
    Channels(Channels<'a>, usize),
}

impl<'a> Cells<'a> {
    pub(super) fn new(tensor: &'a Tensor) -> Result<Cells<'a>, Error> {
        let dequantize = match tensor.quantizer() {
            None => Dequantize::No,
            Some(Quantizer::PerTensorAffine { scale, zero_point }) => {
                Dequantize::Tensor(*scale as f32, *zero_point as f32)
            }
            Some(Quantizer::PerChannel { scales, zero_points, axis, .. }) => {
                Dequantize::Channels(Channels::new(scales, zero_points)?, *axis as usize)
            }
        };
        Ok(Cells { tensor, data: tensor.strided_data()?, dequantize })
    }

    fn sizes(&self) -> &[i64] {
        &self.tensor.sizes
    }

    /// The element at an index that lies inside the sizes.
    fn get(&self, index: &[i64]) -> Scalar {
        let scalar = self.tensor.element(self.data, index);
        let (scale, zero_point) = match &self.dequantize {
            Dequantize::No => return scalar,
            Dequantize::Tensor(scale, zero_point) => (*scale, *zero_point),
            Dequantize::Channels(channels, axis) => channels.get(index[*axis]),
        };
        let code = scalar.to_f64().unwrap_or(f64::NAN) as f32;
        Scalar::Float(f64::from((code - zero_point) * scale))
    }
}

/// The one or two columns of a tensor's elements.
enum Columns {
    Exact(Column),
    Real(Column),
    Complex(Column, Column),
}

impl Columns {
    /// Characters of an element and what separates it from the next.
    fn element_width(&self) -> usize {
        match self {
            Columns::Exact(column) | Columns::Real(column) => column.width() + 2,
            // A `j`, but not the sign between: that is how PyTorch counts.
            Columns::Complex(real, imaginary) => real.width() + 2 + imaginary.width() + 1,
        }
    }

    fn text(&self, value: Scalar) -> String {
        match (self, value) {
            (Columns::Complex(real, imaginary), Scalar::Complex(re, im)) => {
                let imaginary = imaginary.float(im) + "j";
                let imaginary = imaginary.trim_start();
                let plus = if imaginary.starts_with('-') { "" } else { "+" };
                format!("{}{plus}{imaginary}", real.float(re))
            }
            (Columns::Real(column), Scalar::Float(value)) => column.float(value),
            (
                Columns::Exact(column) | Columns::Real(column) | Columns::Complex(column, _),
                value,
            ) => column.scalar(value),
        }
    }
}

/// The brackets of a tensor that has elements, at most 64 dimensions deep.
pub(super) fn text(
    cells: &Cells<'_>,
    indent: usize,
    summarize: bool,
    options: &PrintOptions,
) -> String {
    let page = Page { cells, summarize, options, columns: columns(cells, summarize, options) };
    let mut index = vec![0; cells.sizes().len()];
    page.block(0, &mut index, indent)
}

fn columns(cells: &Cells<'_>, summarize: bool, options: &PrintOptions) -> Columns {
    let mut shown = Vec::new();
    collect(cells, summarize, options.edgeitems, 0, &mut vec![0; cells.sizes().len()], &mut shown);
    match shown.first() {
        Some(Scalar::Complex(..)) => {
            let parts: Vec<(f64, f64)> = shown
                .iter()
                .map(
                    |value| {
                        if let Scalar::Complex(re, im) = value { (*re, *im) } else { (0.0, 0.0) }
                    },
                )
                .collect();
            let real: Vec<f64> = parts.iter().map(|part| part.0).collect();
            let imaginary: Vec<f64> = parts.iter().map(|part| part.1).collect();
            Columns::Complex(
                Column::floating(&real, options),
                Column::floating(&imaginary, options),
            )
        }
        Some(Scalar::Float(_)) => {
            let values: Vec<f64> = shown.iter().filter_map(|value| value.to_f64()).collect();
            Columns::Real(Column::floating(&values, options))
        }
        _ => Columns::Exact(Column::exact(shown.into_iter())),
    }
}

/// The indices of a dimension that are shown: all, or some of both ends.
fn shown(size: i64, summarize: bool, edge: usize) -> (std::ops::Range<i64>, std::ops::Range<i64>) {
    let edge = i64::try_from(edge).unwrap_or(i64::MAX);
    if summarize && size > edge.saturating_mul(2) {
        return (0..edge, size - edge..size);
    }
    (0..size, size..size)
}

fn collect(
    cells: &Cells<'_>,
    summarize: bool,
    edge: usize,
    dim: usize,
    index: &mut Vec<i64>,
    out: &mut Vec<Scalar>,
) {
    let Some(&size) = cells.sizes().get(dim) else {
        out.push(cells.get(index));
        return;
    };
    let (head, tail) = shown(size, summarize, edge);
    for i in head.chain(tail) {
        index[dim] = i;
        collect(cells, summarize, edge, dim + 1, index, out);
    }
}

struct Page<'a> {
    cells: &'a Cells<'a>,
    summarize: bool,
    options: &'a PrintOptions,
    columns: Columns,
}

impl Page<'_> {
    /// The brackets of everything below the first `dim` numbers of `index`.
    fn block(&self, dim: usize, index: &mut Vec<i64>, indent: usize) -> String {
        let left = self.cells.sizes().len() - dim;
        if left == 0 {
            return self.columns.text(self.cells.get(index));
        }
        if left == 1 {
            return self.line(dim, index, indent);
        }
        let (head, tail) = shown(self.cells.sizes()[dim], self.summarize, self.options.edgeitems);
        let mut blocks = Vec::new();
        for i in head.clone() {
            index[dim] = i;
            blocks.push(self.block(dim + 1, index, indent + 1));
        }
        if head.end != tail.start {
            blocks.push("...".into());
        }
        for i in tail {
            index[dim] = i;
            blocks.push(self.block(dim + 1, index, indent + 1));
        }
        let separator = format!(",{}{}", "\n".repeat(left - 1), " ".repeat(indent + 1));
        format!("[{}]", blocks.join(&separator))
    }

    /// The brackets of the last dimension, broken into lines.
    fn line(&self, dim: usize, index: &mut [i64], indent: usize) -> String {
        let edge = self.options.edgeitems;
        let size = self.cells.sizes()[dim];
        let room = self.options.linewidth.saturating_sub(indent);
        let per_line = (room / self.columns.element_width()).max(1);
        let (head, tail) = shown(size, self.summarize, edge);
        let mut items = Vec::new();
        if self.summarize && edge == 0 {
            items.push("...".to_owned());
        } else {
            let (last, rest) = (head.end, tail.start);
            for i in head {
                index[dim] = i;
                items.push(self.columns.text(self.cells.get(index)));
            }
            if last != rest {
                items.push(" ...".to_owned());
            }
            for i in tail {
                index[dim] = i;
                items.push(self.columns.text(self.cells.get(index)));
            }
        }
        let lines: Vec<String> = items.chunks(per_line).map(|line| line.join(", ")).collect();
        format!("[{}]", lines.join(&format!(",\n{}", " ".repeat(indent + 1))))
    }
}
