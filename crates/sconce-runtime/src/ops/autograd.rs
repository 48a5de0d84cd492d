//! Operators that ask for gradients, and those that tell of them.
//!
//! Where a program asks for none, nothing is recorded, and programs run as under `torch.no_grad()`.

use sconce_ir::Type;
use sconce_kernels::Tensor;

use crate::autograd::{self, Backward, run_backward};
use crate::error::Raise;
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::overlap::OverlapRule;
use crate::ops::descriptor::{Table, op};
use crate::value::IValue::{self, Bool};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::grad", "-", |context, args| grad(context, &args)),
    op("aten::backward", "- TensorList", |context, args| backward(context, &args)),
    op("aten::requires_grad_", "-", |context, mut args| {
        let wanted = args.bool(1)?;
        match context.autograd().recording {
            true => autograd::require(args.tensor(0)?, wanted)?,
            // What is computed is the same with and without gradients.
            false => context.autograd_mut().wanted |= wanted,
        }
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::retain_grad", "-", |context, args| {
        told(context)?;
        autograd::retain(context, args.tensor(0)?).map(|()| IValue::None)
    }),
    op("aten::retains_grad", "-", |context, args| {
        told(context)?;
        Ok(Bool(autograd::is_retained(args.tensor(0)?)))
    }),
    op("aten::is_leaf", "-", |context, args| {
        let tensor = args.tensor_or_nested(0)?;
        Ok(Bool(!told(context)? || autograd::is_leaf(tensor)))
    }),
    op("prim::requires_grad", "-", |context, args| {
        let tensor = args.tensor_or_nested(0)?;
        Ok(Bool(told(context)? && autograd::requires_grad(tensor)))
    }),
    op("prim::grad", "-", |context, args| {
        let tensor = args.tensor(0)?;
        let grad = if told(context)? { autograd::accumulated(tensor) } else { None };
        Ok(grad.map_or(IValue::None, IValue::Tensor))
    }),
    op("aten::detach", "-", detach),
    op("aten::data", "-", detach),
    op("prim::data", "-", detach),
    op("aten::detach_", "-", |context, mut args| {
        if context.autograd().recording {
            autograd::detach_in_place(args.tensor(0)?)?;
        }
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::is_grad_enabled", "-", |context, _| Ok(Bool(context.autograd().enabled))),
    op("aten::set_grad_enabled", "-", |context, args| {
        context.autograd_mut().enabled = args.bool(0)?;
        context.autograd_mut().wanted |=
            context.autograd().enabled && !context.autograd().recording;
        Ok(IValue::None)
    }),
];

/// The same elements without what is recorded of them.
fn detach(_: &mut dyn OpContext, mut args: Args<'_>) -> Result {
    match args.get(0) {
        IValue::Tensor(tensor) => Ok(IValue::Tensor(tensor.alias())),
        _ => Ok(args.take(0)),
    }
}

/// Whether gradients are recorded; an error where the program has asked for that, and they are not.
fn told(context: &dyn OpContext) -> Result<bool> {
    match context.autograd().wanted {
        false => Ok(context.autograd().recording),
        true => Err(Raise::unsupported("recording gradients")),
    }
}

/// `torch.autograd.grad`.
fn grad(context: &mut dyn OpContext, args: &Args<'_>) -> Result {
    let (outputs, inputs) = (args.tensors(0)?, args.tensors(1)?);
    let is_recorded = args.bool(4)?;
    let asked = Backward {
        outputs: &outputs,
        gradients: &given(args, 2)?,
        inputs: Some(&inputs),
        keeps: kept(args, 3, is_recorded)?,
        is_recorded,
    };
    let found = run_backward(context, &asked)?;
    if let (Some(unused), false) = (found.iter().position(Option::is_none), args.bool(5)?) {
        // PyTorch has no space there.
        return Err(Raise::message(format!(
            "element {unused}of the differentiated Tensors appears to not have been used in the graph. \
             Set allow_unused=True if this is the desired behavior."
        )));
    }
    let items = found.into_iter().map(|grad| grad.map_or(IValue::None, IValue::Tensor)).collect();
    Ok(IValue::list(Type::optional(Type::Tensor), items))
}

/// `Tensor.backward` and `torch.autograd.backward`.
fn backward(context: &mut dyn OpContext, args: &Args<'_>) -> Result {
    let (outputs, gradients): (Vec<Tensor>, Vec<Option<Tensor>>) = match args.get(0) {
        IValue::List(_) => (args.tensors(0)?, given(args, 1)?),
        _ => (vec![args.tensor(0)?.clone()], vec![args.optional_tensor(1)?.cloned()]),
    };
    let is_recorded = args.bool(3)?;
    let keeps = kept(args, 2, is_recorded)?;
    let (outputs, gradients) = (&outputs, &gradients);
    run_backward(context, &Backward { outputs, gradients, inputs: None, keeps, is_recorded })?;
    Ok(IValue::None)
}

/// Gradients of outputs, if any are given.
fn given(args: &Args<'_>, index: usize) -> Result<Vec<Option<Tensor>>> {
    if args.get(index).is_none() { Ok(Vec::new()) } else { args.optional_tensors(index) }
}

/// Whether the graph is kept: if it says so, or else where gradients are recorded.
fn kept(args: &Args<'_>, index: usize, is_recorded: bool) -> Result<bool> {
    if args.get(index).is_none() { Ok(is_recorded) } else { args.bool(index) }
}
