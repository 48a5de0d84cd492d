//! `sconce info`: a file on one screen.

use std::collections::{BTreeMap, HashMap, HashSet};

use clap::Args;
use sconce::Source;
use sconce::checkpoint::{Checkpoint, ErrorKind, FileKind, Identity, Node, Object, identify};
use sconce::scan::{Report, Rule};
use sconce::tensor::Tensor;
use serde::Serialize;

use crate::arguments::reading::{Input, Inputs, PolicyChoice};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION, Style, count, grouped};
use crate::read::exported;
use crate::read::open::{self, Say};
use crate::read::several;
use crate::report::exported::Exported;
use crate::report::numbers::dims;
use crate::report::program::Program;
use crate::report::safety;
use crate::report::tensor_rows::{self, Row};
use crate::select::pick;

/// `sconce info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The files.
    #[command(flatten)]
    pub input: Inputs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    bytes: u64,
    format: &'static str,
    description: &'static str,
    detail: String,
    pickle_protocol: Option<u8>,
    written_by: Option<&'static str>,
    byte_order: Option<&'static str>,
    archive_folder: &'a Option<String>,
    version: Option<u64>,
    format_version: &'a Option<String>,
    storage_alignment: &'a Option<String>,
    serialization_id: &'a Option<String>,
    records: usize,
    shards: &'a [String],
    trailing_bytes: u64,
    metadata: BTreeMap<&'a str, &'a str>,
    root: String,
    tensors: usize,
    arrays: usize,
    numel: i64,
    nbytes: u64,
    dtypes: Vec<DTypeTotal>,
    storages: usize,
    storage_bytes: u64,
    unused_storage_bytes: u64,
    shared_tensors: usize,
    largest: Vec<Largest<'a>>,
    globals: Globals,
    /// `clean`, `unknown`, `broken` or `dangerous`.
    verdict: &'static str,
    findings: Vec<safety::Row<'a>>,
    policy: Option<PolicyVerdict>,
    program: Option<&'a Program>,
    /// What a .pt2 file holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    exported: Option<&'a Exported>,
    warnings: &'a [String],
    problems: Vec<String>,
}

/// A file whose program is all that can be read.
#[derive(Serialize)]
struct ProgramDocument<'a> {
    schema_version: u32,
    file: &'a str,
    bytes: u64,
    format: &'static str,
    description: &'static str,
    detail: &'a str,
    verdict: &'static str,
    findings: Vec<safety::Row<'a>>,
    program: &'a Program,
}

/// A package that has no tensors to read.
#[derive(Serialize)]
struct PackageDocument<'a> {
    schema_version: u32,
    file: &'a str,
    bytes: u64,
    format: &'static str,
    description: &'static str,
    detail: &'a str,
    verdict: &'static str,
    findings: Vec<safety::Row<'a>>,
    exported: &'a Exported,
}

/// A file that does not open, with what a scan found up to where it breaks off.
#[derive(Serialize)]
struct BrokenDocument<'a> {
    schema_version: u32,
    file: &'a str,
    bytes: u64,
    format: &'static str,
    description: &'static str,
    detail: &'a str,
    verdict: &'static str,
    findings: Vec<safety::Row<'a>>,
    error: String,
}

#[derive(Serialize)]
struct DTypeTotal {
    dtype: &'static str,
    tensors: usize,
    numel: i64,
    nbytes: u64,
}

#[derive(Serialize)]
struct Largest<'a> {
    name: &'a str,
    dtype: &'static str,
    shape: &'a Option<Vec<i64>>,
    nbytes: u64,
}

#[derive(Serialize)]
struct Globals {
    total: usize,
    not_allowed: Vec<String>,
}

#[derive(Serialize)]
struct PolicyVerdict {
    name: &'static str,
    accepted: bool,
    message: Option<String>,
}

/// Exit code 1 when the policy refuses the file.
pub fn run(args: &InfoArgs, out: &mut Out, say: Say) -> Verdict {
    several::each(&args.input, true, out, say, |input, out| one(args, input, out, say))
}

