//! PyTorch's own tensors on their way into a file: those that share a storage share it there.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sconce::{DType, Storage, Tensor};

use crate::error;
use crate::tensor::tensor_like;

/// The storages of PyTorch's tensors that have been met.
#[derive(Default)]
pub struct TorchTensors {
    storages: HashMap<usize, Storage>,
}

impl TorchTensors {
    /// A tensor of PyTorch, which `torch` is.
    pub fn tensor(
        &mut self,
        torch: &Bound<'_, PyModule>,
        given: &Bound<'_, PyAny>,
    ) -> PyResult<Tensor> {
        let py = given.py();
        let device: String = given.getattr("device")?.getattr("type")?.extract()?;
        if device != "cpu" {
            return Err(error::unsupported(
                py,
                format!("a tensor on {device}: move it to the CPU first"),
            ));
        }
        let layout = given.getattr("layout")?.str()?.to_string();
        if layout != "torch.strided" || given.getattr("is_quantized")?.is_truthy()? {
            return Err(error::unsupported(py, format!("a {layout} tensor of this kind")));
        }
        let dtype = given.getattr("dtype")?.str()?.to_string();
        let dtype: DType = dtype
            .parse()
            .map_err(|_| error::unsupported(py, format!("a tensor of dtype {dtype}")))?;
        let bare = given.call_method0("detach")?;
        let untyped = bare.call_method0("untyped_storage")?;
        let identity: usize = untyped.getattr("_cdata")?.extract()?;
        let storage = match self.storages.get(&identity) {
            Some(known) => known.clone(),
            None => {
                let keywords = PyDict::new(py);
                keywords.set_item("dtype", torch.getattr("uint8")?)?;
                let bytes = torch.call_method("empty", (0,), Some(&keywords))?;
                let bytes = bytes.call_method1("set_", (untyped,))?;
                let bytes = tensor_like(&bytes)?.and_then(|bytes| bytes.storage().cloned());
                let storage =
                    bytes.ok_or_else(|| error::unsupported(py, "a tensor without a storage"))?;
                self.storages.insert(identity, storage.clone());
                storage
            }
        };
        let sizes: Vec<i64> = given.getattr("shape")?.extract()?;
        let strides: Vec<i64> = given.call_method0("stride")?.extract()?;
        let offset: i64 = given.call_method0("storage_offset")?.extract()?;
        let view = Tensor::strided(storage, dtype, offset, &sizes, &strides);
        let view = view.map_err(|error| error::of_library(py, error, "<tensor>"))?;
        let conj = given.call_method0("is_conj")?.is_truthy()?;
        let neg = given.call_method0("is_neg")?.is_truthy()?;
        let requires_grad = given.getattr("requires_grad")?.is_truthy()?;
        Ok(view.with_conj(conj).with_neg(neg).with_requires_grad(requires_grad))
    }
}
