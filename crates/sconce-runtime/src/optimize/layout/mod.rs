//! Passes that choose how tensors lie in memory.

pub(crate) mod blocked;
mod channel_numbers;
mod channels;
mod convolution;
mod pool;
mod shuffle;
mod spatial;
