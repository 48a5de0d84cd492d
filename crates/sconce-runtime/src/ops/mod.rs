//! The operators: for each full name, the function that computes it.
//!
//! A table has a line for each symbol: the overloads that one function serves (`-` for the one
//! without a name) and the function. What the operands are is what the schema says, so one function
//! can tell ints from floats by looking.

pub(crate) mod assertions;
pub(crate) mod autograd;
pub(crate) mod backward;
pub(crate) mod custom;
pub(crate) mod descriptor;
pub(crate) mod elementwise;
pub(crate) mod fused;
pub(crate) mod indexing;
pub(crate) mod linalg;
pub(crate) mod nn;
pub(crate) mod products;
pub(crate) mod python;
pub(crate) mod quantized;
pub(crate) mod random;
pub(crate) mod reduction;
pub(crate) mod shape;
pub(crate) mod sorting;
pub(crate) mod sparse;
pub(crate) mod special;
pub(crate) mod tensor;
pub(crate) mod torchaudio;
pub(crate) mod torchvision;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::ops::descriptor::fusion::FusedStep;
use crate::ops::descriptor::{Steps, Table};
use crate::value::IValue;

pub(crate) use crate::ops::descriptor::Builtin;

pub(crate) use crate::ops::descriptor::args::Args;
pub(crate) use crate::ops::descriptor::fast_path::BorrowedArg;
pub(crate) use crate::ops::descriptor::fast_path::MAX_BORROWED;

const TABLES: &[Table] = &[
    python::numbers::TABLE,
    python::math::TABLE,
    python::casts::TABLE,
    python::strings::TABLE,
    python::lists::TABLE,
    python::sort_lists::TABLE,
    python::dicts::TABLE,
    python::objects::TABLE,
    tensor::attributes::TABLE,
    autograd::TABLE,
    python::nested_lists::TABLE,
    random::TABLE,
    nn::recurrent::TABLE,
    nn::attention::TABLE,
    backward::TABLE,
    nn::embedding::TABLE,
    nn::loss::TABLE,
    elementwise::arithmetic::TABLE,
    tensor::views::TABLE,
    nn::bilinear::TABLE,
    nn::conv::TABLE,
    fused::blocked_layout::TABLE,
    fused::conv3d::TABLE,
    fused::pointwise::TABLE,
    fused::layers::TABLE,
    fused::integer_layers::TABLE,
    tensor::creation::TABLE,
    indexing::TABLE,
    elementwise::functions::TABLE,
    reduction::cumulative::TABLE,
    reduction::differences::TABLE,
    reduction::histogram::TABLE,
    reduction::min_max::TABLE,
    reduction::norms::TABLE,
    reduction::segment_reduce::TABLE,
    reduction::softmax::TABLE,
    reduction::statistics::TABLE,
    reduction::sums::TABLE,
    sorting::TABLE,
    shape::TABLE,
    special::TABLE,
    elementwise::complex::TABLE,
    tensor::windows::TABLE,
    products::TABLE,
    #[cfg(feature = "linalg")]
    linalg::fft::TABLE,
    #[cfg(feature = "linalg")]
    linalg::factorizations::TABLE,
    quantized::fake_quantize::TABLE,
    quantized::layers::TABLE,
    quantized::embedding::TABLE,
    quantized::arithmetic::TABLE,
    quantized::recurrent::TABLE,
    quantized::weight_only::TABLE,
    elementwise::activation::TABLE,
    tensor::internal_operators::TABLE,
    nn::slow_conv::TABLE,
    nn::legacy_interpolate::TABLE,
    nn::norm::TABLE,
    nn::pool::TABLE,
    nn::xnnpack::TABLE,
    python::profiler::TABLE,
    torchvision::TABLE,
    nn::resample::TABLE,
    assertions::TABLE,
    sparse::TABLES[0],
    sparse::TABLES[1],
    sparse::TABLES[2],
    sparse::TABLES[3],
];

/// The operators that have a row of their own.
static ROWS: LazyLock<FxHashMap<(&str, &str), Builtin>> = LazyLock::new(|| {
    let rows = TABLES.iter().flat_map(|table| table.iter());
    rows.flat_map(|row| {
        row.overload_names().map(|overload| {
            let sparse = sparse::rule(row.symbol, overload);
            ((row.symbol, overload), Builtin { sparse, ..row.operator() })
        })
    })
    .collect()
});

