//! `sconce convert`: tensors out to safetensors, npz and npy; to .pt see `to_checkpoint`.

mod to_checkpoint;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use sconce::checkpoint::{Change, ChangeKind, Checkpoint, LoadOptions, Node, StateDict};
use sconce::export::{
    Plan, Sharing, npz_name, safetensors_header, write_npy, write_npz, write_safetensors,
};
use sconce::source::Source;
use sconce::tensor::{DType, Layout, Tensor};
use serde::Serialize;

use crate::arguments::reading::Input;
use crate::arguments::rename::{self, Rename};
use crate::arguments::saving::Saving;
use crate::arguments::selection::Names;
use crate::arguments::values::dtype;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{self, Line, Out, Progress, SCHEMA_VERSION, Sizes, Style, count, shell_word};
use crate::read::open::{self, Say};
use crate::select::glob::Filter;
use crate::select::{pick, suggest};
use crate::write::atomic::AtomicFile;
use crate::write::overflow;
use crate::write::saving::refused;
use crate::write::wrote::wrote;

/// `sconce convert`.
#[derive(Debug, Args)]
#[command(after_help = "What does not fit the format is an error that names the tensor: \
--dense, --dtype, --exclude or --keep-going says what is to be done. A .pt file holds everything; from \
.safetensors and .npz it gets a dict of tensors in the file's order, from .npy a tensor.")]
pub struct ConvertArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Where to write; - is standard output
    #[arg(value_name = "OUT", required_unless_present = "output")]
    pub out: Option<PathBuf>,
    /// Where to write
    #[arg(short, long, value_name = "OUT", conflicts_with = "out")]
    pub output: Option<PathBuf>,
    /// Format to write (default: by the extension of OUT)
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<Format>,
    /// Take only what is below this name, and cut it off the names: state_dict
    #[arg(long, value_name = "NAME")]
    pub take: Option<String>,
    /// Which names (after --take).
    #[command(flatten)]
    pub names: Names,
    /// What to do with tensors that share memory
    #[arg(long, value_enum, default_value = "clone")]
    pub shared: SharedChoice,
    /// Change names last: s/PATTERN/REPLACEMENT/ (flags g and i) or OLD=NEW (repeatable, in order)
    #[arg(long, value_name = "s/…/…/", value_parser = Rename::parse)]
    pub rename: Vec<Rename>,
    /// Convert floating-point tensors to this dtype
    #[arg(long, alias = "cast", value_name = "DTYPE", value_parser = dtype)]
    pub dtype: Option<DType>,
    /// Let numbers become infinite where --dtype cannot hold them
    #[arg(long, requires = "dtype")]
    pub allow_overflow: bool,
    /// For .pt: write parameters and buffers only, as nn.Module.state_dict() gives them
    #[arg(long)]
    pub state_dict: bool,
    /// For .pt: put tensors on another device, as torch.load's map_location does (repeatable): cpu for
    /// all, or cuda:0=cpu
    #[arg(long, value_name = "DEVICE", value_parser = crate::arguments::values::place)]
    pub map_location: Vec<crate::arguments::values::Place>,
    /// Write sparse tensors as dense ones and quantized ones as float32
    #[arg(long)]
    pub dense: bool,
    /// Say what would be written, write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Read the written file again and compare
    #[arg(long)]
    pub verify: bool,
    /// Overwrite OUT
    #[arg(short, long)]
    pub force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// How to write .pt.
    #[command(flatten)]
    pub saving: Saving,
}

/// Formats that `sconce convert` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The archive that torch.save writes
    #[value(alias = "pt", alias = "pth")]
    Zip,
    /// The stream that torch.save wrote before PyTorch 1.6
    Legacy,
    /// safetensors
    Safetensors,
    /// NumPy arrays in a zip archive
    Npz,
    /// One NumPy array
    Npy,
}

/// Formats that hold nothing but tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// safetensors
    Safetensors,
    /// NumPy arrays in a zip archive
    Npz,
    /// One NumPy array
    Npy,
}

