//! Tree specs: how arguments and results are made of the values that a graph takes and gives.
//!
//! PyTorch calls nested tuples, lists and dicts *pytrees*. A spec is JSON, `[1, NODE]`, and its leaves are the
//! values in order. Types are names only: nothing that a spec names is imported.

use std::fmt::Write as _;

use serde_json::Value;

/// The version of the JSON form.
const PROTOCOL: u64 = 1;

/// How deep specs may be nested: who reads them goes down by recursion.
const MAX_DEPTH: usize = 60;

/// The structure of arguments or of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeSpec {
    /// A value; `None` is one.
    Leaf,
    /// A tuple.
    Tuple(Vec<TreeSpec>),
    /// A list.
    List(Vec<TreeSpec>),
    /// A dict: its keys in order, what they hold, and which kind of dict it is.
    Dict(DictKind, Vec<(Key, TreeSpec)>),
    /// Anything with named fields: a named tuple, a dataclass, what an operator of several results gives.
    Fields {
        /// The name of the type, such as `my.Pair`.
        class: String,
        /// Which kind of type it is.
        kind: FieldsKind,
        /// The fields in order. Those of which the names are not known are called `0`, `1` and so on.
        fields: Vec<(String, TreeSpec)>,
        /// The fields that were `None`, which are no values of the graph.
        none: Vec<String>,
    },
    /// A `collections.deque`, and how many items it may have.
    Deque(Option<i64>, Vec<TreeSpec>),
    /// A `torch.Size`.
    Size(Vec<TreeSpec>),
    /// A type that only its own module knows, and what is in it.
    Other(String, Vec<TreeSpec>),
}

/// The dicts of Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DictKind {
    /// `dict`
    Plain,
    /// `collections.OrderedDict`
    Ordered,
    /// `collections.defaultdict`: the module and the name of the class of new values.
    Default(String, String),
}

/// The types with named fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldsKind {
    /// A `collections.namedtuple` or `typing.NamedTuple`.
    NamedTuple,
    /// A dataclass.
    DataClass,
    /// `torch.return_types.*`
    ReturnType,
    /// A class whose objects are dicts of their fields, such as the outputs of transformers' models.
    Mapping,
}

/// The key of a dict.
#[derive(Debug, Clone, PartialEq)]
pub enum Key {
    /// A string.
    Str(String),
    /// An int.
    Int(i64),
    /// A bool.
    Bool(bool),
    /// A float.
    Float(f64),
    /// `None`
    None,
    /// A member of an enum: `module:Class`, name.
    Enum(String, String),
}