/// The steps that operators may be computed as in a fused element-wise operator, those of one operator side by
/// side.
pub(crate) static FUSED_STEPS: LazyLock<Vec<FusedStep>> = LazyLock::new(|| {
    let rows = TABLES.iter().flat_map(|table| table.iter());
    rows.flat_map(|row| {
        row.fusions.iter().map(|&fusion| FusedStep {
            symbol: row.symbol,
            overloads: row.overloads,
            fusion,
        })
    })
    .collect()
});

/// The fused operators whose steps are known.
static STEPS: LazyLock<FxHashMap<&str, Steps>> = LazyLock::new(|| {
    let rows = TABLES.iter().flat_map(|table| table.iter());
    rows.filter_map(|row| Some((row.symbol, row.steps?))).collect()
});

/// What a fused operator computes, by its operands that are constants; nothing for other operators.
pub(crate) fn fused_steps(symbol: &str, operands: &[Option<&IValue>]) -> Vec<&'static str> {
    STEPS.get(symbol).map(|steps| steps(operands)).unwrap_or_default()
}

/// The symbol of an operator that has a row of its own.
pub(crate) fn symbol_of_row(symbol: &str) -> Option<&'static str> {
    ROWS.keys().map(|&(known, _)| known).find(|known| *known == symbol)
}

/// The operator of a symbol such as `aten::add` and an overload such as `int`: its own line of a
/// table, or that of the operator it comes from.
pub(crate) fn find(symbol: &str, overload: &str) -> Option<Builtin> {
    let found = ROWS.get(&(symbol, overload)).copied();
    let derived = || descriptor::derived::find(symbol, overload);
    let Some(builtin) = found.or_else(derived) else { return custom::find(symbol, overload) };
    let schema = sconce_ir::operators::find(symbol, overload);
    // An operator in place that has a row of its own takes sparse tensors as the one without `_` does.
    let own = sparse::rule(symbol, overload).or(builtin.sparse);
    let of_base = symbol.strip_suffix('_').and_then(|base| sparse::rule(base, overload));
    Some(Builtin {
        size_guard: schema.is_none_or(|known| descriptor::size_guard::matters(&known.schema)),
        sparse: own.or(of_base),
        sparse_in_place: own.is_none() && of_base.is_some(),
        ..builtin
    })
}

pub(crate) use crate::ops::descriptor::derived::changes_looks;
pub(crate) use crate::ops::fused::blocked_layout::Unblocked;
pub(crate) use crate::ops::fused::conv3d::{CONV3D_PACKED, MAX_PLANAR};
pub(crate) use crate::ops::fused::integer_layers::INTEGER_LINEAR;
pub(crate) use crate::ops::fused::integer_layers::OF_CODES;
pub(crate) use crate::ops::fused::integer_layers::RESULT_DTYPE as INTEGER_RESULT_DTYPE;
pub(crate) use crate::ops::fused::integer_layers::TO_CODES;
pub(crate) use crate::ops::fused::layers::ACTIVATIONS;
pub(crate) use crate::ops::fused::layers::ENCODER_LAYER_PACKED;
pub(crate) use crate::ops::fused::layers::ENCODER_WEIGHTS;
pub(crate) use crate::ops::fused::layers::GATHERED_LINEAR;
pub(crate) use crate::ops::fused::layers::HEAD_WEIGHTS;
pub(crate) use crate::ops::fused::layers::LINEAR_PACKED;
pub(crate) use crate::ops::fused::layers::MANY_HEADS_PACKED;
pub(crate) use crate::ops::fused::pointwise::MAX_STEPS as MAX_FUSED_STEPS;
pub(crate) use crate::ops::fused::pointwise::POINTWISE;
pub(crate) use crate::ops::nn::recurrent::PACKED as RECURRENT_PACKED;
pub(crate) use crate::ops::nn::recurrent::Packed as RecurrentPacked;
pub(crate) use crate::ops::products::SUM_WITH_PRODUCT;
pub(crate) use crate::ops::python::nested_lists::to_list;
pub(crate) use crate::ops::python::numbers::floor_quotient;
pub(crate) use crate::ops::python::numbers::floor_rest;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_operators_that_pytorch_has_and_none_twice() {
        let (mut seen, mut unknown) = (rustc_hash::FxHashSet::default(), Vec::new());
        for row in TABLES.iter().flat_map(|table| table.iter()) {
            let symbol = row.symbol;
            for overload in row.overloads.split(' ') {
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
        for row in TABLES.iter().flat_map(|table| table.iter()) {
            let symbol = row.symbol;
            assert_eq!(sconce_ir::operators::forbidden::reason(symbol), None, "{symbol}");
        }
    }
}
