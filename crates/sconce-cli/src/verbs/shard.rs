//! `sconce shard`: a state dict over several files with an index beside them, laid out as Hugging
//! Face's libraries lay them out (`split_torch_state_dict_into_shards` of huggingface_hub).

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::PathBuf;

use sconce::checkpoint::{DictKind, SaveOptions, StateDict};
use sconce::tensor::Tensor;
use serde::Serialize;

use super::{SCHEMA_VERSION, merge};
use crate::atomic::{AtomicFile, cannot_write};
use crate::cli::ShardArgs;
use crate::error::{self, Failure, Outcome};
use crate::open::{self, Say};
use crate::output::{Line, Out, Progress, Style, count};
use crate::run::Verdict;
use crate::save;

/// The most files that are written: all of them are open at once.
const MOST: usize = 500;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    input: &'a str,
    files: &'a [String],
    index: Option<&'a str>,
    written: bool,
    total_size: u64,
    tensors: usize,
}

#[derive(Serialize)]
struct Index<'a> {
    metadata: Metadata,
    weight_map: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct Metadata {
    total_size: u64,
}

struct Shard {
    tensors: Vec<(String, Tensor)>,
}

pub fn run(args: &ShardArgs, out: &mut Out, say: Say) -> Verdict {
    let prefix = &args.prefix;
    if prefix.is_empty() || prefix.contains(['/', '\\']) || prefix == ".." {
        return Err(Failure::usage(format!("'{prefix}' is no beginning of a file's name")));
    }
    let checkpoint = open::checkpoint(&args.input, say)?;
    let tensors = merge::flat(&checkpoint, args.take.as_deref())
        .map_err(|failure| failure.in_file(checkpoint.source().name()))?;
    let tensors_in_all = tensors.len();
    let (shards, total_size) = split(tensors, args.max_size);
    if shards.len() > MOST {
        let message = format!("this would be {}, more than {MOST}", count(shards.len(), "file"));
        return Err(Failure::usage(message).help("a larger --max-size"));
    }
    let files: Vec<String> = match shards.len() {
        0 | 1 => vec![format!("{prefix}.bin")],
        all => (1..=all).map(|at| format!("{prefix}-{at:05}-of-{all:05}.bin")).collect(),
    };
    let index = (files.len() > 1).then(|| format!("{prefix}.bin.index.json"));
    if !args.dry_run {
        let progress = Progress::new("writing", total_size, say.quiet || args.json);
        write(args, &shards, &files, index.as_deref(), total_size, &progress)?;
    }
    if args.json {
        out.json(&Document {
            schema_version: SCHEMA_VERSION,
            input: &open::name(&args.input.file),
            files: &files,
            index: index.as_deref(),
            written: !args.dry_run,
            total_size,
            tensors: tensors_in_all,
        })?;
    } else if !say.quiet {
        let done = if args.dry_run { "would write" } else { "wrote" };
        for (file, shard) in files.iter().zip(&shards) {
            let line = Line::new().dim(format!("  {done:<8} ")).add(Style::Strong, file);
            let held = count(shard.tensors.len(), "tensor");
            error::remark(say.color, &line.plain(format!(": {held}")));
        }
        if let Some(index) = &index {
            let line = Line::new().dim(format!("  {done:<8} ")).add(Style::Strong, index);
            error::remark(say.color, &line.dim(", by which all are opened at once"));
        }
    }
    Ok(Outcome::Clean)
}

/// All files are complete before any takes its name; the index is last.
fn write(
    args: &ShardArgs,
    shards: &[Shard],
    files: &[String],
    index: Option<&str>,
    total_size: u64,
    progress: &Progress,
) -> Result<(), Failure> {
    let none = [Shard { tensors: Vec::new() }];
    let shards = if shards.is_empty() { &none } else { shards };
    let mut written = Vec::new();
    let mut weight_map = BTreeMap::new();
    for (shard, name) in shards.iter().zip(files) {
        let path: PathBuf = args.directory.join(name);
        let mut state = StateDict::of_kind(DictKind::Dict);
        for (tensor, held) in &shard.tensors {
            state.insert(tensor, held.clone());
            weight_map.insert(tensor.as_str(), name.as_str());
        }
        let state = state.finish();
        written.push(save::write(SaveOptions::new(), state.root(), &path, args.force, progress)?);
    }
    if let Some(name) = index {
        let path = args.directory.join(name);
        let mut file = AtomicFile::create(&path, args.force)?;
        let index = Index { metadata: Metadata { total_size }, weight_map };
        let mut json = serde_json::to_string_pretty(&index)
            .map_err(|error| Failure::unreadable(error.to_string()))?;
        json.push('\n');
        file.write_all(json.as_bytes()).map_err(|error| cannot_write(&path, &error))?;
        written.push(file);
    }
    written.into_iter().try_for_each(AtomicFile::commit)
}

/// In order, a new file where the next storage would pass the limit; a storage above the limit has a
/// file of its own. Tensors of one storage go where its first went. Also gives the bytes of all
/// storages, each once.
fn split(tensors: Vec<(String, Tensor)>, limit: u64) -> (Vec<Shard>, u64) {
    let mut shards: Vec<Shard> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    // The file that is being filled, and its bytes. It is numbered when it is full.
    let mut open: Option<(usize, u64)> = None;
    let mut order: Vec<usize> = Vec::new();
    let mut total = 0u64;
    for (name, tensor) in tensors {
        let storage = tensor.storage().map(|storage| (storage.id(), storage.nbytes()));
        let (id, size) = match storage {
            Some((id, size)) => (Some(id), size),
            None => (None, tensor.nbytes()),
        };
        if let Some(&at) = id.and_then(|id| places.get(&id)) {
            shards[at].tensors.push((name, tensor));
            continue;
        }
        total = total.saturating_add(size);
        let fits = open.filter(|(_, held)| held.saturating_add(size) <= limit);
        let at = match fits {
            Some((at, held)) => {
                open = Some((at, held + size));
                at
            }
            None => {
                shards.push(Shard { tensors: Vec::new() });
                let at = shards.len() - 1;
                // What follows a storage above the limit goes on filling the file before it.
                if size <= limit {
                    order.extend(open.map(|(full, _)| full));
                    open = Some((at, size));
                } else {
                    order.push(at);
                }
                at
            }
        };
        shards[at].tensors.push((name, tensor));
        places.extend(id.map(|id| (id, at)));
    }
    order.extend(open.map(|(last, _)| last));
    let mut shards: Vec<Option<Shard>> = shards.into_iter().map(Some).collect();
    (order.into_iter().filter_map(|at| shards[at].take()).collect(), total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(len: usize) -> Tensor {
        Tensor::from_vec(vec![0u8; len], &[len as i64]).unwrap()
    }

    #[test]
    fn files_are_filled_in_order() {
        let tied = tensor(4);
        let tensors = [
            ("a", tied.clone()),
            ("b", tensor(6)),
            ("c", tensor(1)),
            ("huge", tensor(99)),
            ("d", tensor(9)),
            ("e", tensor(1)),
            ("tied", tied.narrow(0, 1, 2).unwrap()),
        ];
        let tensors = tensors.map(|(name, tensor)| (name.to_owned(), tensor)).to_vec();
        let (shards, total) = split(tensors, 10);
        let names: Vec<Vec<&str>> = shards
            .iter()
            .map(|shard| shard.tensors.iter().map(|(name, _)| name.as_str()).collect())
            .collect();
        let want = [vec!["a", "b", "tied"], vec!["huge"], vec!["c", "d"], vec!["e"]];
        assert_eq!(names, want);
        assert_eq!(total, 120);
    }
}
