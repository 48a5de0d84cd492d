//! Tensors by a call, as in Python: `zeros(1,3,224,224)`, `tensor([[1, 2.5]], dtype=float64)`.

use sconce::checkpoint::Value;
use sconce::run::{Generator, IValue, RunTensor, normal_in_place, uniform_in_place};
use sconce::tensor::DType;

use crate::arguments::values;

/// Elements that may be made: what is written by mistake should not take all memory.
const MAX_ELEMENTS: i64 = 1 << 31;

/// The tensor of a text that is a call of one of these functions; `None` when it is none.
pub fn read(text: &str, generator: &mut Generator) -> Option<Result<IValue, String>> {
    let (name, rest) = text.trim().split_once('(')?;
    let name = name.trim_start_matches("torch.");
    let make = FUNCTIONS.iter().find(|(known, _)| *known == name)?.1;
    let inside = rest.strip_suffix(')')?;
    Some(
        split(inside)
            .and_then(|(positional, dtype)| make(&positional, dtype, generator))
            .map(IValue::Tensor),
    )
}

type Make = fn(&[Value], Option<DType>, &mut Generator) -> Result<RunTensor, String>;

const FUNCTIONS: &[(&str, Make)] = &[
    ("zeros", |args, dtype, _| filled(&sizes(args)?, 0.0, dtype)),
    ("ones", |args, dtype, _| filled(&sizes(args)?, 1.0, dtype)),
    ("rand", |args, dtype, generator| rand(&sizes(args)?, dtype, generator)),
    ("randn", |args, dtype, generator| {
        random(&sizes(args)?, dtype, |tensor| normal_in_place(tensor, 0.0, 1.0, generator))
    }),
    ("full", |args, dtype, _| full(args, dtype)),
    ("arange", |args, dtype, _| arange(args, dtype)),
    ("tensor", |args, dtype, _| tensor(args, dtype)),
];

/// The positional arguments, and `dtype=`.
fn split(inside: &str) -> Result<(Vec<Value>, Option<DType>), String> {
    let (positional, dtype) = match inside.rsplit_once("dtype=") {
        Some((positional, dtype)) => {
            let dtype = dtype.trim().trim_start_matches("torch.");
            (positional, Some(values::dtype(dtype)?))
        }
        None => (inside, None),
    };
    let positional = positional.trim().trim_end_matches(',');
    match Value::parse(&format!("[{positional}]")).map_err(|error| error.message().to_owned())? {
        Value::List(items) => Ok((items, dtype)),
        _ => Ok((Vec::new(), dtype)),
    }
}

/// Sizes as several ints, or as one list or tuple of them.
fn sizes(args: &[Value]) -> Result<Vec<i64>, String> {
    let args = match args {
        [Value::List(items) | Value::Tuple(items)] => items,
        _ => args,
    };
    let ints = args.iter().map(|value| int(value).filter(|size| *size >= 0));
    let sizes: Option<Vec<i64>> = ints.collect();
    let sizes = sizes.ok_or("sizes are ints, such as (1, 3, 224, 224)")?;
    let elements = sizes.iter().try_fold(1i64, |product, &size| product.checked_mul(size));
    match elements.is_some_and(|elements| elements <= MAX_ELEMENTS) {
        true => Ok(sizes),
        false => Err("this is too large".to_owned()),
    }
}

/// The int that a value is. Those that are read from text may be of any size.
fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) => Some(*value),
        Value::BigInt(value) => i64::try_from(value).ok(),
        _ => None,
    }
}

fn filled(sizes: &[i64], value: f64, dtype: Option<DType>) -> Result<RunTensor, String> {
    let dtype = dtype.unwrap_or(DType::Float32);
    let made = match value.fract() == 0.0 {
        true => RunTensor::full(sizes, (value as i64).into(), dtype),
        false => RunTensor::full(sizes, value.into(), dtype),
    };
    made.map_err(|error| error.message().to_owned())
}

/// Numbers between 0 and 1.
pub fn rand(
    sizes: &[i64],
    dtype: Option<DType>,
    generator: &mut Generator,
) -> Result<RunTensor, String> {
    random(sizes, dtype, |tensor| uniform_in_place(tensor, 0.0, 1.0, generator))
}

fn random<E: std::fmt::Display>(
    sizes: &[i64],
    dtype: Option<DType>,
    fill: impl FnOnce(&RunTensor) -> Result<(), E>,
) -> Result<RunTensor, String> {
    let dtype = dtype.unwrap_or(DType::Float32);
    if !dtype.is_floating_point() {
        return Err(format!("random numbers are floats, not {}", dtype.name()));
    }
    let tensor = RunTensor::zeros(sizes, dtype).map_err(|error| error.message().to_owned())?;
    fill(&tensor).map_err(|error| error.to_string())?;
    Ok(tensor)
}

/// `full((2, 3), 1.5)`; an int makes int64.
fn full(args: &[Value], dtype: Option<DType>) -> Result<RunTensor, String> {
    let [size @ (Value::List(_) | Value::Tuple(_)), value] = args else {
        return Err("write full((2, 3), 1.5)".to_owned());
    };
    let sizes = sizes(std::slice::from_ref(size))?;
    match (value, int(value)) {
        (_, Some(value)) => {
            let dtype = dtype.unwrap_or(DType::Int64);
            RunTensor::full(&sizes, value.into(), dtype).map_err(|error| error.message().to_owned())
        }
        (Value::Float(value), _) => filled(&sizes, *value, dtype),
        _ => Err("a tensor is filled with an int or a float".to_owned()),
    }
}

