//! Checkpoints split over several files with an index beside them, as Hugging Face's libraries
//! write them: `{"metadata": {…}, "weight_map": {"tensor name": "file", …}}`.

use std::collections::HashMap;
use std::path::{Component, Path};

use sconce_source::{ReadAt, Source};

use super::Parts;
use crate::globals::Globals;
use crate::identify::{FileKind, try_identify};
use crate::info::Info;
use crate::object::{Dict, DictKind, Graph, Node, ObjectId};
use crate::options::LoadOptions;
use crate::rebuild::Built;
use crate::{Error, ErrorKind, StateDict};

pub(super) fn open(source: &Source, options: &LoadOptions) -> Result<Parts, Error> {
    let malformed = |message: &str| Error::new(ErrorKind::Malformed, message);
    let json: serde_json::Value = serde_json::from_slice(source.bytes()?)
        .map_err(|error| malformed(&format!("the index is not valid JSON: {error}")))?;
    let map = json.get("weight_map").and_then(serde_json::Value::as_object);
    let map = map.ok_or_else(|| malformed("the index has no object \"weight_map\""))?;
    let beside = match (source.store(), source.path()) {
        (Some(store), _) => Beside::Store(source.name(), store),
        (None, Some(path)) => Beside::Folder(path.parent().unwrap_or(Path::new(""))),
        (None, None) => {
            let message = "an index names files beside it, so it must be opened by its path";
            return Err(Error::new(ErrorKind::Caller, message));
        }
    };
    let mut shards: Vec<(String, Parts)> = Vec::new();
    let mut by_file: HashMap<&str, usize> = HashMap::new();
    let mut wanted: Vec<(&str, usize)> = Vec::with_capacity(map.len());
    for (name, file) in map {
        let file = file.as_str().ok_or_else(|| {
            malformed(&format!("the file of tensor '{}' is not text", name.escape_debug()))
        })?;
        let at = match by_file.get(file) {
            Some(&at) => at,
            None => {
                shards.push((file.to_owned(), open_shard(&beside, file, options)?));
                by_file.insert(file, shards.len() - 1);
                shards.len() - 1
            }
        };
        wanted.push((name, at));
    }
    gather(&shards, &wanted)
}

/// Where the files that an index names are.
enum Beside<'s> {
    Folder(&'s Path),
    /// A store, and the name of the index in it.
    Store(&'s str, &'s dyn ReadAt),
}

impl Beside<'_> {
    fn open(&self, file: &str, options: &LoadOptions) -> Result<Source, sconce_source::Error> {
        match self {
            Beside::Folder(folder) => Source::open_with(folder.join(file), options.map_mode),
            Beside::Store(index, store) => {
                let folder = index.rfind('/').map_or("", |slash| &index[..=slash]);
                let name = format!("{folder}{file}");
                match store.beside(file) {
                    Ok(store) => Ok(Source::from_boxed_store(name, store)),
                    Err(source) => Err(sconce_source::Error::Io { path: name.into(), source }),
                }
            }
        }
    }
}

fn open_shard(beside: &Beside<'_>, file: &str, options: &LoadOptions) -> Result<Parts, Error> {
    let plain = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || file.is_empty() {
        let message =
            format!("the index names a file outside its folder: '{}'", file.escape_debug());
        return Err(Error::new(ErrorKind::Refused, message));
    }
    let source = beside.open(file, options).map_err(|error| {
        Error::from(error)
            .with_note("the index names this shard")
            .with_help("fetch the missing shard, or open one shard by its own name")
    })?;
    if try_identify(&source)?.kind == FileKind::ShardIndex {
        let message = "a shard is itself an index";
        return Err(Error::new(ErrorKind::Malformed, message).in_file(source.name()));
    }
    super::open(&source, options)
}

/// One state dict of all the tensors the index names, in its order.
fn gather(shards: &[(String, Parts)], wanted: &[(&str, usize)]) -> Result<Parts, Error> {
    let tensors: Vec<HashMap<String, crate::NamedTensor<'_>>> = shards
        .iter()
        .map(|(_, shard)| {
            shard.tensors().into_iter().map(|named| (named.name.clone(), named)).collect()
        })
        .collect();
    let mut graph = Graph::default();
    let mut dict = Dict::new(DictKind::OrderedDict);
    let mut ids = HashMap::new();
    let mut used = vec![0usize; shards.len()];
    for &(name, at) in wanted {
        let Some(found) = tensors[at].get(name) else {
            let message =
                format!("shard '{}' has no tensor '{}'", shards[at].0, name.escape_debug());
            return Err(
                Error::new(ErrorKind::Malformed, message).with_note("the index says that it has")
            );
        };
        used[at] += 1;
        let key = graph.push(Node::Str(name.into()));
        // Names of one tensor within a shard stay one tensor.
        let value = *ids.entry((at, found.object.id())).or_insert_with(|| {
            graph.push(match found.object.data() {
                Node::Tensor(object) => Node::Tensor(Box::new(crate::TensorObject {
                    state: None,
                    ..(**object).clone()
                })),
                other => other.clone(),
            })
        });
        dict.insert(&graph, key, value);
    }
    dict.state = versions(&mut graph, shards);
    let root = graph.push(Node::Dict(Box::new(dict)));
    let mut info = Info { records: shards.len(), ..Info::default() };
    info.shards = shards.iter().map(|(file, _)| file.clone()).collect();
    let built = Built { graph, root, problems: Vec::new() };
    let mut parts = Parts::new(FileKind::ShardIndex, built, info);
    let mut globals = Globals::default();
    for (at, (file, shard)) in shards.iter().enumerate() {
        if tensors[at].len() > used[at] {
            let more = tensors[at].len() - used[at];
            parts
                .warnings
                .push(format!("shard '{file}' has {more} tensors that the index does not name"));
        }
        let named = |text: &String| format!("{file}: {text}");
        parts.warnings.extend(shard.warnings.iter().map(named));
        parts.storages.extend(shard.storages.iter().cloned());
        parts.problems.extend(shard.problems.iter().cloned());
        globals.add(shard.globals.clone(), 0);
    }
    parts.globals = globals.finish();
    Ok(parts)
}

/// The versions of modules that the shards' dicts carry, as one dict's attributes.
fn versions(graph: &mut Graph, shards: &[(String, Parts)]) -> Option<ObjectId> {
    let mut state = StateDict::new();
    for (_, shard) in shards {
        state.copy_metadata(shard.root());
    }
    let draft = state.finish();
    let attributes = draft.root().as_dict()?.state?;
    Some(graph.copy_from(draft.root().graph(), attributes))
}
