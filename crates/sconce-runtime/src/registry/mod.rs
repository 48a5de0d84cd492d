//! The operators: for each full name, the function that computes it.
//!
//! A table has a line for each symbol: the overloads that one function serves (`-` for the one
//! without a name) and the function. What the operands are is what the schema says, so one function
//! can tell ints from floats by looking.

mod activations;
mod args;
mod attention;
mod attributes;
mod backward;
mod blocked;
mod casts;
mod chains;
mod complex;
mod convolution;
mod creation;
mod derived;
mod dicts;
mod embeddings;
mod extent;
mod fake_quantize;
mod fourier;
mod fused;
mod gradients;
mod indexing;
mod layout;
mod linalg;
mod lists;
mod literals;
mod losses;
mod math;
mod misc;
mod natives;
mod normalisation;
mod numbers;
mod overlap;
mod pointwise;
mod pooling;
mod prepacked;
mod products;
mod profiler;
mod quantized;
mod quantized_embeddings;
mod quantized_math;
mod quantized_recurrent;
mod quick;
mod random;
mod recurrent;
mod reductions;
mod regions;
mod resampling;
mod shapes;
mod sorting;
mod special;
mod strings;
mod tensor_args;
mod tensor_layers;
mod tensor_math;
mod tensor_views;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::error::Raise;
use crate::interpreter::Machine;
use crate::value::IValue;
pub(crate) use args::Args;
pub(crate) use quick::{Lent, MOST_LENT};

/// What computes an operator.
pub(crate) type Run = fn(&mut Machine, Args<'_>) -> Result<IValue, Raise>;

/// An operator of the registry. What has several results gives them as a tuple.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Builtin {
    run: Run,
    pub(crate) quick: Option<quick::Quick>,
    layout: Option<layout::Layout>,
    overlap: Option<overlap::Rule>,
    /// Whether operands may be too large for it.
    extent: bool,
    target: derived::Target,
}

/// Symbol, overloads, function.
type Table = &'static [(&'static str, &'static str, Run)];

const TABLES: &[Table] = &[
    numbers::TABLE,
    math::TABLE,
    casts::TABLE,
    strings::TABLE,
    lists::TABLE,
    sorting::TABLE,
    dicts::TABLE,
    misc::TABLE,
    attributes::TABLE,
    gradients::TABLE,
    literals::TABLE,
    random::TABLE,
    recurrent::TABLE,
    attention::TABLE,
    backward::TABLE,
    embeddings::TABLE,
    losses::TABLE,
    tensor_math::TABLE,
    tensor_views::TABLE,
    tensor_layers::TABLE,
    convolution::TABLE,
    blocked::TABLE,
    chains::TABLE,
    fused::TABLE,
    creation::TABLE,
    indexing::TABLE,
    pointwise::TABLE,
    reductions::TABLE,
    shapes::TABLE,
    special::TABLE,
    complex::TABLE,
    fourier::TABLE,
    linalg::TABLE,
    products::TABLE,
    fake_quantize::TABLE,
    quantized::TABLE,
    quantized_embeddings::TABLE,
    quantized_math::TABLE,
    quantized_recurrent::TABLE,
    activations::TABLE,
    natives::TABLE,
    normalisation::TABLE,
    pooling::TABLE,
    prepacked::TABLE,
    profiler::TABLE,
    regions::TABLE,
    resampling::TABLE,
];

static OPERATORS: LazyLock<FxHashMap<(&str, &str), Builtin>> = LazyLock::new(|| {
    let lines = TABLES.iter().flat_map(|table| table.iter());
    lines
        .flat_map(|&(symbol, overloads, run)| {
            let plain = |overload| if overload == "-" { "" } else { overload };
            overloads.split(' ').map(move |overload| {
                let overload = plain(overload);
                let quick = quick::find(symbol, overload);
                let layout = layout::Layout::find(symbol, overload);
                let (overlap, target) = (overlap::Rule::find(symbol), derived::Target::Value);
                ((symbol, overload), Builtin { run, quick, layout, overlap, extent: false, target })
            })
        })
        .collect()
});

/// The operator of a symbol such as `aten::add` and an overload such as `int`: its own line of a
/// table, or that of the operator it comes from.
pub(crate) fn find(symbol: &str, overload: &str) -> Option<Builtin> {
    let found = OPERATORS.get(&(symbol, overload)).copied();
    let builtin = found.or_else(|| derived::find(symbol, overload))?;
    let schema = sconce_ir::operators::find(symbol, overload);
    Some(Builtin { extent: schema.is_none_or(|known| extent::matters(&known.schema)), ..builtin })
}

pub(crate) use chains::{MAX_STEPS as MAX_CHAIN_STEPS, POINTWISE, STEPS as CHAIN_STEPS};
pub(crate) use derived::changes_looks;
pub(crate) use fused::{ACTIVATIONS, ENCODER_LAYER_PACKED, ENCODER_WEIGHTS, LINEAR_PACKED};
pub(crate) use literals::to_list;
pub(crate) use numbers::{floor_quotient, floor_rest};
pub(crate) use products::SUM_WITH_PRODUCT;
pub(crate) use recurrent::{PACKED as RECURRENT_PACKED, Packed as RecurrentPacked};
pub(crate) use tensor_args::kernel;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_operators_that_pytorch_has_and_none_twice() {
        let (mut seen, mut unknown) = (rustc_hash::FxHashSet::default(), Vec::new());
        for &(symbol, overloads, _) in TABLES.iter().flat_map(|table| table.iter()) {
            for overload in overloads.split(' ') {
                let plain = if overload == "-" { "" } else { overload };
                let private = symbol.starts_with("sconce::");
                if !private && sconce_ir::operators::find(symbol, plain).is_none() {
                    unknown.push(format!("{symbol}.{overload}"));
                }
                assert!(seen.insert((symbol, plain)), "{symbol}.{overload} twice");
            }
        }
        assert!(unknown.is_empty(), "no operators: {unknown:?}");
    }

    #[test]
    fn what_reaches_outside_is_never_registered() {
        for &(symbol, ..) in TABLES.iter().flat_map(|table| table.iter()) {
            assert_eq!(sconce_ir::operators::forbidden::reason(symbol), None, "{symbol}");
        }
    }
}