impl TreeSpec {
    /// Reads the JSON of a spec. The fields of named tuples are in another place of the file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(
        text: &str,
        named_tuples: &dyn Fn(&str) -> Option<Vec<String>>,
    ) -> Result<Self, String> {
        let json: Value = serde_json::from_str(text)
            .map_err(|error| format!("a tree spec is no JSON: {error}"))?;
        let [version, root] = json.as_array().map(Vec::as_slice).unwrap_or_default() else {
            return Err("a tree spec is a list of a version and a node".to_owned());
        };
        if version.as_u64() != Some(PROTOCOL) {
            return Err(format!("tree specs of version {version} are not known, only {PROTOCOL}"));
        }
        node(root, named_tuples, 0)
    }

    /// What it holds, in order.
    pub fn children(&self) -> Vec<&TreeSpec> {
        match self {
            TreeSpec::Leaf => Vec::new(),
            TreeSpec::Tuple(items)
            | TreeSpec::List(items)
            | TreeSpec::Deque(_, items)
            | TreeSpec::Size(items)
            | TreeSpec::Other(_, items) => items.iter().collect(),
            TreeSpec::Dict(_, entries) => entries.iter().map(|(_, item)| item).collect(),
            TreeSpec::Fields { fields, .. } => fields.iter().map(|(_, item)| item).collect(),
        }
    }

    /// What it holds at a place.
    pub fn child(&self, index: usize) -> Option<&TreeSpec> {
        match self {
            TreeSpec::Leaf => None,
            TreeSpec::Tuple(items)
            | TreeSpec::List(items)
            | TreeSpec::Deque(_, items)
            | TreeSpec::Size(items)
            | TreeSpec::Other(_, items) => items.get(index),
            TreeSpec::Dict(_, entries) => entries.get(index).map(|(_, item)| item),
            TreeSpec::Fields { fields, .. } => fields.get(index).map(|(_, item)| item),
        }
    }

    /// How many values it stands for.
    pub fn leaves(&self) -> usize {
        match self {
            TreeSpec::Leaf => 1,
            _ => self.children().into_iter().map(TreeSpec::leaves).sum(),
        }
    }

    /// The text that Python prints for it: `TreeSpec(tuple, None, [*, *])`.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        let (name, context) = match self {
            TreeSpec::Leaf => {
                out.push('*');
                return;
            }
            TreeSpec::Tuple(_) => ("tuple".to_owned(), "None".to_owned()),
            TreeSpec::List(_) => ("list".to_owned(), "None".to_owned()),
            TreeSpec::Deque(most, _) => {
                ("deque".to_owned(), most.map_or("None".to_owned(), |most| most.to_string()))
            }
            TreeSpec::Size(_) => ("Size".to_owned(), "None".to_owned()),
            TreeSpec::Other(class, _) => (last(class).to_owned(), "None".to_owned()),
            TreeSpec::Dict(kind, entries) => {
                let keys: Vec<String> = entries.iter().map(|(key, _)| key.repr()).collect();
                let keys = format!("[{}]", keys.join(", "));
                let context = match kind {
                    DictKind::Default(module, class) if module == "builtins" => {
                        format!("[<class '{class}'>, {keys}]")
                    }
                    DictKind::Default(module, class) => {
                        format!("[<class '{module}.{class}'>, {keys}]")
                    }
                    DictKind::Plain | DictKind::Ordered => keys,
                };
                (kind.name().to_owned(), context)
            }
            TreeSpec::Fields { class, kind: FieldsKind::NamedTuple, .. } => {
                ("namedtuple".to_owned(), format!("<class '{class}'>"))
            }
            TreeSpec::Fields { class, kind, fields, none } => {
                let quoted = |names: &mut dyn Iterator<Item = &String>| {
                    names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
                };
                let names = quoted(&mut fields.iter().map(|(name, _)| name));
                let context = match kind {
                    FieldsKind::Mapping => format!("[{names}]"),
                    _ => format!("[[{names}], [{}]]", quoted(&mut none.iter())),
                };
                (last(class).to_owned(), context)
            }
        };
        let _ = write!(out, "TreeSpec({name}, {context}, [");
        for (index, child) in self.children().into_iter().enumerate() {
            if index > 0 {
                let _ = write!(out, ",\n{}", "  ".repeat(depth + 1));
            }
            child.write(out, depth + 1);
        }
        out.push_str("])");
    }
}

fn last(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}

impl DictKind {
    /// The name of the class.
    pub fn name(&self) -> &'static str {
        match self {
            DictKind::Plain => "dict",
            DictKind::Ordered => "OrderedDict",
            DictKind::Default(..) => "defaultdict",
        }
    }
}

impl Key {
    /// The text that Python shows for it.
    pub fn repr(&self) -> String {
        match self {
            Key::Str(text) if text.contains('\'') && !text.contains('"') => format!("\"{text}\""),
            Key::Str(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            Key::Int(value) => value.to_string(),
            Key::Bool(true) => "True".to_owned(),
            Key::Bool(false) => "False".to_owned(),
            Key::Float(value) => format!("{value:?}"),
            Key::None => "None".to_owned(),
            Key::Enum(class, name) => {
                format!("{}.{name}", class.rsplit(':').next().unwrap_or(class))
            }
        }
    }

    fn of_json(json: &Value) -> Result<Self, String> {
        Ok(match json {
            Value::Null => Key::None,
            Value::Bool(value) => Key::Bool(*value),
            Value::String(text) => Key::Str(text.clone()),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(value), _) => Key::Int(value),
                (None, Some(value)) => Key::Float(value),
                (None, None) => return Err(format!("a key of a tree spec is {number}")),
            },
            Value::Object(of) => {
                let text = |name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
                match (text("fqn"), text("name")) {
                    (Some(class), Some(name)) => Key::Enum(class, name),
                    _ => return Err("a key of a tree spec is of no known kind".to_owned()),
                }
            }
            Value::Array(_) => return Err("a key of a tree spec is a list".to_owned()),
        })
    }
}

