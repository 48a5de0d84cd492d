//! Operators that are others in another coat: in place, with `out=`, as a copy of a view, and under
//! a second name.
//!
//! `aten::add_.Tensor` computes what `aten::add.Tensor` computes and stores it in its first operand;
//! `aten::add.out` stores it in its last one; `aten::permute_copy` copies what `aten::permute`
//! shows; `aten::multiply.Tensor` is `aten::mul.Tensor`. Which operator one comes from is read off
//! the schemas: same operands, but for those written to. Only operators without an entry of their
//! own are looked for here.

use sconce_ir::{Argument, Schema, operators};
use sconce_kernels as kernels;
use sconce_kernels::Tensor;

use crate::error::{Raise, kernel};
use crate::op_context::{OpContext, Operands};
use crate::ops::custom::Custom;
use crate::ops::descriptor::overlap::{OverlapRule, check_elements_once};
use crate::ops::descriptor::size_guard;
use crate::ops::sparse;
use crate::ops::{Args, Builtin};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

/// Where a result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// To the program.
    Value,
    /// Into the first operand, which is also given back.
    FirstOperand,
    /// To the first operand, which from now on looks like it, and is given back.
    Looks,
    /// Into so many tensors after the operands, which are given back.
    Last(usize),
    /// Into the tensor after the operands, whose dtype it is computed in unless this operand gives
    /// another.
    LastInItsDType(usize),
    /// Into the tensor after the operands, whose dtype it is made in: of what makes tensors out of sizes.
    LastMade,
    /// To the program, as a copy: a tensor, or each of a list.
    Copy,
    /// To the program, from a function that was registered.
    Custom(&'static Custom),
}

/// In-place operators that change what their tensor looks like, not what it holds.
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

/// Operators that compute in the dtype of their `out=` where they are given none.
const IN_THEIR_DTYPE: &[&str] =
    &["aten::sum", "aten::nansum", "aten::mean", "aten::prod", "aten::cumsum", "aten::cumprod"];

/// The operator that a name without an entry stands for.
pub(crate) fn find(symbol: &str, overload: &str) -> Option<Builtin> {
    let schema = &operators::find(symbol, overload)?.schema;
    in_place(symbol, schema)
        .or_else(|| with_out(symbol, schema))
        .or_else(|| copied(symbol, &schema.arguments))
        .or_else(|| alias(symbol, schema))
}

fn in_place(symbol: &str, schema: &Schema) -> Option<Builtin> {
    let base = symbol.strip_suffix('_').filter(|base| !base.ends_with('_'))?;
    if !written(schema.arguments.first()?) {
        return None;
    }
    if OF_SHAPE.contains(&symbol) {
        let base = view(base, &schema.arguments)?;
        return Some(plain(base, Target::Looks));
    }
    let base = functional(base, &schema.arguments)?;
    Some(Builtin {
        overlap: OverlapRule::of_derived(symbol).checked(),
        ..plain(base, Target::FirstOperand)
    })
}

fn with_out(symbol: &str, schema: &Schema) -> Option<Builtin> {
    let outs = schema.arguments.iter().rev().take_while(|argument| written(argument)).count();
    let operands = schema.arguments.get(..schema.arguments.len().checked_sub(outs)?)?;
    if outs == 0 || operands.is_empty() {
        return None;
    }
    if let Some(made) = maker(symbol, operands) {
        return Some(plain(made, Target::LastMade));
    }
    let base = functional(symbol, operands).or_else(|| copied(symbol, operands))?;
    let target = match operands.iter().position(|operand| &*operand.name == "dtype") {
        Some(dtype) if IN_THEIR_DTYPE.contains(&symbol) => Target::LastInItsDType(dtype),
        _ => Target::Last(outs),
    };
    Some(plain(base, target))
}

/// What a tensor is made with beside what is in it.
const LOOKS: [&str; 4] = ["dtype", "layout", "device", "pin_memory"];

