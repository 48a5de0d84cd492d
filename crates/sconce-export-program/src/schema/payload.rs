//! What stands beside programs: which record holds which tensor, and kernels of compiled packages.

use super::graph::{Node, TensorMeta};
use super::macros::structure;
use super::read::{Map, Place, Value};
use crate::Error;
use crate::json::{Writer, parse};

structure! {
    /// Where a tensor or an object is kept.
    PayloadMeta {
        /// The record's name, below `data/weights/` or `data/constants/`.
        path_name "path_name": String;
        /// Whether it is a parameter.
        is_param "is_param": bool;
        /// Whether the record is a pickle, not bare bytes.
        use_pickle "use_pickle": bool;
        /// What tensor the bytes are.
        tensor_meta "tensor_meta": Option<TensorMeta> = None;
    }
}

structure! {
    /// The tensors of a model by name.
    PayloadConfig {
        /// Where each is kept.
        config "config": Map<PayloadMeta>;
    }
}

impl PayloadConfig {
    /// Reads a config from the text of its record.
    ///
    /// # Errors
    /// With the place, when the text is not JSON or does not fit.
    pub fn from_json(text: &[u8]) -> Result<PayloadConfig, Error> {
        PayloadConfig::read(parse(text)?, &Place::Root)
    }

    /// The text of its record, as PyTorch writes it.
    pub fn to_json(&self) -> String {
        let mut out = Writer::new();
        self.write(&mut out);
        out.finish()
    }
}

structure! {
    /// A kernel of a compiled package that calls back into PyTorch.
    ExternKernelNode {
        /// Its name.
        name "name": String;
        /// The call.
        node "node": Node;
    }
}

structure! {
    /// The kernels of a compiled package that call back into PyTorch.
    ExternKernelNodes {
        /// The kernels.
        nodes "nodes": Vec<ExternKernelNode>;
    }
}

impl ExternKernelNodes {
    /// Reads the list from the text of its file.
    ///
    /// # Errors
    /// With the place, when the text is not JSON or does not fit.
    pub fn from_json(text: &[u8]) -> Result<ExternKernelNodes, Error> {
        ExternKernelNodes::read(parse(text)?, &Place::Root)
    }
}
