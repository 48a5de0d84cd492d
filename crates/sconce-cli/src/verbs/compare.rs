//! `sconce compare`: the result of a program beside one that was saved.

use std::ffi::OsString;

use clap::Args;
use sconce::checkpoint::{Draft, Node, Object};
use sconce::run::{Options, Precision, to_object};
use sconce::tensor::{Scalar, Tensor};
use serde::Serialize;

use crate::arguments::call::Call;
use crate::arguments::python::PythonOptions;
use crate::arguments::reading::Input;
use crate::call::session::{failure, session};
use crate::call::{input, python, result_text};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Align, Line, Out, SCHEMA_VERSION, Style, Table, count};
use crate::read::open::{self, Say};

/// `sconce compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The archive.
    #[command(flatten)]
    pub archive: Input,
    /// The result that is expected: what torch.save wrote. Without it, what the program gives at full
    /// precision beside --precision
    #[arg(long, value_name = "FILE", required_unless_present = "precision")]
    pub expect: Option<OsString>,
    /// How much numbers may differ: relative to the expected one, and absolute as a part of the
    /// largest in its tensor
    #[arg(long, value_name = "X", default_value_t = 1e-4)]
    pub tol: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// What is called.
    #[command(flatten)]
    pub call: Call,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

/// Values that are compared in all: one list may stand in many places.
const MOST_VALUES: usize = 1 << 22;
/// Characters of a str that are compared.
const MOST_CHARACTERS: usize = 1 << 20;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    method: &'a str,
    tolerance: f64,
    equal: bool,
    outputs: &'a [Row],
}

/// A tensor, or another value, of the result.
#[derive(Debug, Serialize)]
struct Row {
    /// Its place in the result: `[1]['boxes']`.
    name: String,
    /// What it is.
    kind: String,
    equal: bool,
    /// The largest difference of numbers that are finite on both sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_difference: Option<f64>,
    /// The largest difference as a part of the expected number, where that is not small beside the
    /// largest of its tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_relative: Option<f64>,
    /// The root mean square of the differences as a part of that of the expected numbers, of those that are finite on
    /// both sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    rms: Option<f64>,
    /// Numbers that are too far apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    differing: Option<u64>,
    /// What is wrong where it is not the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub fn run(args: &CompareArgs, out: &mut Out, say: Say) -> Verdict {
    let file = open::name(&args.archive.file);
    let (load, call) = (&args.archive.load, &args.call);
    call.budget.set_up_process()?;
    let arguments = input::read_one(call, load, say)?;
    let saved = args.expect.as_ref().map(|expect| open::file(expect, load, say)).transpose()?;
    let callable = python::runnable(&args.archive, &args.python, &call.budget.limits, say)?;
    let options = call.budget.options(say, true);
    if saved.is_none() && options.precision == Precision::Full {
        let message = "full precision is what results are compared with";
        return Err(
            Failure::usage(message).help("--precision bf16 or int8-weights, or --expect FILE")
        );
    }
    let result_of = |options: Options| -> Result<Draft, Failure> {
        let mut called = session(&callable, call, options, &file, say)?;
        let deadline = call.budget.deadline(&file, say);
        let result = arguments.call(&mut called).map_err(|error| failure(error, &file))?;
        drop(deadline);
        Ok(Draft::from(to_object(&result).map_err(|error| failure(error, &file))?))
    };
    let result = result_of(options)?;
    let expected = match saved {
        Some(saved) => Draft::new(saved.root()),
        None => result_of(Options { precision: Precision::Full, ..call.budget.silent() })?,
    };
    let mut comparison = Comparison { tolerance: args.tol, rows: Vec::new(), left: MOST_VALUES };
    comparison.compare("", result.root(), expected.root(), 0)?;
    let rows = comparison.rows;
    let equal = rows.iter().all(|row| row.equal);
    if args.json {
        let document = Document {
            schema_version: SCHEMA_VERSION,
            file: &file,
            method: call.method.or_forward(),
            tolerance: args.tol,
            equal,
            outputs: &rows,
        };
        out.json(&document)?;
        return Ok(Outcome::found(!equal));
    }
    let mut table = Table::new(true)
        .column("output", Align::Left, Style::Name)
        .column("", Align::Left, Style::Plain)
        .column("max |Δ|", Align::Right, Style::Number)
        .column("max relative", Align::Right, Style::Number)
        .column("rms", Align::Right, Style::Number)
        .column("verdict", Align::Left, Style::Plain);
    for row in &rows {
        let number = |number: Option<f64>| number.map_or(String::new(), |x| format!("{x:.2e}"));
        let verdict = match (row.equal, &row.note, row.differing) {
            (true, ..) => "equal".to_owned(),
            (_, Some(note), _) => note.clone(),
            (_, None, Some(1)) => "1 number differs".to_owned(),
            (_, None, Some(differing)) => format!("{differing} numbers differ"),
            _ => "differs".to_owned(),
        };
        let name = if row.name.is_empty() { "result" } else { &row.name };
        let (absolute, relative) = (number(row.max_difference), number(row.max_relative));
        let rms = number(row.rms);
        table.row([name, &row.kind, &absolute, &relative, &rms, &verdict]);
    }
    out.table(&table)?;
    let differing = rows.iter().filter(|row| !row.equal).count();
    let text = match differing {
        0 => format!("{} equal within {:e}", count(rows.len(), "output"), args.tol),
        _ => format!(
            "{differing} of {} {} by more than {:e}",
            count(rows.len(), "output"),
            if differing == 1 { "differs" } else { "differ" },
            args.tol
        ),
    };
    out.line(&Line::new().dim(text))?;
    Ok(Outcome::found(!equal))
}

