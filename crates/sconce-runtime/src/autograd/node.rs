//! A recorded call of an operator.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use sconce_kernels::{DType, Dims, Storage, Tensor};

use crate::autograd::autograd_meta::{self, AutogradMeta, Origin};
use crate::autograd::formula::Rule;
use crate::autograd::record::is_differentiable;
use crate::error::Raise;
use crate::value::ivalue::IValue;

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
        crate::autograd::record::each_tensor(value, &mut |_, tensor| {
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
                    *autograd_meta::of(&made).origin.borrow_mut() = Some(origin);
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
