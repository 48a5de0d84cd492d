//! NumPy's npy and npz.

mod read;
mod write;

pub(super) use read::{open_npy, open_npz};
pub(super) use write::check_layout;
pub use write::{npz_name, write_npz};
