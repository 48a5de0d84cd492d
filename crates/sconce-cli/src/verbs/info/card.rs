//! The card of a file that opens as a checkpoint: what it counts, and its lines.

use std::collections::{BTreeMap, HashMap};

use sconce::checkpoint::{Checkpoint, FileKind};
use sconce::scan::Report;
use sconce::tensor::Tensor;
use serde::Serialize;

use super::outline::{describe_root, layers, other_values};
use super::print_sections;
use super::storage_use::usage;
use crate::error::Failure;
use crate::output::{Line, Out, SCHEMA_VERSION, Style, count, grouped, shell_word};
use crate::read::open;
use crate::report::exported::Exported;
use crate::report::numbers::dims;
use crate::report::program::Program;
use crate::report::roles::{self, Distinct, Role, Roles};
use crate::report::safety;
use crate::report::tensor_rows::{self, Row};
use crate::select::pick;

/// The card as JSON.
#[derive(Serialize)]
pub struct Document<'a> {
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
    /// Elements that `sum(p.numel() for p in model.parameters())` counts.
    parameters: i64,
    buffers: i64,
    optimizer_tensors: usize,
    training: BTreeMap<&'a str, &'a str>,
    devices: Vec<&'a str>,
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

/// What a policy says of the file.
#[derive(Serialize)]
pub struct PolicyVerdict {
    /// The policy.
    pub name: &'static str,
    /// Whether it takes the file.
    pub accepted: bool,
    /// Why not.
    pub message: Option<String>,
}

/// Everything that the card says.
pub struct Card<'c> {
    checkpoint: &'c Checkpoint,
    detail: String,
    program: Option<Program>,
    /// The program of torch.export that it holds.
    pub exported: Option<Exported>,
    report: Report,
    rows: Vec<Row>,
    /// What each row is for, and whether its view has no name before this one.
    roles: Vec<(Role, bool)>,
    /// How far training went.
    training: Vec<(String, String)>,
    storage_bytes: u64,
    unused: u64,
    shared: usize,
    /// Numpy's arrays, and its scalars.
    arrays: (usize, usize),
}

impl<'c> Card<'c> {
    pub fn new(
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
        let (rules, mut distinct) = (Roles::new(checkpoint), Distinct::default());
        let named = checkpoint.tensors();
        let roles = named.iter().map(|named| {
            (rules.of(&named.name, &named.object, named.tensor), distinct.first(named.tensor))
        });
        Card {
            roles: roles.collect(),
            training: roles::progress(checkpoint),
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
        numel(self.distinct())
    }

    fn nbytes(&self) -> u64 {
        nbytes(self.distinct())
    }

    /// Every view once, however many names it has: a tied weight is one weight.
    fn distinct(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().zip(&self.roles).filter(|(_, (_, first))| *first).map(|(row, _)| row)
    }

    /// The views of one role, each once.
    fn of_role(&self, wanted: Role) -> impl Iterator<Item = &Row> {
        let rows = self.rows.iter().zip(&self.roles);
        rows.filter(move |(_, (role, first))| *first && *role == wanted).map(|(row, _)| row)
    }

    fn devices(&self) -> Vec<&str> {
        let mut devices: Vec<&str> = self.rows.iter().map(|row| row.device.as_str()).collect();
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    fn storages(&self) -> usize {
        self.rows.iter().filter_map(|row| row.storage).max().map_or(0, |last| last + 1)
    }

    /// By elements, most first.
    fn dtypes<'r>(&self, rows: impl Iterator<Item = &'r Row>) -> Vec<DTypeTotal> {
        let mut totals: Vec<DTypeTotal> = Vec::new();
        for row in rows {
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

    pub fn document<'a>(&'a self, file: &'a str, policy: Option<PolicyVerdict>) -> Document<'a> {
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
            parameters: numel(self.of_role(Role::Parameter)),
            buffers: numel(self.of_role(Role::Buffer)),
            optimizer_tensors: self.of_role(Role::Optimizer).count(),
            training: self.training.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
            devices: self.devices(),
            dtypes: self.dtypes(self.distinct()),
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

    pub fn print(
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
            let params = self.params_line(out);
            if params.width() > 0 {
                sections.push(("params", vec![params]));
            }
            sections.extend(self.training_sections(out));
            if let Some(layers) = layers(&self.rows) {
                sections.push(("layers", vec![Line::new().plain(layers)]));
            }
            sections.push(("largest", vec![self.largest_line(out)]));
            sections.push(("sharing", vec![self.sharing_line(out)]));
        }
        sections.extend(self.program.iter().flat_map(|program| program.sections(out)));
        sections.extend(self.exported.iter().flat_map(|exported| exported.sections(out)));
        sections.push(("safety", self.safety_lines(name, policy)));
        let name = &*shell_word(name);
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

    /// Parameters as PyTorch counts them, then the buffers.
    fn params_line(&self, out: &Out) -> Line {
        let sizes = out.sizes();
        let mut line = Line::new();
        if self.of_role(Role::Parameter).next().is_some() {
            let rows = || self.of_role(Role::Parameter);
            line.extend(self.amount(numel(rows()), self.dtypes(rows()), nbytes(rows()), out));
        }
        let buffers = self.of_role(Role::Buffer).count();
        if buffers > 0 {
            let between = if line.width() > 0 { " · " } else { "" };
            let held = sizes.show(nbytes(self.of_role(Role::Buffer)));
            line = line.dim(between).plain(format!("{}, {held}", count(buffers, "buffer")));
        }
        line
    }

    fn amount(&self, numel: i64, dtypes: Vec<DTypeTotal>, nbytes: u64, out: &Out) -> Line {
        let text = match dtypes.as_slice() {
            [only] => only.dtype.to_owned(),
            all => {
                let parts =
                    all.iter().map(|total| format!("{} {}", total.dtype, grouped(total.numel)));
                parts.collect::<Vec<_>>().join(" · ")
            }
        };
        Line::new()
            .add(Style::Number, grouped(numel))
            .plain(format!("  ({text})  "))
            .add(Style::Number, out.sizes().show(nbytes))
    }

    /// What trains the model, and how far it came; averages of it.
    fn training_sections(&self, out: &Out) -> Vec<(&'static str, Vec<Line>)> {
        let mut sections = Vec::new();
        for (label, role) in [("optimizer", Role::Optimizer), ("average", Role::Average)] {
            let tensors = self.of_role(role).count();
            if tensors > 0 {
                let held = out.sizes().show(nbytes(self.of_role(role)));
                sections.push((
                    label,
                    vec![Line::new().plain(format!("{}, {held}", count(tensors, "tensor")))],
                ));
            }
        }
        if !self.training.is_empty() {
            let parts: Vec<String> =
                self.training.iter().map(|(name, value)| format!("{name} {value}")).collect();
            sections.push(("training", vec![Line::new().plain(parts.join(" · "))]));
        }
        let devices: Vec<&str> = self
            .devices()
            .into_iter()
            .filter(|device| !matches!(*device, "cpu" | "meta"))
            .collect();
        if !devices.is_empty() {
            let line = Line::new().plain(format!("saved on {}", devices.join(", ")));
            let hint = ": torch.load without it needs map_location='cpu'";
            sections.push(("device", vec![line.dim(hint)]));
        }
        sections
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

fn numel<'r>(rows: impl Iterator<Item = &'r Row>) -> i64 {
    rows.fold(0, |sum, row| sum.saturating_add(row.numel))
}

fn nbytes<'r>(rows: impl Iterator<Item = &'r Row>) -> u64 {
    rows.fold(0, |sum, row| sum.saturating_add(row.nbytes))
}
