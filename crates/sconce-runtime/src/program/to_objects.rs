//! Values of a program as objects that `torch.save` would write.

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_checkpoint::{ClassRef, Construction, Made, Value};
use sconce_export_program::tree_spec::{DictKind, FieldsKind, TreeSpec};
use sconce_kernels::Exporter;

use crate::Error;
use crate::value::IValue;

/// Lists, tuples, dicts and futures in each other. Who reads them again goes down by recursion.
const MAX_DEPTH: usize = 200;

/// A value as an object to be saved: what Python gets from a call. A NamedTuple becomes a tuple, so
/// that `torch.load(weights_only=True)` reads it. Tensors of one storage share it in the file too;
/// lists and dicts that are one object stay one.
///
/// # Errors
/// When the value is or holds what only the program has: an object of its classes, a member of its
/// enums; holds itself, or is nested deeper than those who read it again go.
pub fn to_object(value: &IValue) -> Result<Value, Error> {
    write(value, None)
}

/// The result of an exported program as an object to be saved, of the structure that the program gives it: an
/// `OrderedDict`, a named tuple, a dataclass are what they are in PyTorch. Objects of classes other than
/// `OrderedDict` are read again by who knows the class, with `weights_only=False`.
///
/// # Errors
/// As [`to_object`].
pub fn to_object_as(value: &IValue, structure: &TreeSpec) -> Result<Value, Error> {
    write(value, Some(structure))
}

fn write(value: &IValue, structure: Option<&TreeSpec>) -> Result<Value, Error> {
    let mut writer = Writer::default();
    let mut made = writer.begin(value.clone(), structure)?;
    loop {
        let Some(open) = writer.open.last_mut() else {
            // Nothing is open when the outermost value is made.
            return made.ok_or_else(|| unsupported("this result"));
        };
        open.made.extend(made.take());
        made = match open.next() {
            Some((item, structure)) => writer.begin(item, structure)?,
            None => writer.end(),
        };
    }
}

#[derive(Default)]
struct Writer<'s> {
    exporter: Exporter,
    /// Containers by address. What they belong to is held by the caller.
    known: FxHashMap<usize, Value>,
    /// Containers whose items are being made, outermost first.
    open: Vec<Open<'s>>,
    addresses: FxHashSet<usize>,
}

struct Open<'s> {
    value: IValue,
    structure: Option<&'s TreeSpec>,
    address: usize,
    next: usize,
    /// The value of the dict's entry whose key has been given.
    after_key: Option<IValue>,
    made: Vec<Value>,
}

impl<'s> Open<'s> {
    /// The next of what it holds, and its structure; of dicts keys and values in turn.
    fn next(&mut self) -> Option<(IValue, Option<&'s TreeSpec>)> {
        if let Some(value) = self.after_key.take() {
            // One item of `made` for each key and value before it, and one for its key.
            let index = self.made.len() / 2;
            return Some((value, self.structure.and_then(|of| of.child(index))));
        }
        let item = match &self.value {
            IValue::List(list) => list.read().items.get(self.next).cloned(),
            IValue::Tuple(tuple) => tuple.items.get(self.next).cloned(),
            IValue::Dict(dict) => {
                let dict = dict.read();
                while let Some(None) = dict.entry(self.next) {
                    self.next += 1;
                }
                dict.entry(self.next).flatten().map(|(key, value)| {
                    self.after_key = Some(value.clone());
                    key.clone()
                })
            }
            _ => None,
        };
        let structure = match self.value {
            IValue::Dict(_) => None,
            _ => self.structure.and_then(|of| of.child(self.next)),
        };
        self.next += 1;
        item.map(|item| (item, structure))
    }
}

impl<'s> Writer<'s> {
    /// The object of a value that holds no others, or that is known; `None` where what it holds is made
    /// first.
    fn begin(
        &mut self,
        mut value: IValue,
        structure: Option<&'s TreeSpec>,
    ) -> Result<Option<Value>, Error> {
        while let IValue::Future(future) = &value {
            value = match &future.outcome {
                Ok(value) => value.clone(),
                Err(_) => return Err(unsupported("a result that is a call that raised")),
            };
        }
        let address = match value {
            IValue::List(_) | IValue::Tuple(_) | IValue::Dict(_) => value.address(),
            _ => None,
        };
        let Some(address) = address else { return self.leaf(&value).map(Some) };
        if let Some(known) = self.known.get(&address) {
            return Ok(Some(known.clone()));
        }
        if self.open.len() > MAX_DEPTH {
            let what = format!("a result that is nested deeper than {MAX_DEPTH} levels");
            return Err(unsupported(&what));
        }
        if !self.addresses.insert(address) {
            return Err(unsupported("a result that holds itself"));
        }
        let (after_key, made) = (None, Vec::new());
        self.open.push(Open { value, structure, address, next: 0, after_key, made });
        Ok(None)
    }

