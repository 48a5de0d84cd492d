//! Recurrent layers.

pub(crate) mod batch;
pub(crate) mod cell;
pub(crate) mod gates;
pub(crate) mod layers;
pub(crate) mod pack_padded;
pub(crate) mod packed;
pub(crate) mod packed_layout;
pub(crate) mod single_sequence;