impl ExportFormat {
    fn name(self) -> &'static str {
        match self {
            ExportFormat::Safetensors => "safetensors",
            ExportFormat::Npz => "npz",
            ExportFormat::Npy => "npy",
        }
    }
}

/// `--shared`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SharedChoice {
    /// Every name gets its own copy
    Clone,
    /// Equal views are written once; safetensors metadata keeps the other names
    Keep,
    /// Refuse
    Error,
}

/// The name of a tensor that is the whole file, in formats that need one.
const ROOT: &str = "tensor";

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    input: &'a str,
    output: &'a str,
    format: &'static str,
    written: bool,
    verified: bool,
    tensors: usize,
    nbytes: u64,
    aliases: BTreeMap<&'a str, &'a str>,
    cloned: BTreeMap<&'a str, &'a str>,
    renamed: &'a BTreeMap<String, String>,
    left_out: &'a [String],
    changed: &'a [String],
}

/// Everything that is decided before a byte is written.
struct Job {
    format: ExportFormat,
    plan: Plan,
    /// What the file holds that will not be written.
    left_out: Vec<String>,
    /// Names that the format has to spell otherwise.
    renamed: BTreeMap<String, String>,
    /// Tensors written as another dtype or layout.
    changed: Vec<String>,
    /// What `--dtype` cast; the numbers that were lost are counted when the tensors are written.
    casts: Vec<Change>,
}

pub fn run(args: &ConvertArgs, out: &mut Out, say: Say) -> Verdict {
    let target = args.out.as_deref().or(args.output.as_deref()).unwrap_or(Path::new("-"));
    let goal = goal(args, target)?;
    let checkpoint = open::placed(&args.input, &args.map_location, say)?;
    let format = match goal {
        Goal::Export(format) => format,
        Goal::Resave { legacy } => {
            return to_checkpoint::run(args, target, legacy, &checkpoint, out, say);
        }
    };
    let for_checkpoints = args.saving.given().or(args.state_dict.then_some("--state-dict"));
    let placed = !args.map_location.is_empty();
    let for_checkpoints = for_checkpoints.or(placed.then_some("--map-location"));
    if let Some(flag) = for_checkpoints {
        return Err(Failure::usage(format!("{flag} is for .pt files")));
    }
    let job = prepare(&checkpoint, args, format, say)?;
    let to_stdout = target == Path::new("-");
    if to_stdout {
        check_stdout(args, out)?;
    }
    let started = Instant::now();
    let mut verified = false;
    if args.dry_run {
        job.refuse_overflow(args)?;
    } else {
        let total = job.nbytes();
        let progress = Progress::new("writing", total, say.quiet || args.json);
        if to_stdout {
            // What is written cannot be taken back.
            job.refuse_overflow(args)?;
            let mut to = OutWriter::new(out);
            write(&job, &mut to, &mut |bytes| progress.advance(bytes))
                .map_err(|failure| to.failure().unwrap_or(failure))?;
        } else {
            let mut file = AtomicFile::create(target, args.force)?;
            write(&job, &mut file, &mut |bytes| progress.advance(bytes))
                .map_err(|failure| file.failure().unwrap_or(failure))
                .map_err(|failure| failure.in_file(target.to_string_lossy()))?;
            drop(progress);
            job.refuse_overflow(args)?;
            // A file that does not read back never gets its name.
            if args.verify
                && let Some(path) = file.written()?
            {
                verify(&job, path).map_err(|failure| failure.in_file(target.to_string_lossy()))?;
                verified = true;
            }
            file.commit()?;
        }
    }
    if args.json {
        let (input, output) = (open::name(&args.input.file), target.to_string_lossy());
        out.json(&job.document(&input, &output, !args.dry_run, verified))?;
    } else if !say.quiet {
        for line in job.report(args, target, started, verified, out.sizes()) {
            output::remark(say.color, &line);
        }
    }
    Ok(Outcome::Clean)
}

