//! Results as text: tensors as PyTorch prints them, what holds them a line for each element.

use sconce::checkpoint::{DictKind, Node, Object};
use sconce::tensor::PrintOptions;

/// Characters of a line that several elements share.
const WIDTH: usize = 80;
/// Elements of one list, tuple or dict that are shown.
const MOST_ITEMS: usize = 1000;
/// Elements that are shown in all: one list may stand in many places.
const MOST_VALUES: usize = 20_000;

/// Characters of a str that are shown.
const MOST_CHARACTERS: usize = 1 << 20;

/// What `print` would show in Python, but for line breaks between the tensors of a list.
pub fn show(result: Object<'_>) -> String {
    let mut left = MOST_VALUES;
    value(result, 0, &mut left)
}

/// The text of a value whose first line starts at a column.
fn value(object: Object<'_>, column: usize, left: &mut usize) -> String {
    *left = left.saturating_sub(1);
    if *left == 0 {
        return "...".to_owned();
    }
    let attributes = object.attributes();
    let name = object.class_name();
    let name = name.rsplit('.').next().unwrap_or_default();
    let (open, close) = match object.data() {
        Node::Tensor(tensor) => {
            let text = tensor.tensor.display(&PrintOptions::default()).to_string();
            return indented(&text, column);
        }
        Node::List(_) => ("[".to_owned(), "]"),
        Node::Tuple(_) => ("(".to_owned(), if object.len() == 1 { ",)" } else { ")" }),
        Node::Dict(dict) if dict.kind == DictKind::Dict => ("{".to_owned(), "}"),
        Node::Dict(_) => (format!("{name}({{"), "})"),
        Node::Instance(_) if name == "deque" => ("deque([".to_owned(), "])"),
        Node::Instance(_) if !object.is_empty() || !attributes.is_empty() => {
            (format!("{name}("), ")")
        }
        _ => return object.repr(MOST_CHARACTERS),
    };
    let inside = column + open.chars().count();
    let entries = object.entries().map(|(key, item)| (Some((key, ": ")), item));
    let items = object.iter().map(|item| (None, item));
    let all: Box<dyn Iterator<Item = _>> = match object.data() {
        Node::Dict(_) => Box::new(entries),
        Node::Instance(_) if object.is_empty() => {
            Box::new(attributes.into_iter().map(|(key, item)| (Some((key, "=")), item)))
        }
        _ => Box::new(items),
    };
    let mut texts = Vec::new();
    for (key, item) in all.take(MOST_ITEMS) {
        let key = key.map_or(String::new(), |(key, sign)| match (sign, key.as_str()) {
            ("=", Some(name)) => format!("{name}="),
            _ => format!("{}{sign}", key.repr(WIDTH)),
        });
        let at = inside + key.chars().count();
        texts.push(format!("{key}{}", value(item, at, left)));
    }
    if object.len() > MOST_ITEMS {
        texts.push(format!("... {} more", object.len() - MOST_ITEMS));
    }
    let several_lines = texts.iter().any(|text| text.contains('\n') || text.contains("tensor("));
    let width: usize = texts.iter().map(|text| text.chars().count() + 2).sum();
    let separator = match several_lines || column + width > WIDTH {
        true => format!(",\n{}", " ".repeat(inside)),
        false => ", ".to_owned(),
    };
    format!("{open}{}{close}", texts.join(&separator))
}

fn indented(text: &str, column: usize) -> String {
    text.replace('\n', &format!("\n{}", " ".repeat(column)))
}

/// A few words for a result.
pub fn kind(object: Object<'_>) -> String {
    match object.data() {
        Node::Tensor(tensor) => {
            let sizes: Vec<String> = tensor.tensor.sizes().iter().map(i64::to_string).collect();
            format!("a tensor, {} [{}]", tensor.tensor.dtype().name(), sizes.join(", "))
        }
        Node::List(_) | Node::Tuple(_) | Node::Dict(_) => {
            format!("a {} of {}", object.class_name(), object.len())
        }
        _ => format!("a value of the type {}", object.class_name()),
    }
}

#[cfg(test)]
mod tests {
    use sconce::Tensor;
    use sconce::checkpoint::{ClassRef, Construction, Draft, Made, Value};

    use super::*;

    #[test]
    fn values_are_shown_as_python_shows_them() {
        let tensor = Tensor::from_slice(&[1f32, 2.5, 3.0, 4.0], &[2, 2]).unwrap();
        let value = Value::dict([
            ("scores", Value::from(tensor.clone())),
            ("pair", Value::tuple([Value::from(tensor), Value::from(1)])),
            ("words", Value::list(["a", "b"])),
            ("one", Value::tuple([1.5f64])),
        ]);
        let text = show(Draft::from(value).root());
        let want = "{'scores': tensor([[1.0000, 2.5000],
                   [3.0000, 4.0000]]),
 'pair': (tensor([[1.0000, 2.5000],
                  [3.0000, 4.0000]]),
          1),
 'words': ['a', 'b'],
 'one': (1.5,)}";
        assert_eq!(text, want);
    }

    #[test]
    fn objects_of_classes_are_shown_by_their_names() {
        let class = |module: &str, name: &str| ClassRef {
            module: module.into(),
            name: name.into(),
            source: None,
        };
        let made = |class, construction, args, state, items| {
            Value::Instance(Box::new(Made { class, construction, args, state, items }))
        };
        let pair =
            made(class("my", "Pair"), Construction::New, vec![1.into(), 2.into()], None, vec![]);
        let state = Some(Value::dict([("x", 1.into()), ("y", Value::None)]));
        let data = made(class("my", "D"), Construction::New, vec![], state, vec![]);
        let deque =
            made(class("collections", "deque"), Construction::Call, vec![], None, vec![3.into()]);
        let ordered = Value::OrderedDict(vec![("a".into(), 1.into())]);
        for (value, want) in [
            (pair, "Pair(1, 2)"),
            (data, "D(x=1, y=None)"),
            (deque, "deque([3])"),
            (ordered, "OrderedDict({'a': 1})"),
        ] {
            assert_eq!(show(Draft::from(value).root()), want);
        }
    }

    #[test]
    fn a_value_alone_is_its_repr() {
        for (value, want) in [(Value::from("it's"), r#""it's""#), (Value::from(2.0f64), "2.0")] {
            assert_eq!(show(Draft::from(value).root()), want);
        }
    }

    #[test]
    fn what_is_long_is_cut() {
        let text = show(Draft::from(Value::list(0..2000i32)).root());
        assert!(text.ends_with("999,\n ... 1000 more]"), "{}", &text[text.len() - 40..]);
        let mut value = Value::list([1, 2]);
        for _ in 0..30 {
            let shared = value.shared();
            value = Value::list([shared.clone(), shared]);
        }
        assert!(show(Draft::from(value).root()).len() < 4_000_000);
    }
}
