//! Operators that are others in another coat: in place, with `out=`, and under a second name.
//!
//! `aten::add_.Tensor` computes what `aten::add.Tensor` computes and stores it in its first operand;
//! `aten::add.out` stores it in its last one; `aten::multiply.Tensor` is `aten::mul.Tensor`. Which
//! operator one comes from is read off the schemas: same operands, but for those written to. Only
//! operators without an entry of their own are looked for here.

use sconce_ir::operators;
use sconce_ir::{Argument, Schema};
use sconce_kernels::{self as kernels, Tensor};

use super::tensor_args::kernel;
use super::{Args, Builtin};
use crate::error::Raise;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

/// Where a result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// To the program.
    Value,
    /// Into the first operand, which is also given back.
    FirstOperand,
    /// Into so many tensors after the operands, which are given back.
    Last(usize),
}

/// In-place operators that change what their tensor looks like, not what it holds: nobody else who
/// holds the tensor would see that here.
const OF_SHAPE: &[&str] = &[
    "aten::squeeze_",
    "aten::unsqueeze_",
    "aten::t_",
    "aten::transpose_",
    "aten::swapaxes_",
    "aten::swapdims_",
    "aten::as_strided_",
    "aten::detach_",
];

/// The operator that a name without an entry stands for.
pub(super) fn find(symbol: &str, overload: &str) -> Option<Builtin> {
    let schema = &operators::find(symbol, overload)?.schema;
    in_place(symbol, schema).or_else(|| with_out(symbol, schema)).or_else(|| alias(symbol, schema))
}

fn in_place(symbol: &str, schema: &Schema) -> Option<Builtin> {
    let base = symbol.strip_suffix('_').filter(|base| !base.ends_with('_'))?;
    if OF_SHAPE.contains(&symbol) || !written(schema.arguments.first()?) {
        return None;
    }
    let run = functional(base, &schema.arguments)?.run;
    Some(Builtin { run, quick: None, target: Target::FirstOperand })
}

fn with_out(symbol: &str, schema: &Schema) -> Option<Builtin> {
    let outs = schema.arguments.iter().rev().take_while(|argument| written(argument)).count();
    let operands = schema.arguments.get(..schema.arguments.len().checked_sub(outs)?)?;
    if outs == 0 || operands.is_empty() {
        return None;
    }
    let run = functional(symbol, operands)?.run;
    Some(Builtin { run, quick: None, target: Target::Last(outs) })
}

fn alias(symbol: &str, schema: &Schema) -> Option<Builtin> {
    let name = symbol.strip_prefix("aten::")?;
    let base = format!("aten::{}", operators::normal_name(name)?);
    let same = |other: &&operators::Operator| {
        let (a, b) = (&other.schema.arguments, &schema.arguments);
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.ty == b.ty)
    };
    let operator = operators::named(&base).iter().find(same)?;
    super::find(&operator.schema.name, &operator.schema.overload)
}

fn written(argument: &Argument) -> bool {
    argument.alias.as_ref().is_some_and(|alias| alias.is_write)
}

/// The registered operator of these operands that gives new tensors.
fn functional(symbol: &str, operands: &[Argument]) -> Option<Builtin> {
    let same = |a: &Argument, b: &Argument| a.name == b.name && a.ty == b.ty;
    let fits = |schema: &Schema| {
        schema.arguments.len() == operands.len()
            && schema.arguments.iter().zip(operands).all(|(a, b)| same(a, b))
            && schema.returns.iter().all(|returned| returned.alias.is_none())
    };
    let mut fitting = operators::named(symbol).iter().filter(|operator| fits(&operator.schema));
    fitting.find_map(|operator| {
        let (symbol, _) = super::OPERATORS.get_key_value(&(symbol, &*operator.schema.overload))?;
        super::OPERATORS.get(symbol).copied()
    })
}

impl Builtin {
    /// Computes it and puts the result where it belongs.
    pub(crate) fn call(self, machine: &mut super::Machine, args: Args<'_>) -> Result {
        match self.target {
            Target::Value => (self.run)(machine, args),
            Target::FirstOperand => {
                let target = args.tensor(0)?.clone();
                let result = (self.run)(machine, args)?;
                let IValue::Tensor(result) = &result else {
                    return Err(Raise::unsupported("an operator in place with several results"));
                };
                kernels::store(&target, result).map_err(kernel)?;
                Ok(IValue::Tensor(target))
            }
            Target::Last(count) => {
                let Args(values) = args;
                let (operands, outs) = values.split_at_mut(values.len().saturating_sub(count));
                let result = (self.run)(machine, Args(operands))?;
                let results: &[IValue] = match &result {
                    IValue::Tuple(tuple) => &tuple.items,
                    one => std::slice::from_ref(one),
                };
                if results.len() != outs.len() {
                    return Err(Raise::unsupported("out= with another number of results"));
                }
                for (out, result) in outs.iter().zip(results) {
                    let (IValue::Tensor(out), IValue::Tensor(result)) = (out, result) else {
                        return Err(Raise::unsupported("out= of what is no tensor"));
                    };
                    write_out(out, result)?;
                }
                match outs {
                    [one] => Ok(one.clone()),
                    several => Ok(IValue::tuple(several.to_vec())),
                }
            }
        }
    }
}

/// Stores a result in a tensor that already looks like it: PyTorch would change the tensor to fit,
/// which nobody else who holds it would see here.
fn write_out(out: &Tensor, result: &Tensor) -> Result<()> {
    if out.sizes() != result.sizes() || out.dtype() != result.dtype() {
        return Err(Raise::unsupported("out= with a tensor of other sizes or another dtype"));
    }
    out.copy_from(result).map_err(kernel)
}