fn one(args: &InfoArgs, input: &Input, out: &mut Out, say: Say) -> Verdict {
    let load = &args.input.load;
    let source = open::source(&input.file, open::map_mode(load), &open::limits(load))?;
    let identity = identify(&source);
    let name = open::name(&input.file);
    let policy = (load.policy == PolicyChoice::WeightsOnly)
        .then(|| open::options(load).open_source(source.clone()).err());
    let mut inspect = load.clone();
    inspect.policy = PolicyChoice::Inspect;
    // What the policy says comes first: the card shows what can be shown beside it.
    let program = (identity.kind == FileKind::TorchScript)
        .then(|| Program::read(&source, &open::limits(load)));
    let (opened, report) = safety::open(&source, open::options(&inspect), &open::limits(load));
    let (exported, no_exported) = match exported::is_exported(&source) {
        true => match Exported::read(&source, &inspect) {
            Ok((exported, wrong)) => (Some(exported), wrong),
            Err(_) => (None, None),
        },
        false => (None, None),
    };
    // Native code has no tensors to read; of several models none was chosen.
    if let (Err(error), Some(exported)) = (&opened, &exported)
        && (identity.kind == FileKind::AotInductor
            || error.kind() == ErrorKind::Caller && load.model.is_none())
    {
        return package_alone(args, input, &source, &identity, exported, &report, out);
    }
    let checkpoint = match (opened, &program) {
        (Ok(checkpoint), _) => checkpoint,
        (Err(error), Some(Ok(program))) if error.kind() == ErrorKind::Unsupported => {
            return program_alone(args, input, &source, &identity, program, &report, out);
        }
        (Err(error), _) => {
            let error = policy.clone().flatten().unwrap_or(error);
            let failure = Failure::from(error).in_file(&name);
            // What is no checkpoint has no card, unless there is something to warn of.
            let only = report.findings.iter().all(|finding| finding.rule == Rule::NotACheckpoint);
            if !only || args.json {
                broken(args, input, &source, &identity, &report, &failure, out)?;
            }
            return Err(failure);
        }
    };
    let (program, no_program) = match program {
        Some(Ok(program)) => (Some(program), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    let policy = policy.map(|error| PolicyVerdict {
        name: "weights-only",
        accepted: error.is_none(),
        message: error.map(|error| {
            let place = error.kind() != ErrorKind::Refused;
            if place { error.to_string() } else { error.message().to_owned() }
        }),
    });
    let refused = policy.as_ref().is_some_and(|policy| !policy.accepted);
    let mut card = Card::new(&checkpoint, identity.detail, program, report);
    card.exported = exported;
    if args.json {
        out.json(&card.document(&name, policy))?;
    } else {
        card.print(&name, input, policy, out)?;
        print_remarks(&checkpoint, say);
    }
    if let Some(error) = no_program.filter(|_| !say.quiet) {
        crate::output::warn(say.color, &format!("the program cannot be read: {error}"));
    }
    if let Some(error) = no_exported.filter(|_| !say.quiet) {
        crate::output::warn(say.color, &format!("the program cannot be read: {error}"));
    }
    Ok(Outcome::found(refused))
}

/// The card of an archive in the layout of PyTorch 1.3 and older, whose objects are made by its
/// program.
fn program_alone(
    args: &InfoArgs,
    input: &Input,
    source: &Source,
    identity: &Identity,
    program: &Program,
    report: &Report,
    out: &mut Out,
) -> Verdict {
    let file = open::name(&input.file);
    if args.json {
        out.json(&ProgramDocument {
            schema_version: SCHEMA_VERSION,
            file: &file,
            bytes: source.len(),
            format: identity.kind.name(),
            description: identity.kind.description(),
            detail: &identity.detail,
            verdict: report.verdict.name(),
            findings: safety::rows(report),
            program,
        })?;
        return Ok(Outcome::Clean);
    }
    out.line(&plain_heading(input, source, identity, out))?;
    let mut sections = program.whole(&file, out);
    // The last section names other verbs.
    let at = sections.len().saturating_sub(1);
    sections.insert(at, ("safety", safety::lines(report, &file)));
    print_sections(sections, out)?;
    Ok(Outcome::Clean)
}

/// The card of a package that has no tensors to read: native code, which is named and never loaded, or several models
/// of which none was chosen.
fn package_alone(
    args: &InfoArgs,
    input: &Input,
    source: &Source,
    identity: &Identity,
    exported: &Exported,
    report: &Report,
    out: &mut Out,
) -> Verdict {
    let file = open::name(&input.file);
    if args.json {
        out.json(&PackageDocument {
            schema_version: SCHEMA_VERSION,
            file: &file,
            bytes: source.len(),
            format: identity.kind.name(),
            description: identity.kind.description(),
            detail: &identity.detail,
            verdict: report.verdict.name(),
            findings: safety::rows(report),
            exported,
        })?;
        return Ok(Outcome::Clean);
    }
    out.line(&plain_heading(input, source, identity, out))?;
    let mut sections = exported.sections(out);
    sections.push(("safety", safety::lines(report, &file)));
    print_sections(sections, out)?;
    Ok(Outcome::Clean)
}

/// The heading of a card that has no checkpoint to ask.
fn plain_heading(input: &Input, source: &Source, identity: &Identity, out: &Out) -> Line {
    let detail = match identity.detail.as_str() {
        "" => String::new(),
        detail => format!(" ({detail})"),
    };
    Line::new()
        .add(Style::Strong, open::short_name(&input.file))
        .plain(format!("  {}{detail}  ", identity.kind.description()))
        .add(Style::Number, out.sizes().show(source.len()))
}

/// The card of a file that does not open: what it is, and what is to be thought of it.
fn broken(
    args: &InfoArgs,
    input: &Input,
    source: &Source,
    identity: &Identity,
    report: &Report,
    failure: &Failure,
    out: &mut Out,
) -> Result<(), Failure> {
    let file = open::name(&input.file);
    if args.json {
        return out.json(&BrokenDocument {
            schema_version: SCHEMA_VERSION,
            file: &file,
            bytes: source.len(),
            format: identity.kind.name(),
            description: identity.kind.description(),
            detail: &identity.detail,
            verdict: report.verdict.name(),
            findings: safety::rows(report),
            error: failure.message().to_owned(),
        });
    }
    out.line(&plain_heading(input, source, identity, out))?;
    print_sections(vec![("safety", safety::lines(report, &file))], out)
}

fn print_sections(sections: Vec<(&'static str, Vec<Line>)>, out: &mut Out) -> Result<(), Failure> {
    for (label, lines) in sections {
        for (at, line) in lines.into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let mut full = Line::new().dim(format!("  {label:<9}  "));
            full.extend(line);
            // What one would copy or must not miss is left to wrap.
            let whole = matches!(label, "safety" | "more" | "");
            out.line(&if whole { full } else { full.fit(out.width()) })?;
        }
    }
    Ok(())
}

fn print_remarks(checkpoint: &Checkpoint, say: Say) {
    if say.quiet {
        return;
    }
    for warning in checkpoint.warnings() {
        crate::output::warn(say.color, warning);
    }
    for problem in checkpoint.problems() {
        crate::output::warn(say.color, &format!("left out: {problem}"));
    }
}

struct Card<'c> {
    checkpoint: &'c Checkpoint,
    detail: String,
    program: Option<Program>,
    exported: Option<Exported>,
    report: Report,
    rows: Vec<Row>,
    storage_bytes: u64,
    unused: u64,
    shared: usize,
    /// Numpy's arrays, and its scalars.
    arrays: (usize, usize),
}

impl<'c> Card<'c> {
    fn new(
        checkpoint: &'c Checkpoint,
        detail: String,
        program: Option<Program>,
        report: Report,
    ) -> Card<'c> {
        let rows = tensor_rows::rows(checkpoint);
        let tensors: Vec<&Tensor> = rows.iter().map(|(_, tensor)| *tensor).collect();
        let (storage_bytes, unused) = usage(checkpoint, &tensors);
        let mut holders: HashMap<usize, usize> = HashMap::new();
        for (row, _) in &rows {
            if let Some(storage) = row.storage {
                *holders.entry(storage).or_default() += 1;
            }
        }
        let shares = |row: &Row| row.storage.is_some_and(|storage| holders[&storage] > 1);
        Card {
            checkpoint,
            detail,
            program,
            exported: None,
            report,
            shared: rows.iter().filter(|(row, _)| shares(row)).count(),
            rows: rows.into_iter().map(|(row, _)| row).collect(),
            storage_bytes,
            unused,
            arrays: pick::arrays(checkpoint),
        }
    }

    fn numel(&self) -> i64 {
        self.distinct().fold(0, |sum, row| sum.saturating_add(row.numel))
    }

    fn nbytes(&self) -> u64 {
        self.distinct().fold(0, |sum, row| sum.saturating_add(row.nbytes))
    }

    /// Every view once, however many names it has: a tied weight is one weight.
    fn distinct(&self) -> impl Iterator<Item = &Row> {
        let mut seen = HashSet::new();
        self.rows.iter().filter(move |row| {
            let view = (row.storage, row.storage_offset, &row.shape, &row.stride, row.dtype);
            row.storage.is_none() || seen.insert(view)
        })
    }

    fn storages(&self) -> usize {
        self.rows.iter().filter_map(|row| row.storage).max().map_or(0, |last| last + 1)
    }

    /// By elements, most first.
    fn dtypes(&self) -> Vec<DTypeTotal> {
        let mut totals: Vec<DTypeTotal> = Vec::new();
        for row in self.distinct() {
            let at = totals.iter().position(|total| total.dtype == row.dtype);
            let at = at.unwrap_or_else(|| {
                totals.push(DTypeTotal { dtype: row.dtype, tensors: 0, numel: 0, nbytes: 0 });
                totals.len() - 1
            });
            let total = &mut totals[at];
            total.tensors += 1;
            total.numel = total.numel.saturating_add(row.numel);
            total.nbytes = total.nbytes.saturating_add(row.nbytes);
        }
        totals.sort_by_key(|total| std::cmp::Reverse(total.numel));
        totals
    }

    fn largest(&self, most: usize) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| row.nbytes > 0).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.nbytes));
        rows.truncate(most);
        rows
    }

    fn document<'a>(&'a self, file: &'a str, policy: Option<PolicyVerdict>) -> Document<'a> {
        let info = self.checkpoint.info();
        let format = self.checkpoint.format();
        let globals = &self.report.globals;
        Document {
            schema_version: SCHEMA_VERSION,
            file,
            bytes: self.checkpoint.source().len(),
            format: format.name(),
            description: format.description(),
            detail: self.detail.clone(),
            pickle_protocol: info.pickle_protocol,
            written_by: info.written_by(format),
            byte_order: info.byte_order.map(|order| order.name()),
            archive_folder: &info.archive_folder,
            version: info.version,
            format_version: &info.format_version,
            storage_alignment: &info.storage_alignment,
            serialization_id: &info.serialization_id,
            records: info.records,
            shards: &info.shards,
            trailing_bytes: info.trailing_bytes,
            metadata: info.metadata.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
            root: describe_root(self.checkpoint),
            tensors: self.rows.len(),
            arrays: self.arrays.0 + self.arrays.1,
            numel: self.numel(),
            nbytes: self.nbytes(),
            dtypes: self.dtypes(),
            storages: self.storages(),
            storage_bytes: self.storage_bytes,
            unused_storage_bytes: self.unused,
            shared_tensors: self.shared,
            largest: self
                .largest(5)
                .into_iter()
                .map(|row| Largest {
                    name: &row.name,
                    dtype: row.dtype,
                    shape: &row.shape,
                    nbytes: row.nbytes,
                })
                .collect(),
            globals: Globals {
                total: globals.len(),
                not_allowed: globals
                    .iter()
                    .filter(|global| !global.allowed)
                    .map(|global| global.full_name())
                    .collect(),
            },
            verdict: self.report.verdict.name(),
            findings: safety::rows(&self.report),
            policy,
            program: self.program.as_ref(),
            exported: self.exported.as_ref(),
            warnings: self.checkpoint.warnings(),
            problems: self.checkpoint.problems().iter().map(ToString::to_string).collect(),
        }
    }

    fn print(
        &self,
        name: &str,
        input: &crate::arguments::reading::Input,
        policy: Option<PolicyVerdict>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let short = open::short_name(&input.file);
        out.line(&self.heading(&short, out))?;
        let sections = self.sections(name, policy, out);
        print_sections(sections, out)
    }

    fn heading(&self, short: &str, out: &Out) -> Line {
        let format = self.checkpoint.format();
        let info = self.checkpoint.info();
        let mut what = format.description().to_owned();
        if let Some(protocol) = info.pickle_protocol {
            what = match what.strip_suffix(')') {
                Some(open) => format!("{open}, pickle protocol {protocol})"),
                None => format!("{what} (pickle protocol {protocol})"),
            };
        }
        Line::new()
            .add(Style::Strong, short)
            .plain("  ")
            .plain(what)
            .plain("  ")
            .add(Style::Number, out.sizes().show(self.checkpoint.source().len()))
    }

    fn sections(
        &self,
        name: &str,
        policy: Option<PolicyVerdict>,
        out: &Out,
    ) -> Vec<(&'static str, Vec<Line>)> {
        let mut sections = vec![("root", vec![Line::new().plain(self.root_line())])];
        if let Some(writer) = self.writer_line() {
            sections.push(("writer", vec![Line::new().plain(writer)]));
        }
        if !self.rows.is_empty() {
            sections.push(("params", vec![self.params_line(out)]));
            if let Some(layers) = layers(&self.rows) {
                sections.push(("layers", vec![Line::new().plain(layers)]));
            }
            sections.push(("largest", vec![self.largest_line(out)]));
            sections.push(("sharing", vec![self.sharing_line(out)]));
        }
        sections.extend(self.program.iter().flat_map(|program| program.sections(out)));
        sections.extend(self.exported.iter().flat_map(|exported| exported.sections(out)));
        sections.push(("safety", self.safety_lines(name, policy)));
        let code = if self.program.is_some() || self.exported.is_some() {
            format!(" · sconce code {name}")
        } else {
            "".into()
        };
        let more = format!("sconce ls {name} · sconce tree {name} · sconce globals {name}{code}");
        sections.push(("more", vec![Line::new().dim(more)]));
        sections
    }

    fn root_line(&self) -> String {
        let mut line = describe_root(self.checkpoint);
        let mut parts = Vec::new();
        if !self.rows.is_empty() {
            let storages = count(self.storages(), "storage");
            parts.push(format!("{} in {storages}", count(self.rows.len(), "tensor")));
        }
        parts.extend(pick::count_arrays(self.arrays));
        if let Some(values) = other_values(self.checkpoint) {
            parts.push(values);
        }
        if !parts.is_empty() {
            line = format!("{line}, {}", parts.join(", "));
        }
        line
    }

    fn writer_line(&self) -> Option<String> {
        let info = self.checkpoint.info();
        let mut parts = Vec::new();
        parts.extend(info.written_by(self.checkpoint.format()).map(str::to_owned));
        parts.extend(info.byte_order.map(|order| format!("{}-endian", order.name())));
        if info.records > 1 {
            parts.push(count(info.records, "record"));
        }
        if !info.shards.is_empty() {
            parts.push(count(info.shards.len(), "shard"));
        }
        for (key, value) in info.metadata.iter().take(4) {
            parts.push(format!("{key}={value}"));
        }
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    fn params_line(&self, out: &Out) -> Line {
        let dtypes: Vec<String> = self
            .dtypes()
            .iter()
            .map(|total| format!("{} {}", total.dtype, grouped(total.numel)))
            .collect();
        let shown = if dtypes.len() == 1 {
            format!("({})", dtypes[0].split(' ').next().unwrap_or_default())
        } else {
            format!("({})", dtypes.join(" · "))
        };
        Line::new()
            .add(Style::Number, grouped(self.numel()))
            .plain("  ")
            .plain(shown)
            .plain("  ")
            .add(Style::Number, out.sizes().show(self.nbytes()))
    }

    fn largest_line(&self, out: &Out) -> Line {
        let mut line = Line::new();
        for (at, row) in self.largest(3).into_iter().enumerate() {
            if at > 0 {
                line.push(Style::Dim, " · ");
            }
            line.push(Style::Name, if row.name.is_empty() { "(root)" } else { &row.name });
            line.push(Style::Plain, format!(" {} ", dims(&row.shape)));
            line.push(Style::Number, out.sizes().show(row.nbytes));
        }
        line
    }

    fn sharing_line(&self, out: &Out) -> Line {
        let mut line = if self.shared == 0 {
            Line::new().plain("none")
        } else {
            Line::new().plain(format!("{} share storages", count(self.shared, "tensor")))
        };
        line.push(Style::Dim, " · ");
        if self.unused == 0 {
            let what =
                if self.checkpoint.format() == FileKind::Zip { "data/" } else { "the storages" };
            line.push(Style::Plain, format!("every byte of {what} is used"));
        } else {
            let of = out.sizes().show(self.storage_bytes);
            let text = format!("{} of {of} in storages is not used", out.sizes().show(self.unused));
            line.push(Style::Warn, text);
        }
        line
    }

    fn safety_lines(&self, name: &str, policy: Option<PolicyVerdict>) -> Vec<Line> {
        let mut lines = safety::lines(&self.report, name);
        if let Some(policy) = policy {
            lines.push(match policy.message {
                None => Line::new().add(Style::Good, "✓").plain(" weights_only accepts the file"),
                Some(message) => {
                    let first = message.lines().next().unwrap_or_default();
                    Line::new()
                        .add(Style::Bad, "✗")
                        .plain(format!(" weights_only refuses: {first}"))
                }
            });
        }
        lines
    }
}

