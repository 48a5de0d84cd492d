//! The operators PyTorch knows, with their schemas.

/// An operator of the table: its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorId(pub u32);