/// Whether data may go to standard output.
pub fn check_stdout(args: &ConvertArgs, out: &Out) -> Result<(), Failure> {
    if out.is_terminal() && !args.dry_run {
        return Err(Failure::usage("binary data does not go to a terminal").help("name a file"));
    }
    if args.json && !args.dry_run {
        return Err(Failure::usage("--json and the data cannot both go to standard output"));
    }
    Ok(())
}

/// What is to be made of a checkpoint.
enum Goal {
    /// A file of its tensors.
    Export(ExportFormat),
    /// A checkpoint of its objects, as an archive or as the stream of old.
    Resave { legacy: bool },
}

fn goal(args: &ConvertArgs, target: &Path) -> Result<Goal, Failure> {
    if let Some(format) = args.to {
        return Ok(match format {
            Format::Zip => Goal::Resave { legacy: false },
            Format::Legacy => Goal::Resave { legacy: true },
            Format::Safetensors => Goal::Export(ExportFormat::Safetensors),
            Format::Npz => Goal::Export(ExportFormat::Npz),
            Format::Npy => Goal::Export(ExportFormat::Npy),
        });
    }
    let extension = target.extension().map(|text| text.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("safetensors") => Ok(Goal::Export(ExportFormat::Safetensors)),
        Some("npz") => Ok(Goal::Export(ExportFormat::Npz)),
        Some("npy") => Ok(Goal::Export(ExportFormat::Npy)),
        Some("pt" | "pth" | "bin" | "ckpt") => Ok(Goal::Resave { legacy: args.saving.legacy }),
        _ => Err(Failure::usage(format!(
            "the name '{}' does not say a format",
            target.to_string_lossy()
        ))
        .help("end it in .safetensors, .npz, .npy or .pt, or give --to")),
    }
}

fn prepare(
    checkpoint: &Checkpoint,
    args: &ConvertArgs,
    format: ExportFormat,
    say: Say,
) -> Result<Job, Failure> {
    let filter = Filter::new(&args.names.include, &args.names.exclude)?;
    let mut taken: Vec<(String, Tensor)> = Vec::new();
    let mut left_out = LeftOut::default();
    checkpoint.visit(|name, object| {
        let inner = match &args.take {
            None => Some(name),
            Some(prefix) => below(name, prefix),
        };
        let tensor = pick::tensor_of(object);
        match (inner, tensor, object.data()) {
            (Some(inner), Some(tensor), Node::Tensor(_)) if filter.accepts(inner) => {
                let inner = if inner.is_empty() { ROOT } else { inner };
                taken.push((inner.to_owned(), tensor.clone()));
            }
            (_, Some(_), Node::Tensor(_)) => left_out.tensors += 1,
            (_, _, Node::Array(_)) => left_out.arrays.0 += 1,
            (_, _, Node::Scalar(_)) => left_out.arrays.1 += 1,
            _ if pick::is_state_dict_metadata(name) => {}
            _ => left_out.values.push(name.to_owned()),
        }
    });
    if taken.is_empty() {
        return Err(nothing_taken(checkpoint, args));
    }
    let mut changed = Vec::new();
    rename(&mut taken, &args.rename, &mut changed)?;
    if args.dense {
        for (name, tensor) in &mut taken {
            densify(name, tensor, &mut changed)?;
        }
    }
    let casts = match args.dtype {
        Some(dtype) => cast(&mut taken, dtype)?,
        None => Vec::new(),
    };
    for change in &casts {
        if let ChangeKind::Cast { from, to, .. } = &change.kind {
            changed.push(format!("'{}': {} → {}", change.name, from.name(), to.name()));
        }
    }
    let mut left_out = left_out.lines();
    if args.input.load.keep_going {
        taken.retain(|(name, tensor)| match writable(name, tensor, format) {
            Ok(()) => true,
            Err(failure) => {
                left_out.push(format!("'{name}': {}", failure.message()));
                if !say.quiet {
                    output::warn(say.color, &format!("left out: {}", failure.message()));
                }
                false
            }
        });
    }
    let sharing = match args.shared {
        SharedChoice::Clone => Sharing::Clone,
        SharedChoice::Keep => Sharing::Keep,
        SharedChoice::Error => Sharing::Error,
    };
    if sharing == Sharing::Keep && format != ExportFormat::Safetensors {
        return Err(Failure::usage(
            "only safetensors has a place for the names that --shared keep drops",
        )
        .help("--shared clone"));
    }
    let plan = Plan::new(taken.iter().map(|(name, tensor)| (name.clone(), tensor)), sharing);
    let plan = plan.map_err(|error| match error {
        sconce::export::Error::Shared { .. } => Failure::from(error)
            .in_file(checkpoint.source().name())
            .help("--shared clone writes both; --shared keep writes one and keeps the other name"),
        sconce::export::Error::Name(_) => Failure::from(error)
            .in_file(checkpoint.source().name())
            .note("different keys, such as 1 and '1', can come to one name")
            .help("--exclude NAME leaves them out"),
        error => Failure::from(error).in_file(checkpoint.source().name()),
    })?;
    for (name, tensor) in &plan.tensors {
        writable(name, tensor, format)
            .map_err(|failure| failure.in_file(checkpoint.source().name()))?;
    }
    if format == ExportFormat::Npy && plan.tensors.len() != 1 {
        return Err(Failure::usage(format!(
            "an .npy file holds one array, this would be {}",
            count(plan.tensors.len(), "tensor")
        ))
        .help("choose one with --include NAME, or write .npz"));
    }
    let mut renamed = BTreeMap::new();
    if format == ExportFormat::Npz {
        for (name, _) in &plan.tensors {
            let spelled = npz_name(name);
            if spelled.strip_suffix(".npy") != Some(name) {
                renamed.insert(name.clone(), spelled);
            }
        }
    }
    Ok(Job { format, plan, left_out, renamed, changed, casts })
}

