//! What `torch.save` wrote as values of a program.

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_checkpoint::{Construction, Node, Object, ObjectId};
use sconce_ir::Type;
use sconce_kernels::Importer;

use crate::Error;
use crate::value::IValue;

/// Lists, tuples and dicts in each other: deeper values are of no use to a program.
const MAX_DEPTH: usize = 200;

/// Values that all references to them together stand for: lists that hold one list many times, level
/// upon level, are small in a file and endless to whoever walks them.
const MAX_VALUES: usize = 1 << 24;

/// The arguments of a call: the elements of a saved list or tuple. Tensors that share a storage, and
/// lists that are in several places, do so in the program too.
///
/// What is called says by its schema what type the elements of lists have, and makes floats of ints
/// where it takes floats.
///
/// # Errors
/// When the object is neither list nor tuple, or holds what no program takes.
pub fn arguments(root: Object<'_>) -> Result<Vec<IValue>, Error> {
    if !matches!(root.data(), Node::List(_) | Node::Tuple(_)) {
        let message =
            format!("arguments are a list or a tuple of them, and this is {}", root.class_name());
        return Err(Error::Arguments(message));
    }
    let mut reader = Reader::default();
    let items = root.iter().enumerate();
    items.map(|(index, item)| reader.read(item, &format!("argument {index}"), 0)).collect()
}

/// A saved object as a value: numbers, strings, tensors, and lists, tuples and dicts of them.
///
/// # Errors
/// When it holds what no program takes: an object of a class.
pub fn from_object(object: Object<'_>) -> Result<IValue, Error> {
    Reader::default().read(object, "the value", 0)
}

#[derive(Default)]
struct Reader {
    importer: Importer,
    /// The values made, and how many each stands for.
    known: FxHashMap<ObjectId, (IValue, usize)>,
    open: FxHashSet<ObjectId>,
    /// How many values the innermost open one stands for so far.
    count: usize,
}

impl Reader {
    fn read(&mut self, object: Object<'_>, place: &str, depth: usize) -> Result<IValue, Error> {
        if let Some((value, count)) = self.known.get(&object.id()) {
            self.count = self.count.saturating_add(*count);
            return self.bounded(place).map(|()| value.clone());
        }
        let wrong = |what: &str| Err(Error::Arguments(format!("{place} {what}")));
        if depth > MAX_DEPTH {
            return wrong("is nested too deeply");
        }
        if !self.open.insert(object.id()) {
            return wrong("holds itself");
        }
        let outside = std::mem::replace(&mut self.count, 1);
        let value = self.make(object, place, depth)?;
        self.bounded(place)?;
        self.open.remove(&object.id());
        self.known.insert(object.id(), (value.clone(), self.count));
        self.count = self.count.saturating_add(outside);
        Ok(value)
    }

    fn bounded(&self, place: &str) -> Result<(), Error> {
        match self.count > MAX_VALUES {
            true => Err(Error::Arguments(format!("{place} holds more than {MAX_VALUES} values"))),
            false => Ok(()),
        }
    }

    fn items(
        &mut self,
        object: Object<'_>,
        place: &str,
        depth: usize,
    ) -> Result<Vec<IValue>, Error> {
        let items = object.iter().enumerate();
        items
            .map(|(index, item)| self.read(item, &format!("{place}[{index}]"), depth + 1))
            .collect()
    }

    fn make(&mut self, object: Object<'_>, place: &str, depth: usize) -> Result<IValue, Error> {
        let wrong = |what: String| Err(Error::Arguments(format!("{place} {what}")));
        Ok(match object.data() {
            Node::None => IValue::None,
            Node::Bool(value) => IValue::Bool(*value),
            Node::Int(value) => IValue::Int(*value),
            Node::BigInt(_) => return wrong("is an int of more than 64 bits".to_owned()),
            Node::Float(value) => IValue::Float(*value),
            Node::Complex(re, im) => IValue::Complex(*re, *im),
            Node::Str(text) => IValue::str(&**text),
            Node::Device(device) => IValue::Device(device.to_string().into()),
            Node::DType(dtype) => IValue::Int(i64::from(dtype.scalar_type_number())),
            Node::Size(sizes) => {
                let sizes = sizes.iter().map(|&size| IValue::Int(size)).collect();
                IValue::list(Type::Int, sizes)
            }
            Node::List(_) => IValue::from(self.items(object, place, depth)?),
            Node::Tuple(_) => IValue::tuple(self.items(object, place, depth)?),
            Node::Dict(_) => {
                let mut entries = Vec::new();
                for (key, item) in object.entries() {
                    let at = format!("{place}[{}]", key.repr(40));
                    entries
                        .push((self.read(key, &at, depth + 1)?, self.read(item, &at, depth + 1)?));
                }
                match IValue::dict(entries) {
                    Some(dict) => dict,
                    None => return wrong("is a dict with keys that no program has".to_owned()),
                }
            }
            Node::Tensor(tensor) => match IValue::of_file(&tensor.tensor, &mut self.importer) {
                Ok(tensor) => tensor,
                Err(error) => return wrong(format!("cannot be used: {}", error.message())),
            },
            _ => match self.of_class(object, place, depth)? {
                Some(value) => value,
                None => {
                    let class = object.class_name();
                    return wrong(format!("is of the class {class}, which cannot be passed"));
                }
            },
        })
    }
}

