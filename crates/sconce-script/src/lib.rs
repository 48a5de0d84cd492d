//! x
mod frontend; mod snippet;
