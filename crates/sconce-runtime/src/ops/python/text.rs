//! Values as text: `str`, `print` and `format`.
//!
//! Lists of `Any` can hold themselves, which PyTorch does not survive; they read as in Python, `[...]`.

use rustc_hash::FxHashSet;
use sconce_ir::{Constant, TensorConstant};

use crate::error::{Raise, kernel};
use crate::op_context::{OpContext, type_of};
use crate::value::IValue;
use crate::value::tensor_text::{sparse_text, tensor_text};

/// Where text goes as it is made, so that what is too long ends before it is.
pub(crate) trait Output {
    /// Adds to the text.
    fn push(&mut self, context: &mut dyn OpContext, text: &str) -> Result<(), Raise>;
}

/// Text that becomes a string of the program.
#[derive(Default)]
pub(crate) struct InMemory(String);

impl InMemory {
    /// The string.
    pub(crate) fn finish(self, context: &mut dyn OpContext) -> Result<IValue, Raise> {
        context.budget().check_text(self.0.len())?;
        Ok(IValue::str(self.0))
    }
}

impl Output for InMemory {
    fn push(&mut self, context: &mut dyn OpContext, text: &str) -> Result<(), Raise> {
        let (had, length) = (self.0.capacity(), self.0.len() + text.len());
        if length > had {
            context.budget().check_elements(length)?;
            context.budget().check_bytes(length.max(2 * had))?;
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Text that is printed: it goes on in pieces, however long the whole is.
#[derive(Default)]
pub(crate) struct Printed(String);

/// How long pieces are that go on.
const PIECE: usize = 64 << 10;

impl Printed {
    /// Prints what is left.
    pub(crate) fn finish(self, context: &mut dyn OpContext) {
        if !self.0.is_empty() {
            context.print(&self.0);
        }
    }
}

impl Output for Printed {
    fn push(&mut self, context: &mut dyn OpContext, text: &str) -> Result<(), Raise> {
        self.0.push_str(text);
        if self.0.len() >= PIECE {
            context.print(&self.0);
            self.0.clear();
            // A list that holds one list many times, level upon level, takes long to print.
            context.budget_mut().look()?;
        }
        Ok(())
    }
}

/// The text of a value: `operator<<` of `IValue`.
pub(crate) fn stream_text(context: &mut dyn OpContext, value: &IValue) -> Result<String, Raise> {
    let mut text = InMemory::default();
    write_text(context, value, &mut text)?;
    Ok(text.0)
}

/// Adds the text of a value. Depth costs no stack.
pub(crate) fn write_text(
    context: &mut dyn OpContext,
    value: &IValue,
    out: &mut impl Output,
) -> Result<(), Raise> {
    let mut writer = Writer { open: Vec::new(), addresses: FxHashSet::default() };
    writer.begin(context, value.clone(), out)?;
    while let Some(container) = writer.open.last_mut() {
        match container.next() {
            Next::Item(before, item) => {
                out.push(context, before)?;
                writer.begin(context, item, out)?;
            }
            Next::End(close) => {
                out.push(context, close)?;
                if let Some(address) = container.value.address() {
                    writer.addresses.remove(&address);
                }
                writer.open.pop();
            }
        }
    }
    Ok(())
}

/// The containers whose text is being made, outermost first.
struct Writer {
    open: Vec<Open>,
    addresses: FxHashSet<usize>,
}

struct Open {
    value: IValue,
    next: usize,
    /// The value of the dict's entry whose key has been written.
    after_key: Option<IValue>,
    is_first: bool,
}

enum Next {
    /// An item, and what stands before it.
    Item(&'static str, IValue),
    End(&'static str),
}

impl Writer {
    /// Writes a value that holds no others, or the beginning of one that does.
    fn begin(
        &mut self,
        context: &mut dyn OpContext,
        value: IValue,
        out: &mut impl Output,
    ) -> Result<(), Raise> {
        let (open, itself) = match &value {
            IValue::List(_) => ("[", "[...]"),
            IValue::Tuple(_) => ("(", "(...)"),
            IValue::Dict(_) => ("{", "{...}"),
            IValue::Str(text) => return out.push(context, text),
            leaf => {
                let text = leaf_text(context, leaf)?;
                return out.push(context, &text);
            }
        };
        let is_open = value.address().is_some_and(|address| !self.addresses.insert(address));
        if is_open {
            return out.push(context, itself);
        }
        out.push(context, open)?;
        self.open.push(Open { value, next: 0, after_key: None, is_first: true });
        Ok(())
    }
}

impl Open {
    /// What comes next in its text.
    fn next(&mut self) -> Next {
        if let Some(value) = self.after_key.take() {
            return Next::Item(": ", value);
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
        self.next += 1;
        let before = if std::mem::take(&mut self.is_first) { "" } else { ", " };
        match (item, &self.value) {
            (Some(item), _) => Next::Item(before, item),
            (None, IValue::List(_)) => Next::End("]"),
            (None, IValue::Tuple(tuple)) if tuple.items.len() == 1 => Next::End(",)"),
            (None, IValue::Tuple(_)) => Next::End(")"),
            (None, _) => Next::End("}"),
        }
    }
}

/// The text of what holds no other values.
fn leaf_text(context: &mut dyn OpContext, value: &IValue) -> Result<String, Raise> {
    let constant = match value {
        IValue::None => Constant::None,
        IValue::Bool(value) => Constant::Bool(*value),
        IValue::Int(value) => return Ok(value.to_string()),
        IValue::Float(value) => Constant::Float(*value),
        IValue::Complex(re, im) => Constant::Complex(*re, *im),
        IValue::Device(text) => Constant::Device(text.clone()),
        IValue::Enum(of, index) => Constant::Enum(sconce_ir::Type::Enum(of.clone()), *index),
        IValue::Tensor(tensor) => {
            let text = tensor_text(tensor).map_err(kernel)?;
            Constant::Tensor(TensorConstant { index: 0, text: text.into() })
        }
        IValue::Sparse(sparse) => return sparse_text(&sparse.read()).map_err(kernel),
        other => {
            let ty = type_of(context, other)?;
            return Err(Raise::unsupported(format!("the text of a value of type {ty}")));
        }
    };
    Ok(constant.stream_text())
}
