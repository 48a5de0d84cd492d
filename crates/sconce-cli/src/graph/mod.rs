//! Draws graphs.

pub mod dot;
pub mod layered_layout;
pub mod svg;
