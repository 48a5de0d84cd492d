//! The autograd graph: recorded calls of operators, and what tensors remember of how they were made.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use sconce_kernels::{DType, Dims, Storage, Tensor};

use crate::error::Raise;
use crate::op_context::formula::Rule;
use crate::value::IValue;

/// A call of an operator, and what its derivative needs.
pub(crate) struct Node {
    /// How many nodes there were before it: gradients come to later nodes first.
    pub(crate) number: u64,
    /// The operator's full name.
    pub(crate) operator: Rc<str>,
    /// Its derivative; `None` where it is not known, which is an error only where it is needed.
    pub(crate) rule: Option<Rc<Rule>>,
    /// Where the gradients of its operands go.
    pub(crate) edges: Vec<Edge>,
    /// Sizes and dtypes of the tensors that it gave.
    pub(crate) outputs: Vec<(Dims, DType)>,
    /// What the derivative reads; `None` when that has been given up.
    pub(crate) saved: RefCell<Option<Saved>>,
    /// Tensors, by output, that keep their gradients.
    pub(crate) retained: RefCell<Vec<(usize, Weak<AutogradMeta>)>>,
}

/// Where the gradient of an operand goes.
pub(crate) struct Edge {
    /// Which of the operator's arguments it is, and which item of it where that is a list.
    pub(crate) argument: usize,
    pub(crate) item: usize,
    pub(crate) source: Source,
    pub(crate) sizes: Dims,
    pub(crate) dtype: DType,
}

/// What made a tensor.
pub(crate) enum Source {
    /// A node, and which of its results the tensor is.
    Node(Rc<Node>, usize),
    /// Nothing that was recorded: the gradient stays here.
    Leaf(Rc<AutogradMeta>),
}

/// Operands and results of a call as far as the derivative reads them.
#[derive(Default)]
pub(crate) struct Saved {
    pub(crate) operands: Vec<IValue>,
    pub(crate) results: Vec<IValue>,
    /// Storages that must not have been written to since, and the tensors in them.
    written: Vec<(Storage, u32, Tensor)>,
}

impl Saved {
    /// Asks for the elements of a value to stay what they are now.
    pub(crate) fn guard(&mut self, value: &IValue) {
        each_tensor(value, &mut |_, tensor| {
            let storage = tensor.storage().clone();
            let writes = storage.writes();
            self.written.push((storage, writes, tensor.alias()));
        });
    }

    /// Whether elements are kept that a second run would need.
    pub(crate) fn holds_elements(&self) -> bool {
        !self.written.is_empty()
    }

    /// Whether everything is still what it was.
    pub(crate) fn check(&self) -> Result<(), Raise> {
        let changed = self.written.iter().find(|(storage, writes, _)| storage.writes() != *writes);
        let Some((_, _, tensor)) = changed else { return Ok(()) };
        let sizes: Vec<String> = tensor.sizes().iter().map(i64::to_string).collect();
        Err(Raise::message(format!(
            "one of the variables needed for gradient computation has been modified by an inplace \
             operation: [torch.{}Tensor [{}]]. Hint: enable anomaly detection to find the operation that \
             failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).",
            tensor.dtype().scalar_type_name(),
            sizes.join(", ")
        )))
    }
}

impl Node {
    /// What the derivative reads of the results, as tensors that this node made.
    pub(crate) fn results(self: &Rc<Self>, saved: &Saved) -> Vec<IValue> {
        let mut output = 0;
        let mut again = |value: &IValue| match value {
            IValue::Tensor(tensor) => {
                let made = tensor.alias();
                // Indices have no gradients.
                if is_differentiable(tensor.dtype()) {
                    let origin = Origin { node: Rc::clone(self), output };
                    *meta_of(&made).origin.borrow_mut() = Some(origin);
                }
                output += 1;
                IValue::Tensor(made)
            }
            other => {
                output += 1;
                other.clone()
            }
        };
        saved
            .results
            .iter()
            .map(|result| match result {
                IValue::List(list) => {
                    let list = list.read();
                    let items = list.items.iter().map(&mut again).collect();
                    IValue::list(list.element.clone(), items)
                }
                one => again(one),
            })
            .collect()
    }
}

/// The autograd metadata of a tensor, which all its clones share.
#[derive(Default)]
pub(crate) struct AutogradMeta {
    /// Whether a gradient is asked for, where nothing has made the tensor.
    pub(crate) is_wanted: Cell<bool>,
    /// The node that made it.
    pub(crate) origin: RefCell<Option<Origin>>,
    /// `Tensor.grad`.
    pub(crate) grad: RefCell<Option<Tensor>>,
    /// What it is a view of.
    pub(crate) view: RefCell<Option<View>>,
    /// How often it got another origin: its views then have others, too.
    pub(crate) changes: Cell<u32>,
}

/// A result of a node.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) node: Rc<Node>,
    pub(crate) output: usize,
}

/// What a view shows.
#[derive(Clone)]
pub(crate) struct View {
    /// The tensor that is itself no view.
    pub(crate) base: Tensor,
    /// [`AutogradMeta::changes`] of the base when the view's origin was found.
    pub(crate) seen: u32,
}

/// The autograd metadata of a tensor, if it has one.
pub(crate) fn meta(tensor: &Tensor) -> Option<Rc<AutogradMeta>> {
    Rc::clone(tensor.attachment()?).downcast().ok()
}

/// The autograd metadata of a tensor.
pub(crate) fn meta_of(tensor: &Tensor) -> Rc<AutogradMeta> {
    let attached = Rc::clone(tensor.attachment_or(|| Rc::new(AutogradMeta::default())));
    // Nobody else attaches anything to run-time tensors.
    attached.downcast().unwrap_or_default()
}

/// The tensors of a value that is one, or a list or tuple of some, with their places in it.
pub(crate) fn each_tensor(value: &IValue, look: &mut impl FnMut(usize, &Tensor)) {
    let mut items = |items: &[IValue]| {
        for (place, item) in items.iter().enumerate() {
            if let IValue::Tensor(tensor) = item {
                look(place, tensor);
            }
        }
    };
    match value {
        IValue::List(list) => items(&list.read().items),
        IValue::Tuple(tuple) => items(&tuple.items),
        one => items(std::slice::from_ref(one)),
    }
}

pub(crate) fn is_differentiable(dtype: DType) -> bool {
    dtype.is_floating_point() || dtype.is_complex()
}

/// Nodes form chains of any length, which are taken apart without recursion.
impl Drop for Node {
    fn drop(&mut self) {
        let mut pending = std::mem::take(&mut self.edges);
        self.saved.take();
        while let Some(edge) = pending.pop() {
            if let Source::Node(node, _) = edge.source
                && let Ok(mut node) = Rc::try_unwrap(node)
            {
                pending.append(&mut node.edges);
            }
        }
    }
}
