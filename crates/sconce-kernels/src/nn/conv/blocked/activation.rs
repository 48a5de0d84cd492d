//! Activations that are applied to a result before it is stored.

/// A function applied to every number of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation {
    /// Nothing.
    None,
    /// `torch.relu`.
    Relu,
    /// `torch.nn.functional.hardtanh`: not below the first number, not above the second.
    Clamp(f32, f32),
    /// `torch.nn.functional.hardsigmoid`.
    Hardsigmoid,
    /// `torch.nn.functional.hardswish`.
    Hardswish,
}
