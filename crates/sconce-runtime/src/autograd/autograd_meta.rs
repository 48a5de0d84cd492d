//! What a tensor remembers of how it was made.

use std::rc::{Rc, Weak};

use sconce_kernels as kernels;
use sconce_kernels::Tensor;

use crate::autograd::graph::{self, AutogradMeta};
use crate::autograd::record::views::{self, requires_grad};
use crate::error::{Raise, kernel};
use crate::op_context::OpContext;

/// Asks for the gradient of a parameter.
pub(crate) fn want(parameter: &Tensor) {
    graph::meta_of(parameter).is_wanted.set(true);
}

/// `Tensor.requires_grad_`.
pub(crate) fn require(tensor: &Tensor, wanted: bool) -> Result<(), Raise> {
    let dtype = tensor.dtype();
    if wanted && !(dtype.is_floating_point() || dtype.is_complex()) {
        let message = "Only Tensors of floating point and complex dtype can require gradients";
        return Err(Raise::message(message));
    }
    if requires_grad(tensor) && !is_leaf(tensor) {
        return match wanted {
            true => Ok(()),
            false => Err(Raise::message(
                "you can only change requires_grad flags of leaf variables. If you want to use a \
                 computed variable in a subgraph that doesn't require differentiation use \
                 var_no_grad = var.detach().",
            )),
        };
    }
    if wanted || graph::meta(tensor).is_some() {
        graph::meta_of(tensor).is_wanted.set(wanted);
    }
    Ok(())
}

/// `Tensor.is_leaf`.
pub(crate) fn is_leaf(tensor: &Tensor) -> bool {
    !requires_grad(tensor) || graph::meta(tensor).is_some_and(|meta| meta.is_wanted.get())
}

/// `Tensor.detach_`.
pub(crate) fn detach_in_place(tensor: &Tensor) -> Result<(), Raise> {
    let Some(meta) = graph::meta(tensor) else { return Ok(()) };
    if meta.view.borrow().is_some() {
        return Err(Raise::message(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel \
             (DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of DDP \
             buckets, and hence detach_() cannot be called on these gradients.",
        ));
    }
    meta.is_wanted.set(false);
    meta.origin.take();
    Ok(())
}

/// `Tensor.grad`.
pub(crate) fn accumulated(tensor: &Tensor) -> Option<Tensor> {
    graph::meta(tensor)?.grad.borrow().clone()
}

/// `Tensor.retain_grad`.
pub(crate) fn retain(context: &mut dyn OpContext, tensor: &Tensor) -> Result<(), Raise> {
    if !requires_grad(tensor) {
        let message = "can't retain_grad on Tensor that has requires_grad=False";
        return Err(Raise::message(message));
    }
    let meta = graph::meta_of(tensor);
    views::refresh(context, tensor, &meta)?;
    if let Some(origin) = &*meta.origin.borrow() {
        let retained: (usize, Weak<AutogradMeta>) = (origin.output, Rc::downgrade(&meta));
        origin.node.retained.borrow_mut().push(retained);
    }
    Ok(())
}

/// `Tensor.retains_grad`.
pub(crate) fn is_retained(tensor: &Tensor) -> bool {
    let Some(meta) = graph::meta(tensor) else { return false };
    let origin = meta.origin.borrow();
    origin.as_ref().is_some_and(|origin| {
        let retained = origin.node.retained.borrow();
        retained.iter().any(|(_, of)| std::ptr::eq(of.as_ptr(), Rc::as_ptr(&meta)))
    })
}

impl AutogradMeta {
    /// Adds to `Tensor.grad`, in place where no gradient of it can be asked for.
    pub(crate) fn accumulate(
        &self,
        context: &mut dyn OpContext,
        gradient: &Tensor,
        is_recorded: bool,
    ) -> Result<(), Raise> {
        let before = self.grad.borrow().clone();
        let sum = match before {
            None if is_recorded => gradient.clone(),
            None => gradient.copy().map_err(kernel)?,
            Some(before) if is_recorded => {
                crate::autograd::record::add(context, &before, gradient)?
            }
            Some(before) => {
                let sum = kernels::add((&before).into(), gradient.into(), 1.into());
                kernels::store(&before, &sum.map_err(kernel)?).map_err(kernel)?;
                return Ok(());
            }
        };
        *self.grad.borrow_mut() = Some(sum);
        Ok(())
    }
}
