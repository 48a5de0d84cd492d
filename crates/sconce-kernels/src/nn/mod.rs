//! Layers of `torch.nn.functional`.

pub(crate) mod attention;
pub(crate) mod conv;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod linear;
pub(crate) mod loss;
pub(crate) mod norm;
pub(crate) mod pool;
pub(crate) mod recurrent;
pub(crate) mod resample;
