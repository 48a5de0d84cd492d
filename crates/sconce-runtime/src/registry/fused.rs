//! Operators that no program has: passes put them in the place of others.

use sconce_kernels::{self as kernels, BinaryOp, ChainOp, ChainStep, LinearActivation, UnaryOp};

use super::tensor_args::{kernel, made};
use super::Table;
use crate::error::Raise;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

/// `input, packed weight, weight, bias, place in ACTIVATIONS or -1`.
pub(crate) const LINEAR_PACKED: &str = "sconce::linear_packed";

/// `program, operands…`: the program holds, for each step, its place in [`CHAIN_OPERATORS`] and the
/// places of its two operands.
pub(crate) const CHAIN: &str = "sconce::chain";

/// Activations that a linear layer can apply: operator, mode where it has one, and the kernels.
pub(crate) const ACTIVATIONS: &[(&str, Option<&str>, LinearActivation, UnaryOp)] = &[
    ("aten::relu", None, LinearActivation::Relu, UnaryOp::Relu),
    ("aten::gelu", Some("none"), LinearActivation::Gelu, UnaryOp::Gelu),
    ("aten::gelu", Some("tanh"), LinearActivation::GeluTanh, UnaryOp::GeluTanh),
    ("aten::silu", None, LinearActivation::Silu, UnaryOp::Silu),
    ("aten::sigmoid", None, LinearActivation::Sigmoid, UnaryOp::Sigmoid),
    ("aten::tanh", None, LinearActivation::Tanh, UnaryOp::Tanh),
];

/// An operator that chains may have.
pub(crate) struct ChainOperator {
    pub(crate) symbol: &'static str,
    /// The string after its operands, where it has one.
    pub(crate) mode: Option<&'static str>,
    /// How many tensors or numbers it works on.
    pub(crate) operands: usize,
    op: ChainOp,
}

const fn one(symbol: &'static str, mode: Option<&'static str>, op: UnaryOp) -> ChainOperator {
    ChainOperator { symbol, mode, operands: 1, op: ChainOp::Unary(op) }
}

const fn two(symbol: &'static str, op: BinaryOp) -> ChainOperator {
    ChainOperator { symbol, mode: None, operands: 2, op: ChainOp::Binary(op) }
}

pub(crate) const CHAIN_OPERATORS: &[ChainOperator] = &[
    two("aten::add", BinaryOp::Add),
    two("aten::sub", BinaryOp::Sub),
    two("aten::mul", BinaryOp::Mul),
    two("aten::div", BinaryOp::Div),
    one("aten::neg", None, UnaryOp::Neg),
    one("aten::abs", None, UnaryOp::Abs),
    one("aten::relu", None, UnaryOp::Relu),
    one("aten::square", None, UnaryOp::Square),
    one("aten::sqrt", None, UnaryOp::Sqrt),
    one("aten::rsqrt", None, UnaryOp::Rsqrt),
    one("aten::reciprocal", None, UnaryOp::Reciprocal),
    one("aten::exp", None, UnaryOp::Exp),
    one("aten::log", None, UnaryOp::Log),
    one("aten::tanh", None, UnaryOp::Tanh),
    one("aten::sigmoid", None, UnaryOp::Sigmoid),
    one("aten::erf", None, UnaryOp::Erf),
    one("aten::gelu", Some("none"), UnaryOp::Gelu),
    one("aten::gelu", Some("tanh"), UnaryOp::GeluTanh),
    one("aten::silu", None, UnaryOp::Silu),
];

pub(super) const TABLE: Table = &[
    (LINEAR_PACKED, "-", |_, args| {
        let activation = usize::try_from(args.int(4)?).ok().and_then(|at| ACTIVATIONS.get(at));
        let (input, weight, bias) = (args.tensor(0)?, args.tensor(2)?, args.optional_tensor(3)?);
        let (packed, fused) = (args.tensor(1)?, activation.map(|line| line.2));
        let rows = weight.size(0).map_err(kernel)?;
        let result = kernels::linear_packed(input, packed, rows, bias, fused).map_err(kernel)?;
        if let Some(result) = result {
            return Ok(IValue::Tensor(result));
        }
        let result = kernels::linear(input, weight, bias).map_err(kernel)?;
        match activation {
            Some(line) => made(kernels::unary(line.3, &result)),
            None => Ok(IValue::Tensor(result)),
        }
    }),
    (CHAIN, "-", |_, args| {
        let program = args.ints(0)?;
        let mut steps = Vec::with_capacity(program.len() / 3);
        for step in program.chunks_exact(3) {
            let place = |at: usize| usize::try_from(step[at]).unwrap_or(usize::MAX);
            let Some(line) = CHAIN_OPERATORS.get(place(0)) else {
                return Err(Raise::unsupported("an unknown step of a chain"));
            };
            steps.push(ChainStep { op: line.op, a: place(1), b: place(2) });
        }
        let operands: Result<Vec<_>> = (1..args.len()).map(|at| args.operand(at)).collect();
        made(kernels::run_chain(&steps, &operands?))
    }),
];
