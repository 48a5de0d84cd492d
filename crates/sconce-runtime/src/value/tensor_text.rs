//! The text of tensors inside programs: what libtorch writes to a C++ stream, which is not what Python
//! prints (`aten/src/ATen/core/Formatting.cpp`). Of complex numbers it shows the real parts.

use std::fmt::Write as _;

use sconce_kernels as kernels;
use sconce_kernels::c_format::{general, not_finite, scientific};
use sconce_kernels::{DType, Sparse, SparseParts, Tensor, layout_name};

/// Characters in a line of a matrix.
const LINE: usize = 80;

/// Elements that are shown at most: their text has to be held in memory.
const MAX_SHOWN: i64 = 1 << 22;

/// `str(tensor)` in a program: the elements, then the dtype and sizes.
///
/// # Errors
/// For dtypes without kernels and tensors of too many elements.
pub(crate) fn tensor_text(tensor: &Tensor) -> kernels::Result<String> {
    if tensor.numel() > MAX_SHOWN {
        return Err(kernels::Error::not_implemented(format!(
            "the text of a tensor of more than {MAX_SHOWN} elements"
        )));
    }
    let real = kernels::real(tensor)?;
    let count = usize::try_from(tensor.numel()).unwrap_or(usize::MAX);
    kernels::Memory::check_scratch(count.saturating_mul(2 * size_of::<f64>()))?;
    let numbers = real.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    // Of a vector each number is on a line, of a matrix all are of one width.
    let width = Format::of(&numbers).width.max(1) + 1;
    kernels::Memory::check_scratch(count.saturating_mul(width))?;
    let mut out = String::with_capacity(count.saturating_mul(width));
    match (tensor.sizes(), numbers.as_slice()) {
        (_, []) => {}
        ([], [number, ..]) => {
            out.push_str(&shortest(*number));
            out.push('\n');
        }
        ([_], all) => column(&mut out, all),
        ([rows, columns], all) => matrix(&mut out, all, [*rows as usize, *columns as usize], 0),
        ([outer @ .., rows, columns], all) => {
            matrices(&mut out, all, outer, [*rows as usize, *columns as usize]);
        }
    }
    let sizes: Vec<String> = tensor.sizes().iter().map(i64::to_string).collect();
    let _ = write!(out, "[ CPU{}Type{{{}}} ]", tensor.dtype().scalar_type_name(), sizes.join(","));
    Ok(out)
}

/// The same of a sparse tensor: its parts, one under the other.
///
/// # Errors
/// As [`tensor_text`], and for compressed layouts, of which PyTorch shows none.
pub(crate) fn sparse_text(sparse: &Sparse) -> kernels::Result<String> {
    let SparseParts::Coordinates { indices, values, .. } = sparse.parts() else {
        let words = "Sparse CSR tensors do not have is_contiguous";
        return Err(kernels::Error::runtime(words));
    };
    let sizes: Vec<String> = sparse.sizes().iter().map(i64::to_string).collect();
    Ok(format!(
        "[ {}CPU{}Type{{}}\nindices:\n{}\nvalues:\n{}\nsize:\n[{}]\n]",
        layout_name(sparse.layout()),
        sparse.dtype().scalar_type_name(),
        tensor_text(indices)?,
        tensor_text(values)?,
        sizes.join(", ")
    ))
}

/// How the numbers of a vector or matrix are written, all alike.
struct Format {
    notation: Notation,
    width: usize,
    /// What they are divided by.
    scale: f64,
}

enum Notation {
    /// C's `%g`.
    General,
    /// `%.4e`.
    Scientific,
    /// `%.4f`.
    Fixed,
}

impl Format {
    fn of(numbers: &[f64]) -> Format {
        let finite = || numbers.iter().copied().filter(|x| x.is_finite());
        let digits = |x: f64| if x == 0.0 { 1 } else { x.log10().floor() as i32 + 1 };
        let sizes = finite().map(f64::abs);
        let (low, high) = match finite().next() {
            None => (0, 0),
            Some(_) => (
                digits(sizes.clone().fold(f64::INFINITY, f64::min)),
                digits(sizes.fold(0.0, f64::max)),
            ),
        };
        let plain = |notation, width: i32| Format { notation, width: width as usize, scale: 1.0 };
        if finite().all(|x| x == x.ceil()) {
            return match high > 9 {
                true => plain(Notation::Scientific, 11),
                false => plain(Notation::General, high + 1),
            };
        }
        if high - low > 4 {
            let wide = high.abs() > 99 || low.abs() > 99;
            return plain(Notation::Scientific, if wide { 12 } else { 11 });
        }
        match high {
            0 => plain(Notation::Fixed, 7),
            1..=5 => plain(Notation::Fixed, high + 6),
            _ => Format { notation: Notation::Fixed, width: 7, scale: 10f64.powi(high - 1) },
        }
    }

