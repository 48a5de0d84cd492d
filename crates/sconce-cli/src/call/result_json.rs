//! Results as JSON: numbers, strings, lists and dicts with str keys as they are; a tensor as an
//! object with its dtype, its shape and its elements in nested lists.

use sconce::checkpoint::{Node, Object};
use sconce::tensor::Tensor;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::report::numbers;

/// Values in all: one list may stand in many places.
const MOST_VALUES: usize = 1 << 24;

/// The JSON of a result.
pub fn value(result: Object<'_>) -> Result<Value, Failure> {
    let mut left = MOST_VALUES;
    of_object(result, &mut left)
}

fn of_object(object: Object<'_>, left: &mut usize) -> Result<Value, Failure> {
    *left = left.checked_sub(1).ok_or_else(|| {
        Failure::unreadable("the result is too large for JSON").help("--output FILE")
    })?;
    Ok(match object.data() {
        Node::None => Value::Null,
        Node::Bool(value) => json!(value),
        Node::Int(value) => json!(value),
        Node::Float(value) => float(*value),
        Node::Complex(re, im) => json!({ "complex": [float(*re), float(*im)] }),
        Node::Str(text) => json!(text),
        Node::List(_) | Node::Tuple(_) => {
            object.iter().map(|item| of_object(item, left)).collect::<Result<Value, Failure>>()?
        }
        Node::Instance(_) if !object.is_empty() => {
            object.iter().map(|item| of_object(item, left)).collect::<Result<Value, Failure>>()?
        }
        Node::Instance(_) if !object.attributes().is_empty() => {
            let fields = object.attributes().into_iter().map(|(key, item)| {
                Ok((key.as_str().unwrap_or_default().to_owned(), of_object(item, left)?))
            });
            Value::Object(fields.collect::<Result<_, Failure>>()?)
        }
        Node::Dict(_) if object.entries().all(|(key, _)| key.as_str().is_some()) => {
            let entries = object.entries().map(|(key, item)| {
                Ok((key.as_str().unwrap_or_default().to_owned(), of_object(item, left)?))
            });
            Value::Object(entries.collect::<Result<_, Failure>>()?)
        }
        Node::Dict(_) => {
            let mut entries = Vec::new();
            for (key, item) in object.entries() {
                entries.push(json!([of_object(key, left)?, of_object(item, left)?]));
            }
            json!({ "entries": entries })
        }
        Node::Tensor(tensor) => of_tensor(&tensor.tensor)?,
        _ => json!(object.repr(1000)),
    })
}

fn of_tensor(tensor: &Tensor) -> Result<Value, Failure> {
    let mut text = Vec::new();
    numbers::nested_lists(tensor, &mut text)
        .map_err(|error| Failure::unreadable(error.to_string()))??;
    let data: Value = serde_json::from_slice(&text)
        .map_err(|error| Failure::unreadable(format!("the elements as JSON: {error}")))?;
    Ok(json!({ "dtype": tensor.dtype().name(), "shape": tensor.sizes(), "data": data }))
}

/// A float; JSON has none that are not finite.
fn float(value: f64) -> Value {
    let spelled = || json!(numbers::float_text(value));
    serde_json::Number::from_f64(value).map_or_else(spelled, Value::Number)
}

#[cfg(test)]
mod tests {
    use sconce::checkpoint::{Draft, Value as Saved};

    use super::*;

    #[test]
    fn every_kind_has_a_form() {
        let tensor = Tensor::from_slice(&[1f32, f32::NAN], &[2, 1]).unwrap();
        let saved = Saved::dict([
            ("t", Saved::from(tensor)),
            ("f", Saved::tuple([Saved::from(0.5f64), Saved::from(f64::INFINITY)])),
            ("d", Saved::Dict(vec![(Saved::from(1), Saved::None)])),
            ("c", Saved::Complex(1.0, -1.0)),
        ]);
        let text = value(Draft::from(saved).root()).unwrap().to_string();
        let want = concat!(
            r#"{"t":{"dtype":"float32","shape":[2,1],"data":[[1.0],["nan"]]},"#,
            r#""f":[0.5,"inf"],"d":{"entries":[[1,null]]},"c":{"complex":[1.0,-1.0]}}"#
        );
        assert_eq!(text, want);
    }
}
