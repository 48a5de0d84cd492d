//! What the registry knows of an operator: one row, a [`Descriptor`], says all of it.
//!
//! A row is made by [`op`] and says its rules by name:
//!
//! ```ignore
//! op("aten::leaky_relu", "-", |_, args| leaky_relu(&args))
//!     .strides(ResultStrides::Elements)
//!     .fuse(&[fuse(PointwiseOp::LeakyRelu)]),
//! ```
//!
//! Two things are not said by a row. Whether operands may be too large for an operator follows from its
//! schema ([`size_guard`]). Derivatives are expressions in TorchScript, in `autograd/derivatives.txt`, since
//! derived operators have derivatives of their own.

pub(crate) mod args;
pub(crate) mod derived;
pub(crate) mod fast_path;
pub(crate) mod fusion;
pub(crate) mod overlap;
pub(crate) mod result_strides;
pub(crate) mod size_guard;

use args::Args;
use derived::Target;
use fast_path::FastPath;
use fusion::Fusion;
use overlap::OverlapRule;
use result_strides::ResultStrides;

use crate::error::Raise;
use crate::op_context::OpContext;
use crate::ops::sparse::SparseRule;
use crate::value::IValue;

/// What computes an operator.
pub(crate) type Run = fn(&mut dyn OpContext, Args<'_>) -> Result<IValue, Raise>;

/// What a fused operator computes one after the other, by its operands that are constants.
pub(crate) type Steps = fn(&[Option<&IValue>]) -> Vec<&'static str>;

/// The rows of a family.
pub(crate) type Table = &'static [Descriptor];

/// A row of the registry: operators of one name that one function computes. What the operands are is what the
/// schema says, so one function can tell ints from floats by looking.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Descriptor {
    /// The name, such as `aten::add`.
    pub(crate) symbol: &'static str,
    /// The overloads, with spaces between them; `-` for the one without a name.
    pub(crate) overloads: &'static str,
    run: Run,
    strides: Option<ResultStrides>,
    overlap: Option<OverlapRule>,
    fast_path: Option<FastPath>,
    /// As which steps of a fused element-wise operator it may be computed.
    pub(crate) fusions: &'static [Fusion],
    /// For an operator that passes put in the place of several: which these were.
    pub(crate) steps: Option<Steps>,
}

/// A row that says nothing but how it is computed.
pub(crate) const fn op(symbol: &'static str, overloads: &'static str, run: Run) -> Descriptor {
    Descriptor {
        symbol,
        overloads,
        run,
        strides: None,
        overlap: None,
        fast_path: None,
        fusions: &[],
        steps: None,
    }
}

impl Descriptor {
    /// How results lie in memory. Without it they lie as the kernel leaves them.
    pub(crate) const fn strides(self, strides: ResultStrides) -> Self {
        Descriptor { strides: Some(strides), ..self }
    }

    /// What an operator in place refuses to write to. Without it the rule of most operators in place holds
    /// ([`OverlapRule::of_name`]).
    pub(crate) const fn overlap(self, rule: OverlapRule) -> Self {
        Descriptor { overlap: Some(rule), ..self }
    }

    /// A function that is tried first, for operands that need no rules.
    pub(crate) const fn fast_path(self, path: FastPath) -> Self {
        Descriptor { fast_path: Some(path), ..self }
    }

    /// That it may be a step of a fused element-wise operator. Of several the first counts whose condition
    /// holds.
    pub(crate) const fn fuse(self, fusions: &'static [Fusion]) -> Self {
        Descriptor { fusions, ..self }
    }

    /// Which operators it stands for, so that profiles can name them.
    pub(crate) const fn steps(self, steps: Steps) -> Self {
        Descriptor { steps: Some(steps), ..self }
    }

    /// The overloads as schemas spell them.
    pub(crate) fn overload_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.overloads.split(' ').map(|overload| if overload == "-" { "" } else { overload })
    }

    /// The operator, but for what its schema decides.
    pub(super) fn operator(&self) -> Builtin {
        let overlap = self.overlap.unwrap_or_else(|| OverlapRule::of_name(self.symbol));
        Builtin {
            run: self.run,
            fast_path: self.fast_path,
            strides: self.strides,
            overlap: overlap.checked(),
            size_guard: false,
            target: Target::Value,
            sparse: None,
            sparse_in_place: false,
        }
    }
}

/// An operator, ready to be called. What has several results gives them as a tuple.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Builtin {
    pub(crate) run: Run,
    pub(crate) fast_path: Option<FastPath>,
    pub(super) strides: Option<ResultStrides>,
    pub(super) overlap: Option<OverlapRule>,
    /// Whether operands may be too large for it.
    pub(super) size_guard: bool,
    /// Where its result goes.
    pub(super) target: Target,
    /// How it is computed when an operand is sparse.
    pub(crate) sparse: Option<SparseRule>,
    /// Whether that rule is of the operator that gives a new tensor, and this one works in place.
    pub(crate) sparse_in_place: bool,
}