/// An object that stands for nothing but what it holds: a named tuple is a tuple, a `collections.deque` a list,
/// an object with attributes and nothing else (a dataclass) a dict of them. Nothing of a class is looked up.
impl Reader {
    fn of_class(
        &mut self,
        object: Object<'_>,
        place: &str,
        depth: usize,
    ) -> Result<Option<IValue>, Error> {
        let Node::Instance(instance) = object.data() else { return Ok(None) };
        if instance.kwargs.is_some() || !instance.entries.is_empty() {
            return Ok(None);
        }
        let args = object.other(instance.args);
        let made = (instance.construction, instance.states.as_slice(), instance.items.as_slice());
        Ok(match made {
            (Construction::New, [], []) if !args.is_empty() => {
                Some(IValue::tuple(self.items(args, place, depth)?))
            }
            (Construction::New, [state], []) if args.is_empty() => {
                let state = object.other(*state);
                match state.data() {
                    Node::Dict(_) => Some(self.make(state, place, depth + 1)?),
                    _ => None,
                }
            }
            (Construction::Call, [], items) if object.class_name() == "collections.deque" => {
                let mut values = Vec::with_capacity(items.len());
                for (index, &item) in items.iter().enumerate() {
                    let place = format!("{place}[{index}]");
                    values.push(self.read(object.other(item), &place, depth + 1)?);
                }
                Some(IValue::from(values))
            }
            (Construction::Call, [], [])
                if object.class_name().starts_with("torch.return_types.") =>
            {
                match args.at(0) {
                    Some(items) if matches!(items.data(), Node::Tuple(_)) => {
                        Some(IValue::tuple(self.items(items, place, depth)?))
                    }
                    _ => None,
                }
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use sconce_checkpoint::Draft;
    use sconce_checkpoint::Value;

    use super::*;

    fn read(value: Value) -> Result<IValue, String> {
        from_object(Draft::from(value).root()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_no_program_takes_is_named_with_its_place() {
        let cases = [
            (
                "[[1, {'a': b'x'}]]",
                "the value[0][1]['a'] is of the class bytes, which cannot be passed",
            ),
            ("{(1, 2): 3}", "the value is a dict with keys that no program has"),
            ("[99999999999999999999]", "the value[0] is an int of more than 64 bits"),
        ];
        for (text, message) in cases {
            assert_eq!(read(Value::parse(text).unwrap()).unwrap_err(), message);
        }
        let arguments = arguments(Draft::from(Value::from(1)).root()).unwrap_err();
        assert_eq!(
            arguments.to_string(),
            "arguments are a list or a tuple of them, and this is int"
        );
    }

    #[test]
    fn one_list_in_two_places_is_one_list() {
        let list = Value::list([1, 2]).shared();
        let value = read(Value::list([list.clone(), list])).unwrap();
        let items = value.items().unwrap();
        assert!(items[0].is(&items[1]));
    }

    #[test]
    fn values_without_end_are_refused() {
        let mut value = Value::list([1, 2]);
        for _ in 0..40 {
            let shared = value.shared();
            value = Value::list([shared.clone(), shared]);
        }
        assert!(read(value).unwrap_err().ends_with("holds more than 16777216 values"));
        let deep = (0..300).fold(Value::None, |value, _| Value::list([value]));
        assert!(read(deep).unwrap_err().ends_with("is nested too deeply"));
    }
}