/// Applies `--rename`.
fn rename(
    taken: &mut [(String, Tensor)],
    rules: &[Rename],
    changed: &mut Vec<String>,
) -> Result<(), Failure> {
    if rules.is_empty() {
        return Ok(());
    }
    for (name, _) in taken {
        let new = rename::apply_all(rules, name);
        if new != *name {
            changed.push(format!("'{name}' → '{new}'"));
            *name = new;
        }
    }
    match changed.is_empty() {
        true => Err(Failure::usage("--rename: no name changes")),
        false => Ok(()),
    }
}

/// What is behind a prefix and its dot; the prefix itself becomes "".
fn below<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    let rest = name.strip_prefix(prefix)?;
    if rest.is_empty() || prefix.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

fn nothing_taken(checkpoint: &Checkpoint, args: &ConvertArgs) -> Failure {
    let file = checkpoint.source().name();
    let failure = Failure::usage("no tensor to write").in_file(file);
    let tensors = checkpoint.tensors();
    if tensors.is_empty() {
        let failure = Failure::unreadable("there are no tensors in the file").in_file(file);
        return failure.help(format!("sconce tree --all {file}   shows what is"));
    }
    let Some(take) = &args.take else {
        return failure
            .help(format!("sconce ls {}   lists what --include can match", shell_word(file)));
    };
    let mut heads: Vec<&str> = Vec::new();
    for named in &tensors {
        let ends = named.name.match_indices('.').map(|(at, _)| at).take(3);
        for end in ends {
            if !heads.contains(&&named.name[..end]) && heads.len() < 1000 {
                heads.push(&named.name[..end]);
            }
        }
    }
    let close = suggest::closest(take, heads.iter().copied(), 3);
    if let [first, ..] = &close[..] {
        let message = format!("no entry '{take}'; did you mean '{first}'?");
        return Failure::usage(message).in_file(file);
    }
    let shown: Vec<&str> = heads.into_iter().take(5).collect();
    let failure = Failure::usage(format!("no entry '{take}'")).in_file(file);
    if shown.is_empty() { failure } else { failure.help(format!("there is: {}", shown.join(", "))) }
}