fn node(
    json: &Value,
    named_tuples: &dyn Fn(&str) -> Option<Vec<String>>,
    depth: usize,
) -> Result<TreeSpec, String> {
    if depth > MAX_DEPTH {
        return Err(format!("a tree spec is nested deeper than {MAX_DEPTH} levels"));
    }
    let Some(of) = json.as_object() else {
        return Err("a node of a tree spec is no object".to_owned());
    };
    let children = match of.get("children_spec").and_then(Value::as_array) {
        Some(children) => {
            let children = children.iter().map(|child| node(child, named_tuples, depth + 1));
            children.collect::<Result<Vec<_>, String>>()?
        }
        None => return Err("a node of a tree spec has no children_spec".to_owned()),
    };
    let class = match of.get("type") {
        Some(Value::Null) if children.is_empty() => return Ok(TreeSpec::Leaf),
        Some(Value::String(class)) => class.as_str(),
        _ => return Err("a node of a tree spec has no type".to_owned()),
    };
    let context = of.get("context").unwrap_or(&Value::Null);
    Ok(match class {
        "builtins.tuple" => TreeSpec::Tuple(children),
        "builtins.list" | "torch.fx.immutable_collections.immutable_list" => {
            TreeSpec::List(children)
        }
        "torch.Size" => TreeSpec::Size(children),
        "collections.deque" => TreeSpec::Deque(inner(context)?.as_i64(), children),
        "builtins.dict" | "torch.fx.immutable_collections.immutable_dict" => {
            TreeSpec::Dict(DictKind::Plain, entries(&inner(context)?, children)?)
        }
        "collections.OrderedDict" => {
            TreeSpec::Dict(DictKind::Ordered, entries(&inner(context)?, children)?)
        }
        "collections.defaultdict" => {
            let context = match context {
                Value::String(_) => inner(context)?,
                other => other.clone(),
            };
            let keys = context.get("dict_context").cloned().unwrap_or(Value::Null);
            let text = |name: &str| {
                context.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let kind =
                DictKind::Default(text("default_factory_module"), text("default_factory_name"));
            TreeSpec::Dict(kind, entries(&keys, children)?)
        }
        "collections.namedtuple" => {
            let class = context.as_str().unwrap_or_default().to_owned();
            let names = named_tuples(&class).unwrap_or_default();
            TreeSpec::Fields {
                class,
                kind: FieldsKind::NamedTuple,
                fields: fields(names, children)?,
                none: Vec::new(),
            }
        }
        _ if class.starts_with("torch.return_types.") => {
            let names = return_names(last(class), children.len());
            let class = class.to_owned();
            TreeSpec::Fields {
                class,
                kind: FieldsKind::ReturnType,
                fields: fields(names, children)?,
                none: Vec::new(),
            }
        }
        _ => match field_names(context, children.len()) {
            Some((kind, names, none)) => {
                let class = class.to_owned();
                TreeSpec::Fields { class, kind, fields: fields(names, children)?, none }
            }
            None => TreeSpec::Other(class.to_owned(), children),
        },
    })
}

/// A context that is JSON in a string.
fn inner(context: &Value) -> Result<Value, String> {
    let text = context.as_str().unwrap_or("null");
    serde_json::from_str(text)
        .map_err(|error| format!("the context of a tree spec is no JSON: {error}"))
}

fn entries(keys: &Value, children: Vec<TreeSpec>) -> Result<Vec<(Key, TreeSpec)>, String> {
    let keys = keys.as_array().map(Vec::as_slice).unwrap_or_default();
    if keys.len() != children.len() {
        return Err(format!(
            "a dict of a tree spec has {} keys for {} values",
            keys.len(),
            children.len()
        ));
    }
    let mut out: Vec<(Key, TreeSpec)> = Vec::with_capacity(keys.len());
    for (key, child) in keys.iter().zip(children) {
        out.push((Key::of_json(key)?, child));
    }
    Ok(out)
}

fn fields(names: Vec<String>, children: Vec<TreeSpec>) -> Result<Vec<(String, TreeSpec)>, String> {
    if names.is_empty() {
        let numbered = children.into_iter().enumerate();
        return Ok(numbered.map(|(index, child)| (index.to_string(), child)).collect());
    }
    if names.len() != children.len() {
        return Err(format!(
            "a tree spec has {} field names for {} fields",
            names.len(),
            children.len()
        ));
    }
    Ok(names.into_iter().zip(children).collect())
}

/// The names in the context of a dataclass, of the fields that are there and of those that were `None`; or those in
/// the context of what is a dict of its fields.
fn field_names(context: &Value, children: usize) -> Option<(FieldsKind, Vec<String>, Vec<String>)> {
    let context = inner(context).ok()?;
    let texts = |names: &Value| -> Option<Vec<String>> {
        names.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let (kind, names, none) = match context.as_array()?.as_slice() {
        [there, none] if there.is_array() => (FieldsKind::DataClass, texts(there)?, texts(none)?),
        _ => (FieldsKind::Mapping, texts(&context)?, Vec::new()),
    };
    (names.len() == children && !names.is_empty()).then_some((kind, names, none))
}

/// The names of what the operators give that have named results.
fn return_names(operator: &str, count: usize) -> Vec<String> {
    let names: &[&str] = match operator {
        "max" | "min" | "sort" | "topk" | "median" | "nanmedian" | "mode" | "kthvalue"
        | "cummax" | "cummin" => &["values", "indices"],
        _ => &[],
    };
    match names.len() == count {
        true => names.iter().map(|&name| name.to_owned()).collect(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = r#"[1, {"type": "builtins.tuple", "context": "null", "children_spec": [
        {"type": "builtins.tuple", "context": "null", "children_spec": [
            {"type": null, "context": null, "children_spec": []},
            {"type": "collections.OrderedDict", "context": "[\"a\", 1]", "children_spec": [
                {"type": null, "context": null, "children_spec": []},
                {"type": null, "context": null, "children_spec": []}]},
            {"type": "collections.deque", "context": "5", "children_spec": [
                {"type": null, "context": null, "children_spec": []}]},
            {"type": "collections.namedtuple", "context": "my.P", "children_spec": [
                {"type": null, "context": null, "children_spec": []}]},
            {"type": "my.D", "context": "[[\"x\"], [\"y\"]]", "children_spec": [
                {"type": null, "context": null, "children_spec": []}]}]},
        {"type": "builtins.dict", "context": "[]", "children_spec": []}]}]"#;

    fn parse(text: &str) -> Result<TreeSpec, String> {
        TreeSpec::parse(text, &|class| (class == "my.P").then(|| vec!["first".to_owned()]))
    }

    #[test]
    fn specs_are_read_and_shown_as_python_shows_them() {
        let spec = parse(SPEC).unwrap();
        assert_eq!(spec.leaves(), 6);
        let want = "TreeSpec(tuple, None, [TreeSpec(tuple, None, [*,\n    \
                    TreeSpec(OrderedDict, ['a', 1], [*,\n      *]),\n    \
                    TreeSpec(deque, 5, [*]),\n    \
                    TreeSpec(namedtuple, <class 'my.P'>, [*]),\n    \
                    TreeSpec(D, [['x'], ['y']], [*])]),\n  \
                    TreeSpec(dict, [], [])])";
        assert_eq!(spec.text(), want);
    }

    #[test]
    fn what_is_no_spec_is_refused() {
        let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
        let deep = |levels: usize| {
            (0..levels).fold(leaf.to_owned(), |inner, _| {
                format!(
                    r#"{{"type": "builtins.list", "context": "null", "children_spec": [{inner}]}}"#
                )
            })
        };
        assert!(parse(&format!("[1, {}]", deep(20))).is_ok());
        for (text, why) in [
            ("[".to_owned(), "no JSON"),
            ("{}".to_owned(), "a version and a node"),
            (format!("[2, {leaf}]"), "of version 2 are not known"),
            (format!("[1, {}]", deep(5000)), "no JSON: recursion limit"),
            (r#"[1, {"type": 3, "children_spec": []}]"#.to_owned(), "has no type"),
            (
                r#"[1, {"type": "builtins.dict", "context": "[1]", "children_spec": []}]"#
                    .to_owned(),
                "1 keys for 0 values",
            ),
        ] {
            let said = parse(&text).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}
