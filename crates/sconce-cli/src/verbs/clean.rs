//! `sconce clean`: a checkpoint once more, with nothing in it but what can be proven harmless.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use sconce::checkpoint::{DictKind, Draft, Node, Object, ObjectId, StateDict, Value};
use sconce::scan::{Verdict as Word, scan};
use serde::Serialize;

use crate::arguments::reading::Input;
use crate::arguments::saving::Saving;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{self, Line, Out, Progress, SCHEMA_VERSION, count};
use crate::read::open::{self, Say};
use crate::write::saving;
use crate::write::wrote::wrote;

/// `sconce clean`.
#[derive(Debug, Args)]
#[command(
    after_help = "Kept are tensors, numbers, text, bytes, and the dicts, lists and tuples around them; \
an nn.Module becomes its state dict. All else is left out, by name. What is written is scanned before it \
takes its name, and must be clean.\n\nExamples:\n  sconce clean model.pt model.clean.pt\n  \
sconce clean download.bin weights.pt --json"
)]
pub struct CleanArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Where to write
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// How the checkpoint is written.
    #[command(flatten)]
    pub saving: Saving,
    /// Overwrite OUT
    #[arg(short, long)]
    pub force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}

/// Objects nested deeper than this are left out; no real checkpoint comes near it.
const MAX_DEPTH: usize = 200;
/// Names of what is left out that are shown.
const MOST_SHOWN: usize = 20;
/// Names that are kept, in all.
const MOST_DROPPED: usize = 10_000;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    input: &'a str,
    output: &'a str,
    tensors: usize,
    values: usize,
    dropped: &'a [Dropped],
}

/// What was left out.
#[derive(Debug, Serialize)]
struct Dropped {
    name: String,
    what: String,
}

/// Exit code 0 also where something was left out; 2 where nothing is left.
pub fn run(args: &CleanArgs, out: &mut Out, say: Say) -> Verdict {
    let input = open::name(&args.input.file);
    saving::checkpoint_name(&args.output)?;
    let mut load = args.input.load.clone();
    load.keep_going = true;
    let source = open::source(&args.input.file, open::map_mode(&load), &open::limits(&load))?;
    let checkpoint = open::options(&load)
        .open_source(source)
        .map_err(|error| Failure::from(error).in_file(&input))?;
    let mut cleaner = Cleaner::default();
    let kept = cleaner.value(checkpoint.root(), "", 0);
    let Some(kept) = kept.filter(|_| cleaner.tensors + cleaner.values > 0) else {
        return Err(
            Failure::unreadable("nothing in the file can be proven harmless").in_file(input)
        );
    };
    let draft = Draft::from(kept);
    let progress = Progress::new("writing", 0, say.quiet);
    let mut file = saving::write(draft.root(), &args.output, args.force, &args.saving, &progress)
        .map_err(|failure| failure.in_file(&input))?;
    drop(progress);
    if let Some(written) = file.written()? {
        let again = open::source(written.as_os_str(), open::map_mode(&load), &open::limits(&load))?;
        let report = scan(&again, &open::limits(&load));
        if report.verdict != Word::Clean {
            let why = report.findings.first().map_or("", |finding| finding.reason.as_str());
            return Err(Failure::unreadable(format!("what was written is not clean: {why}"))
                .note("nothing was kept of it; this is a fault of sconce: please report it"));
        }
    }
    file.commit()?;
    report(args, &input, &cleaner, out, say)?;
    Ok(Outcome::Clean)
}

fn report(
    args: &CleanArgs,
    input: &str,
    cleaner: &Cleaner,
    out: &mut Out,
    say: Say,
) -> Result<(), Failure> {
    if args.json {
        return out.json(&Document {
            schema_version: SCHEMA_VERSION,
            input,
            output: &args.output.to_string_lossy(),
            tensors: cleaner.tensors,
            values: cleaner.values,
            dropped: &cleaner.dropped,
        });
    }
    if say.quiet {
        return Ok(());
    }
    let remark = |line: Line| output::remark(say.color, &line);
    for dropped in cleaner.dropped.iter().take(MOST_SHOWN) {
        let name = if dropped.name.is_empty() { "the root" } else { &dropped.name };
        remark(Line::new().dim("  left out ").plain(name).dim(format!("  {}", dropped.what)));
    }
    let more = cleaner.dropped_in_all.saturating_sub(MOST_SHOWN);
    if more > 0 {
        remark(Line::new().dim(format!("  left out {more} more: --json has them")));
    }
    let kept =
        format!("{}, {}", count(cleaner.tensors, "tensor"), count(cleaner.values, "other value"));
    remark(Line::new().dim("  kept     ").plain(kept));
    remark(wrote(&args.output, "torch.save layout, scanned: clean"));
    Ok(())
}

/// Makes values of objects, and notes what has to stay behind.
#[derive(Default)]
struct Cleaner {
    /// Containers that were made already, to keep what is one object one; `None` while they are being made.
    made: HashMap<ObjectId, Option<Value>>,
    tensors: usize,
    values: usize,
    dropped: Vec<Dropped>,
    dropped_in_all: usize,
}