/// Bytes of all storages, and how many of them no tensor looks at.
fn usage(checkpoint: &Checkpoint, tensors: &[&Tensor]) -> (u64, u64) {
    let mut ranges: HashMap<usize, Vec<(u64, u64)>> = HashMap::new();
    let mut sizes: BTreeMap<usize, u64> = BTreeMap::new();
    let mut pending: Vec<Tensor> = tensors.iter().map(|&tensor| tensor.clone()).collect();
    for array in checkpoint.arrays() {
        if let sconce::checkpoint::ArrayData::Tensor(tensor) = &array.array.data {
            pending.push(tensor.clone());
        }
    }
    while let Some(tensor) = pending.pop() {
        if let (Some(storage), Some(range)) = (tensor.storage(), tensor.storage_range()) {
            ranges.entry(storage.id()).or_default().push((range.start, range.end));
        }
        if tensor.storage().is_none() {
            pending.extend(inner(&tensor));
        }
        if let Some(sconce::tensor::Quantizer::PerChannel { scales, zero_points, .. }) =
            tensor.quantizer()
        {
            pending.extend([scales.clone(), zero_points.clone()]);
        }
    }
    // A storage that stands for itself is used as a whole.
    checkpoint.visit(|_, object| {
        if let Node::Storage(held) = object.data() {
            ranges.entry(held.storage.id()).or_default().push((0, held.storage.nbytes()));
        }
    });
    for record in checkpoint.storages().iter().filter(|record| record.storage.has_data()) {
        sizes.insert(record.storage.id(), record.nbytes);
    }
    let mut unused = 0u64;
    for (id, size) in &sizes {
        let mut ranges = ranges.remove(id).unwrap_or_default();
        ranges.sort_unstable();
        let (mut used, mut reached) = (0, 0);
        for (start, end) in ranges {
            let end = end.min(*size);
            used += end.saturating_sub(start.max(reached));
            reached = reached.max(end);
        }
        unused = unused.saturating_add(size - used);
    }
    (sizes.values().fold(0, |sum: u64, size| sum.saturating_add(*size)), unused)
}

