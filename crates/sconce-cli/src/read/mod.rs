//! Opens what the command line names: checkpoints, archives of TorchScript, standard input.

pub mod archive;
pub mod exported;
pub mod open;
pub mod paths;
pub mod several;