struct Comparison {
    tolerance: f64,
    rows: Vec<Row>,
    left: usize,
}

impl Comparison {
    fn compare(
        &mut self,
        name: &str,
        found: Object<'_>,
        expected: Object<'_>,
        depth: usize,
    ) -> Result<(), Failure> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || depth > 200 {
            return Err(Failure::unreadable("the results hold too many values to be compared"));
        }
        match (found.data(), expected.data()) {
            (Node::Tensor(a), Node::Tensor(b)) => {
                let row = self.tensors(name, &a.tensor, &b.tensor)?;
                self.rows.push(row);
            }
            (Node::List(_), Node::List(_)) | (Node::Tuple(_), Node::Tuple(_))
                if found.len() == expected.len() =>
            {
                for (index, (a, b)) in found.iter().zip(expected.iter()).enumerate() {
                    self.compare(&format!("{name}[{index}]"), a, b, depth + 1)?;
                }
            }
            (Node::Dict(_), Node::Dict(_)) if found.len() == expected.len() => {
                for ((key, a), (other, b)) in found.entries().zip(expected.entries()) {
                    let (key, other) = (key.repr(60), other.repr(60));
                    let name = format!("{name}[{key}]");
                    match key == other {
                        true => self.compare(&name, a, b, depth + 1)?,
                        false => {
                            self.rows.push(Row::noted(name, a, format!("expected the key {other}")))
                        }
                    }
                }
            }
            _ => self.others(name, found, expected),
        }
        Ok(())
    }

    fn others(&mut self, name: &str, found: Object<'_>, expected: Object<'_>) {
        let (a, b) = (found.as_f64(), expected.as_f64());
        let row = match (found.data(), expected.data(), a, b) {
            (Node::Float(_), Node::Float(_), Some(a), Some(b)) => {
                let mut row = Row::noted(name.to_owned(), found, format!("{a} instead of {b}"));
                row.equal = self.close(a, b, 0.0);
                row.max_difference =
                    Some((a - b).abs()).filter(|difference| difference.is_finite());
                row
            }
            _ => {
                let (shown, wanted) = (found.repr(60), expected.repr(60));
                let scalar = |object: Object<'_>| {
                    !matches!(
                        object.data(),
                        Node::List(_) | Node::Tuple(_) | Node::Dict(_) | Node::Tensor(_)
                    )
                };
                let note = match scalar(found) && scalar(expected) {
                    true => format!("{shown} instead of {wanted}"),
                    false => format!(
                        "{} instead of {}",
                        result_text::kind(found),
                        result_text::kind(expected)
                    ),
                };
                let equal = scalar(found)
                    && found.class_name() == expected.class_name()
                    && found.repr(MOST_CHARACTERS) == expected.repr(MOST_CHARACTERS);
                Row { equal, ..Row::noted(name.to_owned(), found, note) }
            }
        };
        self.rows.push(row);
    }

    /// Whether two numbers are close; `scale` is the largest expected one around.
    fn close(&self, a: f64, b: f64, scale: f64) -> bool {
        a == b
            || (a.is_nan() && b.is_nan())
            || (a.is_finite()
                && b.is_finite()
                && (a - b).abs() <= self.tolerance * b.abs().max(scale))
    }

    fn tensors(&self, name: &str, found: &Tensor, expected: &Tensor) -> Result<Row, Failure> {
        let words = |tensor: &Tensor| format!("{} {:?}", tensor.dtype().name(), tensor.sizes());
        let mut row = Row {
            name: name.to_owned(),
            kind: words(found),
            equal: false,
            max_difference: None,
            max_relative: None,
            rms: None,
            differing: None,
            note: None,
        };
        if (found.dtype(), found.sizes()) != (expected.dtype(), expected.sizes()) {
            row.note = Some(format!("expected {}", words(expected)));
            return Ok(row);
        }
        let size = |scalar: Scalar| parts(scalar).into_iter().map(f64::abs);
        let sizes = expected.values()?.flat_map(size).filter(|size| size.is_finite());
        let scale = sizes.fold(0.0, f64::max);
        let (mut largest, mut relative, mut differing) = (0f64, 0f64, 0u64);
        let (mut errors, mut squares) = (0f64, 0f64);
        for (a, b) in found.values()?.zip(expected.values()?) {
            for (a, b) in parts(a).into_iter().zip(parts(b)) {
                if a.is_finite() && b.is_finite() {
                    errors += (a - b) * (a - b);
                    squares += b * b;
                }
            }
            if a == b {
                continue;
            }
            if !matches!((a, b), (Scalar::Float(_), _) | (Scalar::Complex(..), _)) {
                differing += 1;
            }
            for (a, b) in parts(a).into_iter().zip(parts(b)) {
                let difference = (a - b).abs();
                if difference.is_finite() {
                    largest = largest.max(difference);
                    if b.abs() > 1e-3 * scale {
                        relative = relative.max(difference / b.abs());
                    }
                }
            }
            let close = parts(a).into_iter().zip(parts(b)).all(|(a, b)| self.close(a, b, scale));
            if matches!(a, Scalar::Float(_) | Scalar::Complex(..)) && !close {
                differing += 1;
            }
        }
        row.max_difference = Some(largest);
        row.max_relative = Some(relative);
        row.rms = Some(if errors > 0.0 { (errors / squares).sqrt() } else { 0.0 })
            .filter(|x| x.is_finite());
        row.differing = Some(differing);
        row.equal = differing == 0;
        Ok(row)
    }
}

