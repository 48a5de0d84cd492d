//! torchaudio's operators that are written in C++ there.

pub(crate) mod filter;
pub(crate) mod forced_align;
pub(crate) mod transducer_loss;