    /// The object of the innermost container, all that it holds being made.
    fn end(&mut self) -> Option<Value> {
        let Open { value, structure, address, made, .. } = self.open.pop()?;
        let object = match value {
            IValue::List(_) => list(made, structure),
            IValue::Tuple(_) => tuple(made, structure),
            _ => {
                let mut made = made.into_iter();
                let pairs = std::iter::from_fn(|| Some((made.next()?, made.next()?)));
                dict(pairs.collect(), structure)
            }
        };
        let object = object.shared();
        self.addresses.remove(&address);
        self.known.insert(address, object.clone());
        Some(object)
    }

    fn leaf(&mut self, value: &IValue) -> Result<Value, Error> {
        Ok(match value {
            IValue::None => Value::None,
            IValue::Bool(value) => Value::Bool(*value),
            IValue::Int(value) => Value::Int(*value),
            IValue::Float(value) => Value::Float(*value),
            IValue::Complex(re, im) => Value::Complex(*re, *im),
            IValue::Str(text) => Value::Str(text.to_string()),
            IValue::Device(name) => match name.parse() {
                Ok(device) => Value::Device(device),
                Err(_) => return Err(unsupported(&format!("a result that is the device {name}"))),
            },
            IValue::Tensor(tensor) => {
                let exported = self.exporter.export(tensor).map_err(|error| {
                    unsupported(&format!("a result that is a tensor ({})", error.message()))
                })?;
                Value::Tensor(exported)
            }
            IValue::Sparse(sparse) => Value::Tensor(sparse.read().to_file().map_err(|error| {
                unsupported(&format!("a result that is a tensor ({})", error.message()))
            })?),
            other => {
                let what = format!("a result of the kind {}", other.kind_name());
                return Err(unsupported(&what));
            }
        })
    }
}

/// What a program gives as a list, of the structure that it has.
fn list(items: Vec<Value>, structure: Option<&TreeSpec>) -> Value {
    let Some(TreeSpec::Deque(most, _)) = structure else { return Value::List(items) };
    let args = most.map(|most| vec![Value::Tuple(Vec::new()), Value::Int(most)]);
    Value::Instance(Box::new(Made {
        class: class("collections", "deque"),
        construction: Construction::Call,
        args: args.unwrap_or_default(),
        state: None,
        items,
    }))
}

fn tuple(items: Vec<Value>, structure: Option<&TreeSpec>) -> Value {
    let (class, construction, args) = match structure {
        Some(TreeSpec::Size(_)) => {
            (class("torch", "Size"), Construction::Call, vec![Value::Tuple(items)])
        }
        Some(TreeSpec::Fields { class, kind, .. }) => match (class_of(class), kind) {
            (Some(class), FieldsKind::NamedTuple) => (class, Construction::New, items),
            (Some(class), FieldsKind::ReturnType) => {
                let args = vec![Value::Tuple(items), Value::Dict(Vec::new())];
                (class, Construction::Call, args)
            }
            _ => return Value::Tuple(items),
        },
        _ => return Value::Tuple(items),
    };
    let made = Made { class, construction, args, state: None, items: Vec::new() };
    Value::Instance(Box::new(made))
}

fn dict(entries: Vec<(Value, Value)>, structure: Option<&TreeSpec>) -> Value {
    match structure {
        Some(TreeSpec::Dict(DictKind::Ordered, _)) => Value::OrderedDict(entries),
        Some(TreeSpec::Dict(DictKind::Default(module, name), _)) => {
            Value::DefaultDict(class(module, name), entries)
        }
        Some(TreeSpec::Fields { class, kind: FieldsKind::DataClass, .. }) => {
            let Some(class) = class_of(class) else { return Value::Dict(entries) };
            Value::Instance(Box::new(Made {
                class,
                construction: Construction::New,
                args: Vec::new(),
                state: Some(Value::Dict(entries)),
                items: Vec::new(),
            }))
        }
        _ => Value::Dict(entries),
    }
}

/// The class of a name such as `my.Pair`; `None` where it has no module.
fn class_of(name: &str) -> Option<ClassRef> {
    name.rsplit_once('.').map(|(module, name)| class(module, name))
}

fn class(module: &str, name: &str) -> ClassRef {
    ClassRef { module: module.into(), name: name.into(), source: None }
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported { what: what.to_owned(), range: None }
}

#[cfg(test)]
mod tests {
    use sconce_checkpoint::Draft;
    use sconce_ir::Type;

    use super::*;
    use crate::Tensor;
    use crate::from_object;