/// Applies `--dense`.
fn densify(name: &str, tensor: &mut Tensor, changed: &mut Vec<String>) -> Result<(), Failure> {
    let fail = |error: sconce::tensor::Error| {
        Failure::unreadable(format!("cannot convert '{name}': {error}"))
    };
    if !tensor.has_data() {
        return Ok(());
    }
    if tensor.quantizer().is_some() {
        changed.push(format!("'{name}': {} → float32", tensor.dtype().name()));
        *tensor = tensor.dequantize().map_err(fail)?;
    } else if tensor.layout() != Layout::Strided && tensor.nested_parts().is_none() {
        changed.push(format!("'{name}': {} → dense", tensor.layout().name()));
        *tensor = tensor.to_dense().map_err(fail)?;
    }
    Ok(())
}

/// Applies `--dtype`. Nothing is computed before it is written.
fn cast(taken: &mut [(String, Tensor)], dtype: DType) -> Result<Vec<Change>, Failure> {
    // Names may come twice at this point; places do not.
    let places = taken.iter().enumerate();
    let state: StateDict =
        places.map(|(at, (_, tensor))| (at.to_string(), tensor.clone())).collect();
    let mut draft = state.finish();
    let mut changes = draft.cast(dtype, |_| true).map_err(refused)?;
    for ((_, tensor), (_, value)) in taken.iter_mut().zip(draft.root().entries()) {
        if let Some(cast) = value.as_tensor() {
            *tensor = cast.clone();
        }
    }
    for change in &mut changes {
        if let Some((name, _)) = change.name.parse().ok().and_then(|at: usize| taken.get(at)) {
            change.name.clone_from(name);
        }
    }
    Ok(changes)
}

/// Whether the format can hold a tensor, with what to do if not.
fn writable(name: &str, tensor: &Tensor, format: ExportFormat) -> Result<(), Failure> {
    let one = [(name.to_owned(), tensor.clone())];
    let checked = match format {
        ExportFormat::Safetensors => safetensors_header(&one, &BTreeMap::new()).map(drop),
        ExportFormat::Npz | ExportFormat::Npy => numpy_holds(name, tensor),
    };
    checked.map_err(|error| {
        let dtype = matches!(error, sconce::export::Error::DType { .. });
        let failure = Failure::from(error);
        let float = tensor.dtype().is_floating_point();
        match (tensor.has_data(), dtype) {
            (false, _) => failure.help("--exclude leaves it out"),
            (true, true) if float && format != ExportFormat::Safetensors => {
                failure.help("--dtype float32 converts it; a .safetensors file holds it as it is")
            }
            (true, true) => failure.help("--exclude leaves it out, --keep-going all such tensors"),
            (true, false) => {
                failure.help("--dense writes it as a plain tensor, --exclude leaves it out")
            }
        }
    })
}

fn numpy_holds(name: &str, tensor: &Tensor) -> Result<(), sconce::export::Error> {
    // The writer's own checks, on a tensor of no elements.
    if let Ok(empty) = tensor.narrow(0, 0, 0) {
        return write_npz(&[(name.to_owned(), empty)], io::sink(), &mut |_| {});
    }
    write_npz(&[(name.to_owned(), tensor.clone())], io::sink(), &mut |_| {})
}

#[derive(Default)]
struct LeftOut {
    tensors: usize,
    /// Numpy's arrays, and its scalars.
    arrays: (usize, usize),
    values: Vec<String>,
}

impl LeftOut {
    /// In words, names of values by their first parts.
    fn lines(self) -> Vec<String> {
        let mut out = Vec::new();
        if self.tensors > 0 {
            out.push(count(self.tensors, "tensor"));
        }
        out.extend(pick::count_arrays(self.arrays));
        let mut heads: Vec<(String, usize)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for name in &self.values {
            let head = name.split('.').next().unwrap_or_default();
            let at = *places.entry(head.to_owned()).or_insert_with(|| {
                heads.push((head.to_owned(), 0));
                heads.len() - 1
            });
            heads[at].1 += 1;
        }
        for (head, times) in heads {
            let head = if head.is_empty() { "the root value".to_owned() } else { head };
            out.push(if times == 1 { head } else { format!("{head} ({times} values)") });
        }
        out
    }
}

