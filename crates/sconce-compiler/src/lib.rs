//! TorchScript source to graphs, and graphs back to source.

mod error;
mod resolver;
pub mod ssa;

pub use error::Error;
pub use resolver::{Global, Resolver, Special};