/// The operator that makes a tensor out of these operands and of how it is to look.
fn maker(symbol: &str, operands: &[Argument]) -> Option<Builtin> {
    let operator = operators::named(symbol).iter().find(|operator| {
        let (of, looks) =
            operator.schema.arguments.split_at(operands.len().min(operator.schema.arguments.len()));
        same_operands(of, operands) && looks.iter().map(|argument| &*argument.name).eq(LOOKS)
    })?;
    crate::ops::ROWS.get(&(&*operator.schema.name, &*operator.schema.overload)).copied()
}

/// Another operator with its result elsewhere.
fn plain(base: Builtin, target: Target) -> Builtin {
    let (run, sparse) = (base.run, base.sparse);
    let (fast_path, strides, overlap) = (None, None, None);
    Builtin {
        run,
        fast_path,
        strides,
        overlap,
        size_guard: false,
        target,
        sparse,
        sparse_in_place: false,
    }
}

/// `NAME_copy` of an operator whose result is a view of its operand.
fn copied(symbol: &str, operands: &[Argument]) -> Option<Builtin> {
    let base = view(symbol.strip_suffix("_copy")?, operands)?;
    Some(plain(base, Target::Copy))
}

/// The operator of these operands that gives a view.
fn view(symbol: &str, operands: &[Argument]) -> Option<Builtin> {
    let shows = |schema: &Schema| schema.returns.iter().any(|returned| returned.alias.is_some());
    let mut views = operators::named(symbol).iter().filter(|operator| {
        same_operands(&operator.schema.arguments, operands) && shows(&operator.schema)
    });
    views.find_map(|operator| crate::ops::find(&operator.schema.name, &operator.schema.overload))
}

/// Whether an operator may change what a tensor that it is given looks like.
pub(crate) fn changes_looks(schema: &Schema) -> bool {
    let symbol = &*schema.name;
    let own = [
        "aten::resize_",
        "aten::resize_as_",
        "aten::set_",
        "aten::set_data",
        "aten::fused_moving_avg_obs_fake_quant",
        "aten::_fused_moving_avg_obs_fq_helper",
    ];
    let has_out = schema.arguments.last().is_some_and(|last| last.kwarg_only && written(last));
    OF_SHAPE.contains(&symbol) || own.contains(&symbol) || has_out
}

fn alias(symbol: &str, schema: &Schema) -> Option<Builtin> {
    let name = symbol.strip_prefix("aten::")?;
    let base = format!("aten::{}", operators::normal_name(name)?);
    let same = |other: &&operators::Operator| {
        let (a, b) = (&other.schema.arguments, &schema.arguments);
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.ty == b.ty)
    };
    let operator = operators::named(&base).iter().find(same)?;
    crate::ops::find(&operator.schema.name, &operator.schema.overload)
}

fn written(argument: &Argument) -> bool {
    argument.alias.as_ref().is_some_and(|alias| alias.is_write)
}

/// The registered operator of these operands that gives new tensors.
fn functional(symbol: &str, operands: &[Argument]) -> Option<Builtin> {
    let fits = |schema: &Schema| {
        same_operands(&schema.arguments, operands)
            && schema.returns.iter().all(|returned| returned.alias.is_none())
    };
    let mut fitting = operators::named(symbol).iter().filter(|operator| fits(&operator.schema));
    fitting.find_map(|operator| {
        let (symbol, _) = crate::ops::ROWS.get_key_value(&(symbol, &*operator.schema.overload))?;
        crate::ops::ROWS.get(symbol).copied()
    })
}

fn same_operands(a: &[Argument], b: &[Argument]) -> bool {
    let same = |(a, b): (&Argument, &Argument)| a.name == b.name && a.ty == b.ty;
    a.len() == b.len() && a.iter().zip(b).all(same)
}