fn write(job: &Job, to: &mut dyn Write, progress: &mut dyn FnMut(u64)) -> Result<(), Failure> {
    let tensors = &job.plan.tensors;
    let written = match job.format {
        ExportFormat::Safetensors => {
            let mut metadata = job.plan.metadata();
            // What transformers looks for before it reads a file.
            metadata.entry("format".to_owned()).or_insert_with(|| "pt".to_owned());
            write_safetensors(tensors, &metadata, to, progress)
        }
        ExportFormat::Npz => write_npz(tensors, to, progress),
        ExportFormat::Npy => write_npy(&tensors[0].1, Told { to, progress }).map_err(Into::into),
    };
    written.map_err(|error| match &error {
        sconce::export::Error::Io(io) => Failure::unreadable(format!("cannot write: {io}")),
        _ => Failure::from(error),
    })
}

/// Reads the file again and compares every byte.
fn verify(job: &Job, written: &Path) -> Result<(), Failure> {
    let wrong = |what: String| {
        Failure::unreadable(format!("what was written does not read back: {what}"))
            .note("nothing was left at that place")
    };
    let source = Source::open(written)?;
    let again = LoadOptions::new()
        .open_source(source)
        .map_err(|error| wrong(error.message().to_owned()))?;
    let found: HashMap<String, &Tensor> =
        again.tensors().into_iter().map(|named| (named.name, named.tensor)).collect();
    if found.len() != job.plan.tensors.len() {
        return Err(wrong(format!("it has {}", count(found.len(), "tensor"))));
    }
    for (name, tensor) in &job.plan.tensors {
        let stored = match job.format {
            ExportFormat::Npy => "",
            _ => job.renamed.get(name).map_or(name.as_str(), |name| name.trim_end_matches(".npy")),
        };
        let Some(other) = found.get(stored) else {
            return Err(wrong(format!("'{name}' is missing")));
        };
        let shape = tensor.sizes() == other.sizes() || tensor.dtype() == DType::Float4E2M1FNx2;
        if !shape || tensor.dtype() != other.dtype() {
            return Err(wrong(format!("'{name}' has another shape or dtype")));
        }
        let same = match (tensor.contiguous_bytes(), other.contiguous_bytes()) {
            (Ok(a), Ok(b)) => a == b || tensor.dtype() == DType::Bool && same_bools(&a, &b),
            _ => false,
        };
        if !same {
            return Err(wrong(format!("the elements of '{name}' differ")));
        }
    }
    Ok(())
}

/// numpy files hold only 0 and 1.
fn same_bools(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (*a != 0) == (*b != 0))
}

impl Job {
    fn refuse_overflow(&self, args: &ConvertArgs) -> Result<(), Failure> {
        if args.allow_overflow { Ok(()) } else { overflow::refuse(&self.casts) }
    }

    fn nbytes(&self) -> u64 {
        self.plan.tensors.iter().fold(0, |sum, (_, tensor)| sum.saturating_add(tensor.nbytes()))
    }

