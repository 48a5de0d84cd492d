//! What could not be followed: it is passed on as it is, and fails where its value is needed.

use std::sync::Arc;

use super::super::arguments::Keywords;
use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Cell, Unknown, Value};
use super::Interpreter;
use crate::library::{self, NameKind};

/// How long the description of something unknown may get.
const MAX_WHAT: usize = 200;
/// What stands before the reason for which something is not known.
pub(super) const BECAUSE: &str = " is not known without Python (";
/// How deep containers are searched for tensors and modules.
const MAX_DEPTH: usize = 8;

/// Functions of the standard library that change what they are given.
const CHANGING: &[&str] = &[
    "random.shuffle",
    "heapq.heappush",
    "heapq.heapify",
    "heapq.heappop",
    "bisect.insort",
    "bisect.insort_left",
    "bisect.insort_right",
    "operator.setitem",
    "operator.delitem",
];

/// Functions that take what is unknown as they take anything.
const INDIFFERENT: &[&str] = &[
    "builtins.print",
    "builtins.getattr",
    "builtins.hasattr",
    "builtins.setattr",
    "builtins.isinstance",
    "builtins.issubclass",
    "builtins.callable",
    "builtins.dict",
    "builtins.list",
    "builtins.tuple",
    "builtins.set",
    "builtins.staticmethod",
    "builtins.classmethod",
    "builtins.property",
    "builtins.enumerate",
    "builtins.zip",
    "builtins.map",
    "builtins.filter",
    "builtins.super",
    "collections.OrderedDict",
    "functools.partial",
    "functools.wraps",
    "functools.update_wrapper",
    "functools.reduce",
    "dataclasses.dataclass",
    "dataclasses.field",
    "itertools.chain",
    "typing.cast",
    "copy.copy",
    "copy.deepcopy",
    "torch.is_tensor",
    "torch.hub.load",
    "torch.hub.load_state_dict_from_url",
    "torch.utils.model_zoo.load_url",
];