impl Row {
    fn noted(name: String, found: Object<'_>, note: String) -> Row {
        Row {
            name,
            kind: result_text::kind(found),
            equal: false,
            max_difference: None,
            max_relative: None,
            rms: None,
            differing: None,
            note: Some(note),
        }
    }
}

/// Real and imaginary part.
fn parts(scalar: Scalar) -> [f64; 2] {
    match scalar {
        Scalar::Complex(re, im) => [re, im],
        other => [other.to_f64().unwrap_or(f64::NAN), 0.0],
    }
}

#[cfg(test)]
mod tests {
    use sconce::checkpoint::Value;

    use super::*;

    fn rows(found: Value, expected: Value) -> Vec<Row> {
        let mut comparison = Comparison { tolerance: 1e-4, rows: Vec::new(), left: 100 };
        let (found, expected) = (Draft::from(found), Draft::from(expected));
        comparison.compare("", found.root(), expected.root(), 0).unwrap();
        comparison.rows
    }

    fn tensor(elements: &[f32]) -> Value {
        Tensor::from_slice(elements, &[elements.len() as i64]).unwrap().into()
    }

    #[test]
    fn numbers_are_compared_within_the_tolerance() {
        let nan = f32::NAN;
        let inf = f32::INFINITY;
        let cases: &[(&[f32], &[f32], bool)] = &[
            (&[1.0, nan, inf], &[1.00001, nan, inf], true),
            (&[1.0, 1e-6], &[1.0, 2e-6], true),
            (&[1.0], &[1.001], false),
            (&[nan], &[1.0], false),
            (&[inf], &[-inf], false),
            (&[1.0], &[inf], false),
            (&[1.0, 2.0], &[1.0], false),
        ];
        for (found, expected, equal) in cases {
            let row = &rows(tensor(found), tensor(expected))[0];
            assert_eq!(row.equal, *equal, "{found:?} {expected:?} {row:?}");
        }
    }

    #[test]
    fn values_are_compared_by_place_and_kind() {
        let found = Value::dict([("a", Value::list([1, 2])), ("b", Value::tuple([0.5f64]))]);
        let expected = Value::dict([("a", Value::list([1, 3])), ("b", Value::list([0.5f64]))]);
        let rows = rows(found, expected);
        let notes: Vec<String> = rows
            .iter()
            .map(|row| format!("{} {} {}", row.name, row.equal, row.note.as_deref().unwrap_or("")))
            .collect();
        assert_eq!(
            notes,
            [
                "['a'][0] true 1 instead of 1",
                "['a'][1] false 2 instead of 3",
                "['b'] false a tuple of 1 instead of a list of 1",
            ]
        );
    }
}
