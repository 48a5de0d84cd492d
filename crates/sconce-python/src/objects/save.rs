//! `save`: what `torch.save` writes, and safetensors and npz.

use std::collections::BTreeMap;
use std::path::Path;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sconce::export::{Plan, Sharing, write_npz, write_safetensors};
use sconce::source::AtomicFile;
use sconce::{Draft, Node, SaveOptions, Tensor};

use super::from_python::from_python;
use crate::boundary::{guarded, in_background};
use crate::error;
use crate::input::{check_folder_of, path_of};

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Torch,
    Safetensors,
    Npz,
}

/// Writes an object as ``torch.save`` does, byte for byte; to a path that ends in ``.safetensors`` or ``.npz``, a dict
/// of tensors in that format. A file is there whole or not at all. NumPy's arrays are written as tensors.
#[pyfunction]
#[pyo3(signature = (obj, f, *, pickle_protocol=2, legacy=false, safetensors=None))]
pub fn save(
    py: Python<'_>,
    obj: &Bound<'_, PyAny>,
    f: &Bound<'_, PyAny>,
    pickle_protocol: u8,
    legacy: bool,
    safetensors: Option<bool>,
) -> PyResult<()> {
    guarded(py, || {
        if !(2..=5).contains(&pickle_protocol) {
            let message = format!("pickle_protocol is 2 to 5, not {pickle_protocol}");
            return Err(PyValueError::new_err(message));
        }
        let path = path_of(f)?;
        if let Some(path) = &path {
            check_folder_of(py, path)?;
        }
        let format = format(path.as_deref(), safetensors);
        if legacy && format != Format::Torch {
            return Err(PyValueError::new_err("legacy is of PyTorch's own format"));
        }
        let draft = from_python(obj)?;
        let options = SaveOptions::new().protocol(pickle_protocol).legacy(legacy).replace(true);
        let name = path.as_ref().map_or("<file>".into(), |path| path.to_string_lossy());
        let name = name.into_owned();
        let written = in_background(py, move || -> Result<Option<Vec<u8>>, sconce::Error> {
            match (format, path) {
                (Format::Torch, Some(path)) => {
                    options.save(draft.root(), path)?;
                    Ok(None)
                }
                (Format::Torch, None) => Ok(Some(options.save_to(draft.root(), Vec::new())?)),
                (_, path) => export(&draft, format, path.as_deref()),
            }
        })?;
        match written.map_err(|error| error::of_library(py, error, &name))? {
            None => Ok(()),
            Some(bytes) => f.call_method1("write", (PyBytes::new(py, &bytes),)).map(drop),
        }
    })
}

fn format(path: Option<&Path>, safetensors: Option<bool>) -> Format {
    let ending = path.and_then(Path::extension).map(|ending| ending.to_ascii_lowercase());
    match (safetensors, ending.as_deref().and_then(|ending| ending.to_str())) {
        (Some(true), _) => Format::Safetensors,
        (Some(false), _) => Format::Torch,
        (None, Some("safetensors")) => Format::Safetensors,
        (None, Some("npz")) => Format::Npz,
        (None, _) => Format::Torch,
    }
}

/// Writes the tensors of an object by their names; views of one storage become tensors of their own.
fn export(
    draft: &Draft,
    format: Format,
    path: Option<&Path>,
) -> Result<Option<Vec<u8>>, sconce::Error> {
    let (mut tensors, mut others) = (Vec::<(String, Tensor)>::new(), None);
    draft.visit(|name, object| match object.data() {
        Node::Tensor(tensor) => tensors.push((name.to_owned(), tensor.tensor.clone())),
        _ if others.is_none() => others = Some(name.to_owned()),
        _ => {}
    });
    if let Some(name) = others {
        let what = format!("'{name}' is not a tensor, and this format holds nothing else");
        return Err(sconce::tensor::Error::Unsupported(what).into());
    }
    let named = tensors.iter().map(|(name, tensor)| (name.clone(), tensor));
    let plan = Plan::new(named, Sharing::Clone)?;
    let metadata: BTreeMap<String, String> = plan.metadata();
    let Some(path) = path else {
        let mut bytes = Vec::new();
        write_safetensors(&plan.tensors, &metadata, &mut bytes, &mut |_| {})?;
        return Ok(Some(bytes));
    };
    let mut file = AtomicFile::replace(path)?;
    match format {
        Format::Npz => write_npz(&plan.tensors, &mut file, &mut |_| {}).map(drop)?,
        _ => write_safetensors(&plan.tensors, &metadata, &mut file, &mut |_| {})?,
    }
    file.commit()?;
    Ok(None)
}