impl Builtin {
    /// Computes it and puts the result where it belongs.
    pub(crate) fn call(self, context: &mut dyn OpContext, args: Args<'_>) -> Result {
        if let Some(rule) = self.sparse
            && args.0.iter().any(IValue::is_sparse)
        {
            return self.call_sparse(rule, context, args);
        }
        if self.size_guard {
            size_guard::check(&args)?;
        }
        if let Some(rule) = self.overlap {
            rule.check(&args)?;
        }
        match self.target {
            Target::Value => match self.strides.and_then(|rule| rule.strides(&args)) {
                None => (self.run)(context, args),
                Some(strides) => strides.lay_out((self.run)(context, args)?),
            },
            Target::FirstOperand => {
                let target = args.tensor(0)?.clone();
                let result = (self.run)(context, args)?;
                let IValue::Tensor(result) = &result else {
                    return Err(Raise::unsupported("an operator in place with several results"));
                };
                kernels::store(&target, result).map_err(kernel)?;
                Ok(IValue::Tensor(target))
            }
            Target::Custom(custom) => custom.call(context, &args),
            Target::Looks => {
                let target = args.tensor(0)?.clone();
                let result = (self.run)(context, args)?;
                let IValue::Tensor(result) = &result else {
                    return Err(Raise::unsupported("an operator of shape with several results"));
                };
                target.show(result).map_err(kernel)?;
                Ok(IValue::Tensor(target))
            }
            Target::Copy => {
                let copy = |view: &IValue| match view {
                    IValue::Tensor(view) => view.copy().map(IValue::Tensor).map_err(kernel),
                    _ => Err(Raise::unsupported("a copy of what is not a tensor")),
                };
                match (self.run)(context, args)? {
                    IValue::List(views) => {
                        let items = views.read().items.iter().map(copy).collect::<Result<_>>()?;
                        Ok(IValue::list(sconce_ir::Type::Tensor, items))
                    }
                    view => copy(&view),
                }
            }
            Target::LastInItsDType(dtype) => {
                let Args(values) = args;
                let out = values.last().and_then(IValue::as_tensor).map(Tensor::dtype);
                if let (Some(out), Some(given @ IValue::None)) = (out, values.get_mut(dtype)) {
                    *given = IValue::Int(out.scalar_type_number().into());
                }
                let target = Target::Last(1);
                Builtin { target, ..self }.call(context, Args(values))
            }
            Target::LastMade => {
                let out = args.tensor(args.len() - 1)?.clone();
                let mut given: Operands = args.0.iter().take(args.len() - 1).cloned().collect();
                given.push(IValue::Int(out.dtype().scalar_type_number().into()));
                given.extend([IValue::None, IValue::None, IValue::None]);
                let IValue::Tensor(made) = (self.run)(context, Args(&mut given))? else {
                    return Err(Raise::unsupported("out= of what is not a tensor"));
                };
                write_out(context, &out, &made)?;
                Ok(IValue::Tensor(out))
            }
            Target::Last(count) => {
                let Args(values) = args;
                let (operands, outs) = values.split_at_mut(values.len().saturating_sub(count));
                let result = (self.run)(context, Args(operands))?;
                let results: &[IValue] = match &result {
                    IValue::Tuple(tuple) => &tuple.items,
                    one => std::slice::from_ref(one),
                };
                if results.len() != outs.len() {
                    return Err(Raise::unsupported("out= with another number of results"));
                }
                for (out, result) in outs.iter().zip(results) {
                    let (IValue::Tensor(out), IValue::Tensor(result)) = (out, result) else {
                        return Err(Raise::unsupported("out= of what is not a tensor"));
                    };
                    write_out(context, out, result)?;
                }
                match outs {
                    [one] => Ok(one.clone()),
                    several => Ok(IValue::tuple(several.to_vec())),
                }
            }
        }
    }
}

