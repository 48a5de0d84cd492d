//! TorchScript source to graphs, and graphs back to source.

mod error;
mod nesting;
pub mod print;
mod resolver;
pub mod ssa;

pub use error::Error;
pub use resolver::{Global, Resolver, Special};