/// The strided tensors that a sparse or nested one holds.
fn inner(tensor: &Tensor) -> Vec<Tensor> {
    if let Some(parts) = tensor.sparse_coo_parts() {
        return vec![parts.indices.clone(), parts.values.clone()];
    }
    if let Some(parts) = tensor.sparse_compressed_parts() {
        return vec![parts.compressed.clone(), parts.plain.clone(), parts.values.clone()];
    }
    if let Some(parts) = tensor.nested_parts() {
        let parts = [&parts.buffer, &parts.sizes, &parts.strides, &parts.offsets];
        return parts.map(Tensor::clone).into();
    }
    Vec::new()
}

/// What the root object is, with the keys of a checkpoint that holds several things.
fn describe_root(checkpoint: &Checkpoint) -> String {
    let root = checkpoint.root();
    match root.data() {
        Node::Dict(dict) => {
            let keys = dict.len();
            let nested = root.entries().any(|(_, value)| is_container(value));
            let name = dict.kind.name();
            if !nested || keys == 0 {
                return format!("{name} of {}", count(keys, "key"));
            }
            let shown: Vec<String> = root
                .entries()
                .take(6)
                .map(|(key, value)| {
                    let key = key.as_str().map_or_else(|| key.repr(30), str::to_owned);
                    // What an instance holds may be its attributes, which have no number of their own.
                    let instance = matches!(value.data(), Node::Instance(_)) && value.is_empty();
                    let counted = is_container(value) && !instance;
                    if counted { format!("{key} ({})", value.len()) } else { key }
                })
                .collect();
            let more = if keys > 6 { ", …" } else { "" };
            format!("{name}: {}{more}", shown.join(", "))
        }
        Node::List(items) => format!("list of {}", count(items.len(), "value")),
        Node::Tuple(items) => format!("tuple of {}", count(items.len(), "value")),
        Node::Instance(_) if root.as_module().is_some() => {
            format!("{} (nn.Module)", root.class_name())
        }
        Node::Tensor(_) | Node::Storage(_) | Node::Instance(_) => root.class_name(),
        _ => root.repr(60),
    }
}