    fn document<'a>(
        &'a self,
        input: &'a str,
        output: &'a str,
        written: bool,
        verified: bool,
    ) -> Document<'a> {
        let pairs = |pairs: &'a [(String, String)]| {
            pairs.iter().map(|(name, other)| (name.as_str(), other.as_str())).collect()
        };
        Document {
            schema_version: SCHEMA_VERSION,
            input,
            output,
            format: self.format.name(),
            written,
            verified,
            tensors: self.plan.tensors.len(),
            nbytes: self.nbytes(),
            aliases: pairs(&self.plan.aliases),
            cloned: pairs(&self.plan.cloned),
            renamed: &self.renamed,
            left_out: &self.left_out,
            changed: &self.changed,
        }
    }

    fn report(
        &self,
        args: &ConvertArgs,
        target: &Path,
        started: Instant,
        verified: bool,
        sizes: Sizes,
    ) -> Vec<Line> {
        let row = |label: &str, text: String| Line::new().dim(format!("  {label:<8} ")).plain(text);
        let mut lines = vec![row("read", open::name(&args.input.file))];
        let taken = count(self.plan.tensors.len(), "tensor");
        lines.push(row("take", format!("{taken}, {}", sizes.show(self.nbytes()))));
        if !self.left_out.is_empty() {
            lines.push(row("left out", some(&self.left_out)));
        }
        if !self.changed.is_empty() {
            lines.push(row("changed", some(&self.changed)));
        }
        let pairs = |pairs: &[(String, String)]| {
            some(&pairs.iter().map(|(name, first)| format!("{name} = {first}")).collect::<Vec<_>>())
        };
        if !self.plan.aliases.is_empty() {
            let text = pairs(&self.plan.aliases);
            lines.push(row("tied", format!("{text}: stored once, names kept in __metadata__")));
        }
        if !self.plan.cloned.is_empty() {
            let text = pairs(&self.plan.cloned);
            lines.push(row("tied", format!("{text}: written for each name, no longer shared")));
        }
        if !self.renamed.is_empty() {
            let text: Vec<String> =
                self.renamed.iter().map(|(name, as_)| format!("'{name}' → {as_}")).collect();
            lines.push(row("renamed", some(&text)));
        }
        if args.dry_run {
            let target = target.to_string_lossy();
            lines.push(row("dry run", format!("nothing is written to {target}")));
            return lines;
        }
        let seconds = started.elapsed().as_secs_f64();
        let mut line = wrote(target, self.format.name()).dim(format!(" in {seconds:.2} s"));
        if verified {
            line = line.dim(" · ").add(Style::Good, "read back and compared: identical");
        }
        lines.push(line);
        lines
    }
}

/// A few of many.
fn some(items: &[String]) -> String {
    const MOST: usize = 6;
    let mut text = items[..items.len().min(MOST)].join(", ");
    if items.len() > MOST {
        text.push_str(&format!(", and {} more", items.len() - MOST));
    }
    text
}

/// A writer that tells of what passes, of much of it in parts.
struct Told<'w> {
    to: &'w mut dyn Write,
    progress: &'w mut dyn FnMut(u64),
}

impl Write for Told<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const PART: usize = 1 << 20;
        let written = self.to.write(&bytes[..bytes.len().min(PART)])?;
        (self.progress)(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Standard output as a writer.
pub struct OutWriter<'o> {
    out: &'o mut Out,
    /// The first error of writing, whatever those in between made of it.
    failed: Option<Failure>,
}

impl<'o> OutWriter<'o> {
    pub fn new(out: &'o mut Out) -> Self {
        OutWriter { out, failed: None }
    }

    /// Why writing failed, if it did; a pipe that was closed at its other end is no one's fault.
    pub fn failure(&self) -> Option<Failure> {
        self.failed.clone()
    }
}

impl Write for OutWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.raw(bytes).map_err(|failure| {
            let error = io::Error::other(failure.message().to_owned());
            self.failed.get_or_insert(failure);
            error
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_name() {
        let cases = [
            ("state_dict.fc.weight", "state_dict", Some("fc.weight")),
            ("state_dict", "state_dict", Some("")),
            ("state_dict2.x", "state_dict", None),
            ("x", "", Some("x")),
        ];
        for (name, prefix, want) in cases {
            assert_eq!(below(name, prefix), want, "{name}");
        }
    }

    #[test]
    fn what_is_left_out_in_words() {
        let values = ["epoch", "opt.lr", "opt.betas.0", "opt.betas.1"].map(str::to_owned).into();
        let left_out = LeftOut { tensors: 2, arrays: (1, 2), values };
        assert_eq!(
            left_out.lines(),
            ["2 tensors", "1 numpy array, 2 numpy scalars", "epoch", "opt (3 values)"]
        );
    }
}