impl Builtin {
    /// The same where an operand is sparse.
    fn call_sparse(
        self,
        rule: sparse::SparseRule,
        context: &mut dyn OpContext,
        args: Args<'_>,
    ) -> Result {
        let Args(values) = args;
        let outs = if let Target::Last(outs) = self.target { outs } else { 0 };
        let (operands, outs) = values.split_at_mut(values.len().saturating_sub(outs));
        let first = operands.first().cloned().unwrap_or_default();
        let result = rule.run(self.run, context, Args(operands))?;
        let target = match (self.target, outs) {
            (Target::Value, _) if !self.sparse_in_place => return Ok(result),
            (Target::Copy, _) => return sparse::copy(&result),
            (Target::FirstOperand | Target::Looks | Target::Value, _) => first,
            (Target::Last(1), [out]) => out.clone(),
            _ => return Err(Raise::unsupported("out= of sparse tensors here")),
        };
        match (&target, &result) {
            (IValue::Sparse(into), IValue::Sparse(made)) => sparse::store(into, made)?,
            (IValue::Tensor(into), IValue::Tensor(made)) => match self.target {
                Target::Last(_) => write_out(context, into, made)?,
                _ => kernels::store(into, made).map_err(kernel)?,
            },
            _ => return Err(Raise::unsupported("a result of another layout than where it goes")),
        }
        Ok(target)
    }
}

/// Stores a result in a tensor, which takes the result's sizes.
fn write_out(context: &mut dyn OpContext, out: &Tensor, result: &Tensor) -> Result<()> {
    kernels::check_cast(result.dtype(), out.dtype()).map_err(kernel)?;
    if out.sizes() != result.sizes() {
        if out.numel() != 0 {
            context.warn(&format!(
                "An output with one or more elements was resized since it had shape {:?}, which does \
                 not match the required output shape {:?}. This behavior is deprecated, and in a \
                 future PyTorch release outputs will not be resized unless they have zero elements. \
                 You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements \
                 with t.resize_(0).",
                out.sizes(),
                result.sizes()
            ));
        }
        out.resize(result.sizes()).map_err(kernel)?;
    }
    check_elements_once(out)?;
    out.copy_from(result).map_err(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_under_all_their_coats() {
        let cases = [
            ("aten::heaviside_", "", Target::FirstOperand),
            ("aten::add", "out", Target::Last(1)),
            ("aten::max", "dim_max", Target::Last(2)),
            ("aten::sum", "IntList_out", Target::LastInItsDType(3)),
            ("aten::multiply", "Tensor", Target::Value),
            ("aten::squeeze_", "dim", Target::Looks),
            ("aten::transpose_", "", Target::Looks),
            ("aten::swapaxes_", "", Target::Looks),
            ("aten::as_strided_", "", Target::Looks),
            ("aten::permute_copy", "", Target::Copy),
            ("aten::slice_copy", "Tensor", Target::Copy),
            ("aten::unbind_copy", "int", Target::Copy),
            ("aten::split_with_sizes_copy", "", Target::Copy),
            ("aten::view_as_real_copy", "", Target::Copy),
            ("aten::expand_copy", "out", Target::Last(1)),
            ("aten::zeros", "out", Target::LastMade),
            ("aten::arange", "start_out", Target::LastMade),
        ];
        let differing = cases.iter().filter(|(symbol, overload, target)| {
            crate::ops::find(symbol, overload).map(|found| found.target) != Some(*target)
        });
        assert_eq!(differing.collect::<Vec<_>>(), [&cases[0]; 0]);
        assert!(copied("aten::index_copy", &[]).is_none());
    }

    #[test]
    fn what_changes_sizes_is_told_from_what_writes() {
        for (symbol, overload, changes) in [
            ("aten::unsqueeze_", "", true),
            ("aten::resize_", "", true),
            ("aten::add", "out", true),
            ("aten::add_", "Tensor", false),
            ("aten::relu_", "", false),
            ("aten::add", "Tensor", false),
        ] {
            let schema = &operators::find(symbol, overload).unwrap().schema;
            assert_eq!(changes_looks(schema), changes, "{symbol}.{overload}");
        }
    }
}