impl Interpreter<'_> {
    pub(in super::super) fn new_unknown(
        &mut self,
        what: &str,
        why: Option<Arc<str>>,
        kind: NameKind,
        may_be_module: bool,
    ) -> Outcome<Value> {
        let what: Arc<str> = match what.char_indices().nth(MAX_WHAT) {
            Some((at, _)) => format!("{}…", what.get(..at).unwrap_or_default()).into(),
            None => what.into(),
        };
        self.new_cell(Cell::Unknown(Unknown { what, why, kind, may_be_module }))
    }

    /// What comes of something unknown.
    fn derived(&mut self, of: &Unknown, what: &str, kind: NameKind) -> Outcome<Value> {
        self.new_unknown(what, of.why.clone(), kind, of.may_be_module)
    }

    pub(in super::super) fn is_unknown(&self, value: &Value) -> bool {
        self.arena.unknown(value).is_some()
    }

    /// Says that a value is needed which is not known.
    pub(in super::super) fn refuse_unknown<T>(&self, value: &Value) -> Outcome<T> {
        match self.arena.unknown(value) {
            Some(unknown) => refuse(explained(unknown)),
            None => refuse("this value is not known without Python"),
        }
    }

    /// Refuses a value that is needed and not known.
    pub(in super::super) fn check_known(&self, value: &Value) -> Outcome<()> {
        match self.is_unknown(value) {
            true => self.refuse_unknown(value),
            false => Ok(()),
        }
    }

    /// The unknown one of two values, as the result of an operation on both.
    pub(in super::super) fn unknown_result(
        &mut self,
        left: &Value,
        right: &Value,
    ) -> Outcome<Option<Value>> {
        let unknown = self.arena.unknown(left).or_else(|| self.arena.unknown(right)).cloned();
        let Some(unknown) = unknown else { return Ok(None) };
        let what = format!("a result of {}", unknown.what);
        self.derived(&unknown, &what, NameKind::Value).map(Some)
    }

    /// `unknown.name`
    pub(in super::super) fn unknown_attribute(
        &mut self,
        value: &Value,
        name: &str,
    ) -> Outcome<Option<Value>> {
        let Some(unknown) = self.arena.unknown(value).cloned() else { return Ok(None) };
        let what = format!("{}.{name}", unknown.what);
        let kind = match unknown.kind {
            NameKind::Module => library::kind(&what),
            _ => NameKind::Callable,
        };
        self.derived(&unknown, &what, kind).map(Some)
    }

    /// `unknown[…]`
    pub(in super::super) fn unknown_item(&mut self, value: &Value) -> Outcome<Value> {
        let Some(unknown) = self.arena.unknown(value).cloned() else { return refuse("no value") };
        let what = format!("{}[…]", unknown.what);
        self.derived(&unknown, &what, unknown.kind)
    }

    /// `unknown(…)`
    pub(in super::super) fn call_unknown(
        &mut self,
        unknown: &Unknown,
        args: &[Value],
        keywords: &Keywords,
    ) -> Outcome<Value> {
        if let Some(version) = self.version(&unknown.what, args)? {
            return Ok(version);
        }
        if let Some(document) = self.call_yaml(&unknown.what, args)? {
            return Ok(document);
        }
        let given = args.iter().chain(keywords.iter().map(|(_, value)| value));
        let is_changed = CHANGING.contains(&&*unknown.what)
            || unknown.may_be_module && given.clone().any(|value| self.holds_model(value, 0));
        if is_changed {
            return refuse(format!(
                "{} is given what it may change, and what it does{}",
                unknown.what,
                because(unknown)
            ));
        }
        let what = format!("{}()", unknown.what);
        // A decorator gives what can be called; of what a package makes it is likely.
        let takes_function = args.iter().any(|arg| self.is_function_or_class(arg));
        let kind = match takes_function || unknown.may_be_module {
            true => NameKind::Callable,
            false => NameKind::Value,
        };
        self.derived(unknown, &what, kind)
    }

    fn is_function_or_class(&self, value: &Value) -> bool {
        matches!(self.arena.cell(value), Some(Cell::Function(_) | Cell::Class(_)))
    }

    /// A call of a function of a library that is not here.
    pub(in super::super) fn call_not_here(
        &mut self,
        name: &str,
        args: &[Value],
        keywords: &Keywords,
    ) -> Outcome<Value> {
        if name.starts_with("builtins.") || super::acts::reaches_outside(name) {
            return refuse(super::acts::refusal(name));
        }
        let unknown = Unknown {
            what: name.into(),
            why: None,
            kind: NameKind::Callable,
            may_be_module: !library::is_standard(name),
        };
        self.call_unknown(&unknown, args, keywords)
    }

    /// The result of a library's function that is given something unknown.
    pub(in super::super) fn call_with_unknown(
        &mut self,
        name: &str,
        args: &[Value],
        keywords: &Keywords,
    ) -> Outcome<Option<Value>> {
        if self.execution.is_none() || INDIFFERENT.contains(&name) {
            return Ok(None);
        }
        let mut given = args.iter().chain(keywords.iter().map(|(_, value)| value));
        let unknown = given.find_map(|value| self.arena.unknown(value)).cloned();
        let Some(unknown) = unknown else { return Ok(None) };
        let what = format!("{name}({})", unknown.what);
        self.derived(&unknown, &what, NameKind::Value).map(Some)
    }

    /// Whether a value is a tensor or an object with attributes, or holds one.
    fn holds_model(&self, value: &Value, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return true;
        }
        let any = |values: &[Value]| values.iter().any(|value| self.holds_model(value, depth + 1));
        match self.arena.cell(value) {
            Some(Cell::Tensor(_) | Cell::Saved(_)) => true,
            Some(Cell::Instance(instance)) => instance.attributes.contains_key("_parameters"),
            Some(Cell::Method(receiver, _) | Cell::BuiltinMethod(receiver, _)) => {
                self.holds_model(receiver, depth + 1)
            }
            Some(Cell::List(items)) => any(items),
            Some(Cell::Tuple(tuple)) => any(&tuple.items),
            Some(Cell::Iterator(iterator)) => any(&iterator.items),
            Some(Cell::Dict(entries)) => {
                entries.values().any(|(_, value)| self.holds_model(value, depth + 1))
            }
            _ => false,
        }
    }
}

fn because(unknown: &Unknown) -> String {
    match &unknown.why {
        Some(why) => format!("{BECAUSE}{why})"),
        None => " is not known without Python".to_owned(),
    }
}

/// What is needed, and why it is not known.
fn explained(unknown: &Unknown) -> String {
    let what = &unknown.what;
    match &unknown.why {
        Some(why) => format!("{what} is needed here and{BECAUSE}{why})"),
        None => format!(
            "{what} is needed here and is not known without Python: only what hubconf.py files \
             commonly use of the libraries is"
        ),
    }
}