/// `arange(end)`, `arange(start, end)`: int64 unless another dtype is asked for.
fn arange(args: &[Value], dtype: Option<DType>) -> Result<RunTensor, String> {
    let ints: Option<Vec<i64>> = args.iter().map(int).collect();
    let (start, end) = match ints.as_deref() {
        Some([end]) => (0, *end),
        Some([start, end]) => (*start, *end),
        _ => return Err("write arange(10) or arange(2, 10)".to_owned()),
    };
    let count = end.checked_sub(start).filter(|count| (0..=MAX_ELEMENTS).contains(count));
    let count = count.ok_or("this is too large, or ends before it starts")?;
    let elements: Vec<i64> = (start..end).collect();
    cast(sconce::Tensor::from_vec(elements, &[count]), dtype.unwrap_or(DType::Int64))
}

/// `tensor(data)`: nested lists of bools, ints or floats, whose dtype is as in Python.
fn tensor(args: &[Value], dtype: Option<DType>) -> Result<RunTensor, String> {
    let [data] = args else { return Err("write tensor([[1.5, 2], [3, 4]])".to_owned()) };
    let mut flat = Flat::default();
    flat.add(data, 0)?;
    let natural = match flat.rank {
        0 if !flat.elements.is_empty() => DType::Bool,
        1 => DType::Int64,
        _ => DType::Float32,
    };
    let made = match flat.rank {
        2 => sconce::Tensor::from_vec(flat.elements, &flat.sizes),
        _ => sconce::Tensor::from_vec(flat.ints, &flat.sizes),
    };
    cast(made, dtype.unwrap_or(natural))
}

fn cast(
    made: Result<sconce::Tensor, sconce::tensor::Error>,
    dtype: DType,
) -> Result<RunTensor, String> {
    let made = made.and_then(|tensor| tensor.to_dtype(dtype)).map_err(|error| error.to_string())?;
    RunTensor::from_file(&made).map_err(|error| error.message().to_owned())
}

/// Nested lists laid flat.
#[derive(Default)]
struct Flat {
    sizes: Vec<i64>,
    elements: Vec<f64>,
    ints: Vec<i64>,
    /// The widest kind of number: bool, int, float.
    rank: u8,
}

impl Flat {
    fn add(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        let (rank, float, int) = match value {
            Value::List(items) | Value::Tuple(items) => {
                let length = items.len() as i64;
                match self.sizes.get(depth) {
                    None if self.elements.is_empty() => self.sizes.push(length),
                    Some(known) if *known == length => {}
                    _ => return Err("rows are of different lengths".to_owned()),
                }
                return items.iter().try_for_each(|item| self.add(item, depth + 1));
            }
            Value::Bool(value) => (0, f64::from(u8::from(*value)), i64::from(*value)),
            Value::Float(value) => (2, *value, 0),
            other => match int(other) {
                Some(value) => (1, value as f64, value),
                None => return Err("a tensor is made of lists of numbers".to_owned()),
            },
        };
        if depth != self.sizes.len() {
            return Err("rows are of different lengths".to_owned());
        }
        self.rank = self.rank.max(rank);
        self.elements.push(float);
        self.ints.push(int);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match read(text, &mut Generator::new(0)) {
            None => "no call".to_owned(),
            Some(Err(why)) => why,
            Some(Ok(value)) => {
                sconce::run::output(&value).unwrap().display(&Default::default()).to_string()
            }
        }
    }

    #[test]
    fn calls_give_what_they_give_in_python() {
        let cases = [
            ("zeros(2)", "tensor([0., 0.])"),
            ("torch.ones((1, 2), dtype=torch.int32)", "tensor([[1, 1]], dtype=torch.int32)"),
            // torch.manual_seed(0)
            ("rand(2)", "tensor([0.4963, 0.7682])"),
            ("randn(2, dtype=float64)", "tensor([ 1.5410, -0.2934], dtype=torch.float64)"),
            ("rand(2, dtype=int64)", "random numbers are floats, not int64"),
            ("full((2,), 1.5)", "tensor([1.5000, 1.5000])"),
            ("full([], 7)", "tensor(7)"),
            ("arange(2, 5)", "tensor([2, 3, 4])"),
            ("arange(3, dtype=float64)", "tensor([0., 1., 2.], dtype=torch.float64)"),
            ("tensor([[1, 2.5], [3, 4]])", "tensor([[1.0000, 2.5000],\n        [3.0000, 4.0000]])"),
            ("tensor(True)", "tensor(True)"),
            ("tensor([])", "tensor([])"),
            ("tensor([9007199254740993])", "tensor([9007199254740993])"),
            ("tensor([[1], [2, 3]])", "rows are of different lengths"),
            ("tensor([1, [2]])", "rows are of different lengths"),
            ("zeros(-1)", "sizes are ints, such as (1, 3, 224, 224)"),
            ("zeros(100000, 100000, 100000)", "this is too large"),
            ("tensor('a')", "a tensor is made of lists of numbers"),
            ("unknown(1)", "no call"),
            ("model.pt", "no call"),
        ];
        for (text, want) in cases {
            assert_eq!(shown(text), want, "{text}");
        }
    }
}