    #[test]
    fn values_come_back_and_storages_stay_shared() {
        let whole = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
        let row = whole.select(0, 1).unwrap();
        let list = IValue::from(vec![1i64, 2]);
        let value = IValue::tuple(vec![
            whole.into(),
            row.into(),
            list.clone(),
            list,
            IValue::dict(vec![("a".into(), IValue::Complex(1.0, -2.0))]).unwrap(),
            IValue::Device("cuda:1".into()),
            IValue::None,
        ]);
        let draft = Draft::from(to_object(&value).unwrap());
        let back = from_object(draft.root()).unwrap().items().unwrap();
        let (whole, row) = (back[0].as_tensor().unwrap(), back[1].as_tensor().unwrap());
        assert!(whole.storage().ptr_eq(row.storage()));
        assert_eq!(row.to_vec::<f32>().unwrap(), [3.0, 4.0]);
        assert!(back[2].is(&back[3]));
        assert!(
            matches!(back[4].get("a"), Some(IValue::Complex(re, im)) if (re, im) == (1.0, -2.0))
        );
        assert!(matches!(&back[5], IValue::Device(name) if &**name == "cuda:1"));
    }

    #[test]
    fn results_are_of_the_structure_that_the_program_gives_them() {
        let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
        let of = |class: &str, context: &str| {
            format!(r#"{{"type": "{class}", "context": {context}, "children_spec": [{leaf}]}}"#)
        };
        let parts = [
            of("collections.OrderedDict", r#""[\"a\"]""#),
            of("collections.deque", r#""5""#),
            of("collections.namedtuple", r#""my.P""#),
            of("my.D", r#""[[\"x\"], [\"y\"]]""#),
            of(
                "collections.defaultdict",
                r#"{"default_factory_module": "builtins", "default_factory_name": "list", "dict_context": ["k"]}"#,
            ),
            of("torch.return_types.max", r#""null""#),
            of("torch.Size", r#""null""#),
            of("transformers.Output", r#""[\"x\"]""#),
            leaf.to_owned(),
        ];
        let tuple = r#"[1, {"type": "builtins.tuple", "context": "null", "children_spec": ["#;
        let text = format!("{tuple}{}]}}]", parts.join(", "));
        let spec = TreeSpec::parse(&text, &|_| Some(vec!["first".to_owned()])).unwrap();
        let values = (0..9).map(IValue::Int).collect();
        let value = crate::program::exported::put_together(&spec, values).unwrap();
        let draft = Draft::from(to_object_as(&value, &spec).unwrap());
        let names: Vec<String> = draft.root().iter().map(|item| item.class_name()).collect();
        let want = [
            "OrderedDict",
            "collections.deque",
            "my.P",
            "my.D",
            "defaultdict",
            "torch.return_types.max",
            "torch.Size",
            "dict",
            "int",
        ];
        assert_eq!(names, want);
        assert_eq!(draft.root().at(3).unwrap().repr(99), "my.D() state {'x': 3, 'y': None}");
        assert_eq!(draft.root().at(0).unwrap().repr(99), "OrderedDict({'a': 0})");
        // What is written is taken for arguments, too.
        let back = from_object(draft.root().at(2).unwrap()).unwrap().items().unwrap();
        assert!(matches!(back[..], [IValue::Int(2)]));
        let fields = from_object(draft.root().at(3).unwrap()).unwrap();
        assert!(matches!(fields.get("x"), Some(IValue::Int(3))));
        let queue = from_object(draft.root().at(1).unwrap()).unwrap();
        assert!(matches!(&queue, IValue::List(list) if list.read().items.len() == 1));
    }

    #[test]
    fn a_list_that_holds_itself_is_refused() {
        let list = IValue::list(Type::Any, vec![]);
        let IValue::List(items) = &list else { unreachable!() };
        items.write().items.push(list.clone());
        let said = to_object(&list).unwrap_err().to_string();
        assert_eq!(said, "a result that holds itself is not supported");
        items.write().items.clear();
    }

    #[test]
    fn what_is_deep_is_written_or_refused_on_a_small_stack() {
        let deep = |levels: usize| {
            (0..levels).fold(IValue::Int(1), |inner, _| IValue::list(Type::Any, vec![inner]))
        };
        let work = move || {
            assert!(to_object(&deep(MAX_DEPTH)).is_ok());
            let said = to_object(&deep(300_000)).unwrap_err().to_string();
            assert_eq!(said, "a result that is nested deeper than 200 levels is not supported");
            let futures = (0..300_000).fold(IValue::Int(1), |inner, _| {
                IValue::Future(crate::value::Future { outcome: Ok(inner) }.into())
            });
            assert!(matches!(to_object(&futures), Ok(Value::Int(1))));
        };
        std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
    }
}