fn is_container(object: Object<'_>) -> bool {
    matches!(object.data(), Node::Dict(_) | Node::List(_) | Node::Tuple(_) | Node::Instance(_))
}

/// How many values are neither tensors nor arrays, in words.
fn other_values(checkpoint: &Checkpoint) -> Option<String> {
    let mut others = 0;
    checkpoint.visit(|name, object| {
        let known = pick::is_state_dict_metadata(name)
            || matches!(object.data(), Node::Tensor(_) | Node::Array(_) | Node::Scalar(_));
        others += usize::from(!known);
    });
    match others {
        0 => Some("no other values".to_owned()),
        1 => Some("1 other value".to_owned()),
        n => Some(format!("{} other values", grouped(n as i128))),
    }
}

/// The parts of the names below what they all have in common, runs of numbers folded:
/// `conv1..conv6, classifier`, or `model.layers.{0..31}`. `None` where the names have no parts.
fn layers(rows: &[Row]) -> Option<String> {
    const MOST: usize = 8;
    const DEEPEST: usize = 16;
    let mut prefix = String::new();
    let mut heads = heads(rows, &prefix);
    let nested = |head: &str, prefix: &str| {
        rows.iter().all(|row| row.name[prefix.len() + head.len()..].starts_with('.'))
    };
    for _ in 0..DEEPEST {
        let [only] = heads[..] else { break };
        if !nested(only, &prefix) {
            break;
        }
        prefix = format!("{prefix}{only}.");
        heads = self::heads(rows, &prefix);
    }
    if prefix.is_empty() && !rows.iter().any(|row| row.name.contains('.')) {
        return None;
    }
    let mut shown: Vec<String> = Vec::new();
    let mut at = 0;
    while at < heads.len() {
        let mut end = at;
        while end + 1 < heads.len() && follows(heads[end], heads[end + 1]) {
            end += 1;
        }
        if end > at {
            shown.push(format!("{}..{}", heads[at], heads[end]));
        } else {
            shown.push(heads[at].to_owned());
        }
        at = end + 1;
    }
    if shown.len() > MOST {
        let more = shown.len() - MOST;
        shown.truncate(MOST);
        shown.push(format!("… {more} more"));
    }
    let text = shown.join(", ");
    Some(if prefix.is_empty() { text } else { format!("{prefix}{{{text}}}") })
}

/// The parts that follow a prefix of all names, each once.
fn heads<'r>(rows: &'r [Row], prefix: &str) -> Vec<&'r str> {
    let mut seen = HashSet::new();
    let parts = rows.iter().filter_map(|row| row.name[prefix.len()..].split('.').next());
    parts.filter(|part| seen.insert(*part)).collect()
}

/// Whether the second name is the first with the next number at its end.
fn follows(first: &str, second: &str) -> bool {
    let cut = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (a, b) = (cut(first), cut(second));
    let next = first[a..].parse::<u64>().ok().and_then(|number| number.checked_add(1));
    first[..a] == second[..b] && next.is_some() && second[b..].parse::<u64>().ok() == next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_follow_each_other() {
        assert!(follows("conv1", "conv2") && follows("9", "10"));
        assert!(!follows("conv1", "conv3") && !follows("conv", "conv1") && !follows("a1", "b2"));
    }
}
