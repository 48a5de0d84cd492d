//! `sconce shard`: a state dict over several files with an index beside them, laid out as Hugging
//! Face's libraries lay them out (`split_torch_state_dict_into_shards` of huggingface_hub).

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use sconce::checkpoint::{DictKind, Draft, StateDict};
use sconce::tensor::Tensor;
use serde::{Serialize, Serializer};

use crate::arguments::reading::Input;
use crate::arguments::saving::Saving;
use crate::arguments::values::decimal_size;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{self, Out, Progress, SCHEMA_VERSION, count};
use crate::read::open::{self, Say};
use crate::write::atomic::{AtomicFile, cannot_write};
use crate::write::file_set::{self, FileSet, Written};
use crate::write::state_dict;
use crate::write::wrote::{TORCH_SAVE, would_write, wrote};
use crate::write::{opaque_callables, saving};

/// `sconce shard`.
#[derive(Debug, Args)]
pub struct ShardArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Where to put the files
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Most bytes of tensors in a file; 5GB is 5,000,000,000 and 5GiB a little more
    #[arg(long, value_name = "SIZE", value_parser = decimal_size, default_value = "5GB")]
    pub max_size: u64,
    /// Beginning of the files' names
    #[arg(long, value_name = "NAME", default_value = "pytorch_model")]
    pub prefix: String,
    /// Take only what is below this name: state_dict
    #[arg(long, value_name = "NAME")]
    pub take: Option<String>,
    /// Write plain dicts, without the versions of modules: byte for byte the files of huggingface_hub
    #[arg(long)]
    pub plain: bool,
    /// Say what would be written, write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Replace an earlier set as one: its files PREFIX-*-of-*.bin, PREFIX.bin and the index
    #[arg(short, long)]
    pub force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// How to write.
    #[command(flatten)]
    pub saving: Saving,
}

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
    /// In the order of the files and of what they hold.
    #[serde(serialize_with = "as_map")]
    weight_map: Vec<(&'a str, &'a str)>,
}

fn as_map<S: Serializer>(pairs: &[(&str, &str)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
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
        return Err(Failure::usage(format!("'{prefix}' is not the beginning of a file's name")));
    }
    let checkpoint = open::checkpoint(&args.input, say)?;
    let in_file = |failure: Failure| failure.in_file(checkpoint.source().name());
    let draft = state_dict::taken(&checkpoint, args.take.as_deref()).map_err(in_file)?;
    let draft = opaque_callables::checked(draft, args.saving.tensors_only, say).map_err(in_file)?;
    let tensors = state_dict::flat(&draft)
        .map_err(|failure| in_file(failure.help(state_dict::NO_STATE_DICT)))?;
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
    let index = (files.len() > 1).then(|| file_set::index_name(prefix));
    if !args.dry_run {
        fs::create_dir_all(&args.directory)
            .map_err(|error| cannot_write(&args.directory, &error))?;
        let progress = Progress::new("writing", total_size, say.quiet || args.json);
        write(args, &draft, &shards, &files, index.as_deref(), total_size, &progress)?;
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
        let line = |file: &str, format: &str| {
            let path = args.directory.join(file);
            match args.dry_run {
                true => would_write(&path, format),
                false => wrote(&path, format),
            }
        };
        for (file, shard) in files.iter().zip(&shards) {
            let held = count(shard.tensors.len(), "tensor");
            output::remark(say.color, &line(file, TORCH_SAVE).plain(format!(": {held}")));
        }
        if let Some(index) = &index {
            let line = line(index, "index");
            output::remark(say.color, &line.dim(", by which all are opened at once"));
        }
    }
    Ok(Outcome::Clean)
}