    fn number(&self, out: &mut String, number: f64) {
        let number = number / self.scale;
        let text = match self.notation {
            _ if !number.is_finite() => not_finite(number),
            Notation::General => general(number),
            Notation::Scientific => scientific(number, 4),
            Notation::Fixed => format!("{number:.4}"),
        };
        let _ = write!(out, "{text:>width$}", width = self.width);
    }

    fn scale_line(&self, out: &mut String) {
        if self.scale != 1.0 {
            let _ = writeln!(out, "{} *", shortest(self.scale));
        }
    }
}

/// The fewest digits that give the number again.
fn shortest(number: f64) -> String {
    if !number.is_finite() {
        return not_finite(number);
    }
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) =
            exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let mut text = number.to_string();
    if text.len() > 15
        && is_even_below(number)
        && let Some(digit) = text.pop().and_then(|digit| digit.to_digit(10))
    {
        text.push_str(&(digit - 1).to_string());
    }
    text
}

/// Whether a number is in the middle of two of the shortest texts that give it, of which the lower
/// ends evenly: that is C++'s, the other one Rust's.
fn is_even_below(number: f64) -> bool {
    let text = format!("{:e}", number.abs());
    let Some((upper, exponent)) = text.split_once('e') else { return false };
    let decimals = upper.len().saturating_sub(2);
    // No number of so few digits has more than these behind them.
    let exact = format!("{:.*e}", decimals + 60, number.abs());
    let Some((digits, rest)) = exact.split_at_checked(upper.len()) else { return false };
    let is_middle = rest.strip_prefix('5').is_some_and(|rest| {
        rest.split('e').next().unwrap_or_default().bytes().all(|digit| digit == b'0')
    });
    let is_even = digits.bytes().last().is_some_and(|digit| digit % 2 == 0);
    let gives = format!("{digits}e{exponent}").parse() == Ok(number.abs());
    is_middle && is_even && digits != upper && gives
}

fn column(out: &mut String, numbers: &[f64]) {
    let format = Format::of(numbers);
    format.scale_line(out);
    for &number in numbers {
        format.number(out, number);
        out.push('\n');
    }
}

/// A matrix, in stretches of as many columns as fit in a line.
fn matrix(out: &mut String, numbers: &[f64], [_, columns]: [usize; 2], indent: usize) {
    let format = Format::of(numbers);
    let fitting = ((LINE - indent) / (format.width + 1)).max(1);
    let margin = &"  "[..indent.min(2)];
    for first in (0..columns).step_by(fitting) {
        let last = (first + fitting).min(columns);
        if fitting < columns {
            let gap = if first == 0 { "" } else { "\n" };
            let _ = write!(out, "{gap}Columns {} to {last}{margin}", first + 1);
        }
        if format.scale != 1.0 {
            format.scale_line(out);
            out.push_str(margin);
        }
        let mut rows = numbers.chunks_exact(columns).peekable();
        while let Some(row) = rows.next() {
            for (at, &number) in row.iter().enumerate().take(last).skip(first) {
                format.number(out, number);
                out.push(if at + 1 == last { '\n' } else { ' ' });
            }
            if rows.peek().is_some() {
                let gap = if format.scale == 1.0 { "" } else { " " };
                out.push_str(gap);
                out.push_str(margin);
            }
        }
    }
}

/// All matrices of the last two dimensions; of the others the first changes fastest.
fn matrices(out: &mut String, numbers: &[f64], outer: &[i64], sizes: [usize; 2]) {
    let len = sizes[0] * sizes[1];
    let count: i64 = outer.iter().product();
    let mut place = vec![0i64; outer.len()];
    for at in 0..count {
        if at > 0 {
            out.push('\n');
        }
        let named: Vec<String> = place.iter().map(|index| (index + 1).to_string()).collect();
        let _ = writeln!(out, "({},.,.) = ", named.join(","));
        let start = place.iter().zip(outer).fold(0, |start, (index, size)| start * size + index);
        let start = start as usize * len;
        matrix(out, numbers.get(start..start + len).unwrap_or_default(), sizes, 1);
        for (index, &size) in place.iter_mut().zip(outer) {
            *index += 1;
            if *index < size {
                break;
            }
            *index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_the_middle_of_two_texts_has_the_even_one() {
        for (number, text) in [
            (f64::from(631.252_26_f32), "631.2522583007812"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.3333333333333333"),
            (f64::from(-631.252_26_f32), "-631.2522583007812"),
            (2.5, "2.5"),
        ] {
            assert_eq!(shortest(number), text);
        }
    }

    #[test]
    fn what_numbers_are_divided_by_is_a_whole_number() {
        let numbers = Tensor::from_slice(&[1.65e6f32, -6.25e5, 2.5e5, 0.5e6 + 0.5], &[4]).unwrap();
        let text = tensor_text(&numbers).unwrap();
        assert!(text.starts_with("1000000 *\n 1.6500\n"), "{text}");
    }
}