impl Cleaner {
    fn drop(&mut self, name: &str, what: impl Into<String>) -> Option<Value> {
        self.dropped_in_all += 1;
        if self.dropped.len() < MOST_DROPPED {
            self.dropped.push(Dropped { name: name.to_owned(), what: what.into() });
        }
        None
    }

    /// The value of an object; `None` where it has to stay behind, which is noted then.
    fn value(&mut self, object: Object<'_>, name: &str, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return self.drop(name, format!("nested more than {MAX_DEPTH} deep"));
        }
        let value = match object.data() {
            Node::None => Value::None,
            Node::Bool(truth) => Value::Bool(*truth),
            Node::Int(number) => Value::Int(*number),
            Node::BigInt(number) => Value::BigInt((**number).clone()),
            Node::Float(number) => Value::Float(*number),
            Node::Complex(re, im) => Value::Complex(*re, *im),
            Node::Str(text) => Value::Str(text.to_string()),
            Node::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
            Node::Device(device) => Value::Device(device.clone()),
            Node::DType(_) | Node::Size(_) | Node::Layout(_) => Value::from(Draft::new(object)),
            Node::Tensor(_) => return self.tensor(object, name),
            Node::List(_) | Node::Tuple(_) | Node::Dict(_) => {
                return self.container(object, name, depth);
            }
            _ if object.as_module().is_some() => return self.module(object, name),
            Node::Class(class) => {
                return self.drop(name, format!("the class {}", class.full_name()));
            }
            _ => return self.drop(name, object.class_name()),
        };
        self.values += 1;
        Some(value)
    }

    fn tensor(&mut self, object: Object<'_>, name: &str) -> Option<Value> {
        let tensor = object.as_tensor()?;
        if let Err(error) = tensor.storage().map_or(Ok(()), |storage| storage.bytes().map(drop)) {
            return self.drop(name, format!("a tensor whose data cannot be read: {error}"));
        }
        self.tensors += 1;
        Some(Value::Tensor(tensor.clone()))
    }

    fn module(&mut self, object: Object<'_>, name: &str) -> Option<Value> {
        let module = object.as_module()?;
        let mut state = StateDict::new();
        for (inner, tensor) in module.state_dict() {
            state.insert(inner, tensor.clone());
            self.tensors += 1;
        }
        self.drop(name, format!("the module {}, but for its state dict", module.class_name()));
        Some(Value::from(state))
    }

    fn container(&mut self, object: Object<'_>, name: &str, depth: usize) -> Option<Value> {
        match self.made.get(&object.id()) {
            Some(Some(value)) => return Some(value.clone()),
            Some(None) => return self.drop(name, "an object that holds itself"),
            None => {}
        }
        self.made.insert(object.id(), None);
        let value = match object.data() {
            Node::Dict(dict) => {
                let kind = dict.kind;
                if kind == DictKind::OrderedDict && self.is_state_dict(object) {
                    self.state_dict(object)
                } else {
                    self.dict(object, name, depth)
                }
            }
            Node::Tuple(_) => Value::Tuple(self.items(object, name, depth)),
            _ => Value::List(self.items(object, name, depth)),
        }
        .shared();
        self.made.insert(object.id(), Some(value.clone()));
        Some(value)
    }

    /// Whether all that a dict holds are tensors under names.
    fn is_state_dict(&self, object: Object<'_>) -> bool {
        object.entries().all(|(key, value)| key.as_str().is_some() && value.as_tensor().is_some())
    }

    fn state_dict(&mut self, object: Object<'_>) -> Value {
        let mut state = StateDict::new();
        for (key, value) in object.entries() {
            if let (Some(name), Some(Value::Tensor(tensor))) =
                (key.as_str(), self.tensor(value, key.as_str().unwrap_or_default()))
            {
                state.insert(name, tensor);
            }
        }
        state.copy_metadata(object);
        Value::from(state)
    }

    fn dict(&mut self, object: Object<'_>, name: &str, depth: usize) -> Value {
        let mut entries = Vec::with_capacity(object.len());
        for (key, value) in object.entries() {
            let shown = match key.as_str() {
                Some(text) => text.to_owned(),
                None => key.repr(60),
            };
            let inner = joined(name, &shown);
            let plain = matches!(
                key.data(),
                Node::None
                    | Node::Bool(_)
                    | Node::Int(_)
                    | Node::Float(_)
                    | Node::Str(_)
                    | Node::Bytes(_)
            );
            if !plain {
                self.drop(&inner, "an entry whose key is not a plain value");
                continue;
            }
            let (Some(key), Some(value)) =
                (self.value(key, &inner, depth + 1), self.value(value, &inner, depth + 1))
            else {
                continue;
            };
            entries.push((key, value));
        }
        Value::Dict(entries)
    }

    /// The items of a list or tuple. `None` stands for what is left out, so that the others keep their places.
    fn items(&mut self, object: Object<'_>, name: &str, depth: usize) -> Vec<Value> {
        object
            .iter()
            .enumerate()
            .map(|(at, item)| {
                self.value(item, &joined(name, &at.to_string()), depth + 1).unwrap_or(Value::None)
            })
            .collect()
    }
}

fn joined(name: &str, inner: &str) -> String {
    if name.is_empty() { inner.to_owned() } else { format!("{name}.{inner}") }
}