/// All files are complete before any takes its name; the index is last. With `--force`, they take the place
/// of an earlier set as one. Each file has the versions of all modules, where the whole has them: only an
/// OrderedDict can carry those.
fn write(
    args: &ShardArgs,
    whole: &Draft,
    shards: &[Shard],
    files: &[String],
    index: Option<&str>,
    total_size: u64,
    progress: &Progress,
) -> Result<(), Failure> {
    let none = [Shard { tensors: Vec::new() }];
    let shards = if shards.is_empty() { &none } else { shards };
    let set = match args.force {
        true => Some(FileSet::replace(&args.directory, &args.prefix)?),
        false => None,
    };
    let mut written = Vec::new();
    // Of each tensor, the place of its file.
    let mut places = Vec::new();
    let versions = !args.plain && whole.root().metadata().is_some();
    let kind = if versions { DictKind::OrderedDict } else { DictKind::Dict };
    for (at, (shard, name)) in shards.iter().zip(files).enumerate() {
        let path = args.directory.join(name);
        let first = match (&set, index) {
            (Some(set), Some(_)) => args.directory.join(set.first_name(name)),
            _ => path.clone(),
        };
        let mut state = StateDict::of_kind(kind);
        let tensors: Vec<&str> = shard.tensors.iter().map(|(tensor, _)| tensor.as_str()).collect();
        state.copy_entries(whole.root(), &tensors);
        places.extend(tensors.into_iter().map(|tensor| (tensor, at)));
        if versions {
            state.copy_metadata(whole.root());
        }
        let state = state.finish();
        let (force, saving) = (args.force, &args.saving);
        let file = saving::write_as(state.root(), &path, &first, force, saving, progress)?;
        written.push((name.clone(), file));
    }
    let mut indexes = Vec::new();
    if let Some(index) = index {
        let path = args.directory.join(index);
        let first: Vec<String> = written.iter().map(|(_, file)| base(file.target())).collect();
        // The second is for when the files have got their names.
        let both = if first == files { vec![files] } else { vec![&first[..], files] };
        for files in both {
            let weight_map =
                places.iter().map(|&(tensor, at)| (tensor, files[at].as_str())).collect();
            indexes.push(write_index(&path, args.force, total_size, weight_map)?);
        }
    }
    match set {
        Some(set) => set.publish(Written { files: written, indexes }),
        None => {
            let files = written.into_iter().map(|(_, file)| file).chain(indexes);
            files.into_iter().try_for_each(AtomicFile::commit)
        }
    }
}

fn base(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn write_index(
    path: &Path,
    force: bool,
    total_size: u64,
    weight_map: Vec<(&str, &str)>,
) -> Result<AtomicFile, Failure> {
    let mut file = AtomicFile::create(path, force)?;
    let index = Index { metadata: Metadata { total_size }, weight_map };
    let json = serde_json::to_string_pretty(&index)
        .map_err(|error| Failure::unreadable(error.to_string()))?;
    file.write_all(ascii(&json).as_bytes()).map_err(|error| cannot_write(path, &error))?;
    Ok(file)
}

/// JSON as Python's `json.dump` has it without being asked otherwise: other characters than ASCII's
/// stand in strings only, where they can be escaped.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' | ' '..='~' => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out
}

/// In order, a new file where the next storage would pass the limit; a storage above the limit has a
/// file of its own. Tensors of one storage go where its first went, behind what else is there. Storages
/// without bytes count as one. Also gives the bytes of all storages, each once.
fn split(tensors: Vec<(String, Tensor)>, limit: u64) -> (Vec<Shard>, u64) {
    let mut shards: Vec<Shard> = Vec::new();
    // By storage: the file it is in, and the tensors that share it with the first, by first appearance.
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut ties: Vec<(usize, Vec<(String, Tensor)>)> = Vec::new();
    // The file that is being filled, and its bytes. It is numbered when it is full.
    let mut open: Option<(usize, u64)> = None;
    let mut order: Vec<usize> = Vec::new();
    let mut total = 0u64;
    for (name, tensor) in tensors {
        let storage = tensor.storage().map(|storage| (storage.id(), storage.nbytes()));
        let (id, size) = match storage {
            // All are at address 0 in PyTorch.
            Some((_, 0)) => (Some(0), 0),
            Some((id, size)) => (Some(id), size),
            None => (None, tensor.nbytes()),
        };
        if let Some(&tie) = id.and_then(|id| places.get(&id)) {
            ties[tie].1.push((name, tensor));
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
        if let Some(id) = id {
            places.insert(id, ties.len());
            ties.push((at, Vec::new()));
        }
    }
    for (at, tensors) in ties {
        shards[at].tensors.extend(tensors);
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

    #[test]
    fn tensors_that_share_come_last() {
        let (one, other, none) = (tensor(4), tensor(4), tensor(0));
        let tensors =
            [("a", &one), ("e", &none), ("b", &other), ("b2", &other), ("a2", &one), ("e2", &none)];
        let tensors = tensors.map(|(name, tensor)| (name.to_owned(), tensor.clone())).to_vec();
        let (shards, total) = split(tensors, 100);
        let names: Vec<&str> = shards[0].tensors.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, total), (vec!["a", "e", "b", "a2", "e2", "b2"], 8));
    }

    #[test]
    fn indexes_are_ascii() {
        assert_eq!(ascii("{\n  \"ü😀\u{7f}\"}"), "{\n  \"\\u00fc\\ud83d\\ude00\\u007f\"}");
    }
}
