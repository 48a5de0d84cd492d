//! Where the time of a program went.

use sconce_syntax::SourceRange;

/// What an instruction of a program has taken.
#[derive(Debug, Clone)]
pub struct ProfileEntry {
    /// The operator by its full name, such as `aten::add.Tensor`, or the instruction's.
    pub operator: String,
    /// Of an operator that optimisation put in the place of several, what it computes one after the other:
    /// `["mul", "add", "sigmoid"]`.
    pub steps: Vec<&'static str>,
    /// The function it is in.
    pub function: String,
    /// Its place in the program.
    pub range: Option<SourceRange>,
    /// Which implementation its kernel took last, where it has several: `im2col and GEMM`.
    pub implementation: Option<&'static str>,
    /// How often it ran.
    pub calls: u64,
    /// How long it took, all times together.
    pub nanoseconds: u64,
}
