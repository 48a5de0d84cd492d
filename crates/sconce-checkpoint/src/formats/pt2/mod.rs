//! What `torch.export.save` writes, as far as its tensors go: `.pt2` archives.
//!
//! [`Package`] is the container. Three layouts have been written ([`Layout`]); in each, a program is JSON beside
//! tensors. Here the JSON of the programs is only handed on: what it means is for `sconce-export-program`.

mod dtype;
mod package;
mod payload;
mod pickled;

pub use dtype::{dtype_of_number, number_of_dtype};
pub use package::{DEFAULT_MODEL, Layout, Package};
pub use payload::{Payload, Store};

use sconce_source::Source;

use super::Parts;
use crate::identify::FileKind;
use crate::info::Info;
use crate::object::{Dict, DictKind, Graph, Node, TensorClass, TensorObject};
use crate::options::LoadOptions;
use crate::rebuild::Built;
use crate::{Error, ErrorKind};

/// Opens the tensors of one model: weights under their names, then constants.
pub(super) fn open(source: &Source, options: &LoadOptions) -> Result<Parts, Error> {
    let package = Package::from_source(source.clone(), options)?;
    let model = package.model(options.model.as_deref())?.to_owned();
    let mut problems = Vec::new();
    let mut tensors = package.read_store(&model, Store::Weights, options, &mut problems)?;
    let weights = tensors.len();
    tensors.extend(package.read_store(&model, Store::Constants, options, &mut problems)?);
    let mut warnings = package.warnings().to_vec();
    let mut graph = Graph::default();
    let mut dict = Dict::new(DictKind::Dict);
    let mut names = std::collections::HashSet::new();
    let mut without = Vec::new();
    for (at, payload) in tensors.iter().enumerate() {
        let Some(tensor) = payload.tensor() else {
            without.push(format!("'{}' ({})", payload.name.escape_debug(), payload.what()));
            continue;
        };
        let mut name = payload.name.clone();
        if at >= weights && names.contains(&name) {
            warnings.push(format!(
                "constant '{}' has the name of a weight: it is called constants/{0} here",
                name.escape_debug()
            ));
            name = format!("constants/{name}");
        }
        let key = graph.push(Node::Str(name.as_str().into()));
        let class = match payload.is_parameter {
            true => TensorClass::Parameter,
            false => TensorClass::Tensor,
        };
        let object = TensorObject { tensor: tensor.clone(), class, state: None };
        let value = graph.push(Node::Tensor(Box::new(object)));
        dict.insert(&graph, key, value);
        names.insert(name);
    }
    if !without.is_empty() {
        let few = without.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = match without.len() {
            0..=5 => String::new(),
            all => format!(" and {} more", all - 5),
        };
        warnings.push(format!("not tensors, so left out: {few}{more}"));
    }
    let root = graph.push(Node::Dict(Box::new(dict)));
    let info = Info {
        archive_folder: package.folder().map(str::to_owned),
        records: package.record_count(),
        version: package.version(),
        byte_order: package.byte_order(),
        serialization_id: package.text(".data/serialization_id"),
        ..Info::default()
    };
    let built = Built { graph, root, problems };
    let mut parts = Parts::new(FileKind::Pt2, built, info);
    parts.storages = payload::storages(&tensors);
    parts.warnings = warnings;
    Ok(parts)
}

fn malformed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Malformed, message)
}
