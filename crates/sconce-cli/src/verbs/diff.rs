//! `sconce diff`: what differs between two files, whatever their formats.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;

use clap::Args;
use rayon::prelude::*;
use sconce::checkpoint::{Checkpoint, FileKind, Node, Object};
use sconce::tensor::{Quantizer, Scalar, Tensor};
use serde::Serialize;

use crate::arguments::reading::Load;
use crate::arguments::selection::Names;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION, Style, count};
use crate::read::open::{self, Say};
use crate::report::elements;
use crate::report::numbers::{self, dims, short_number};
use crate::report::program_diff::{self, Programs};
use crate::report::renamed_tensors::{self, Lone};
use crate::select::glob::Filter;
use crate::select::pick;

/// `sconce diff`.
#[derive(Debug, Args)]
#[command(after_help = "Of two TorchScript archives the records of code, constants, bytecode and \
extra files are compared byte for byte too; methods are not compared one by one.")]
pub struct DiffArgs {
    /// The first file; - reads standard input
    #[arg(value_name = "A")]
    pub a: OsString,
    /// The second file
    #[arg(value_name = "B")]
    pub b: OsString,
    /// Numbers may differ by this share of the second
    #[arg(long, default_value_t = 0.0, value_name = "R")]
    pub rtol: f64,
    /// Numbers may differ by this much
    #[arg(long, default_value_t = 0.0, value_name = "A")]
    pub atol: f64,
    /// Say by how much values differ
    #[arg(long)]
    pub values: bool,
    /// Print only the counts
    #[arg(long)]
    pub stat: bool,
    /// Do not look at the elements
    #[arg(long, conflicts_with = "values")]
    pub no_values: bool,
    /// Compare only tensors, not other values
    #[arg(long)]
    pub tensors_only: bool,
    /// Cut this off the front of names (repeatable): module.
    #[arg(long, value_name = "PREFIX")]
    pub ignore_prefix: Vec<String>,
    /// Pair tensors of other names by their content; or rename those of A first, as edit does
    /// (repeatable)
    #[arg(long, value_name = "s/…/…/", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "", value_parser = crate::arguments::rename::Rename::parse_or_find)]
    pub rename: Vec<Option<crate::arguments::rename::Rename>>,
    /// Which names.
    #[command(flatten)]
    pub names: Names,
    /// Print every difference, however many
    #[arg(long)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// How to read the files.
    #[command(flatten)]
    pub load: Load,
}

/// Differences printed without `--all`.
const SHOWN: usize = 50;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    a: &'a str,
    b: &'a str,
    same: bool,
    tensors_only: bool,
    counts: Counts,
    differences: Vec<Difference>,
    /// How the programs of two TorchScript archives differ.
    programs: Option<Programs>,
}

#[derive(Serialize, Default)]
struct Counts {
    equal: usize,
    close: usize,
    changed: usize,
    dtype: usize,
    shape: usize,
    added: usize,
    removed: usize,
    renamed: usize,
    values_changed: usize,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Equal,
    Close,
    Changed,
    Dtype,
    Shape,
    Added,
    Removed,
    /// An equal tensor has another name.
    Renamed,
    /// A value that is no tensor.
    Value,
}

#[derive(Serialize)]
struct Difference {
    kind: Kind,
    name: String,
    /// Its name in the second file, where that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// What it is in the first file, and in the second.
    a: Option<String>,
    b: Option<String>,
    numbers: Option<Distance>,
}

/// How far two tensors are apart, over the elements that are finite in both.
#[derive(Serialize, Clone, Copy)]
struct Distance {
    max_abs: f64,
    /// Norm of the difference by the norm of the second.
    rel_l2: f64,
    cosine: Option<f64>,
    /// Elements farther apart than the tolerances.
    differing: u64,
}

/// A leaf of one of the files.
struct Leaf<'c> {
    name: String,
    object: Object<'c>,
    tensor: Option<Tensor>,
}

/// Exit code 1 when the files differ by more than the tolerances.
pub fn run(args: &DiffArgs, out: &mut Out, say: Say) -> Verdict {
    for (flag, value) in [("--rtol", args.rtol), ("--atol", args.atol)] {
        if value.is_nan() || value < 0.0 {
            return Err(Failure::usage(format!("{flag} must not be negative")));
        }
    }
    let filter = Filter::new(&args.names.include, &args.names.exclude)?;
    let first = open::file(&args.a, &args.load, say)?;
    let second = open::file(&args.b, &args.load, say)?;
    // Formats that hold nothing but tensors cannot differ in anything else.
    let bare = [&first, &second]
        .map(|checkpoint| checkpoint.format())
        .into_iter()
        .find(|format| matches!(format, FileKind::Safetensors | FileKind::Npy | FileKind::Npz));
    let tensors_only = args.tensors_only || bare.is_some();
    let mut left = leaves(&first, args, tensors_only, &filter);
    for rule in args.rename.iter().flatten() {
        for leaf in &mut left {
            if let Some(name) = rule.apply(&leaf.name) {
                leaf.name = name;
            }
        }
    }
    let right = leaves(&second, args, tensors_only, &filter);
    let differences = compare(&left, &right, args)?;
    let counts = tally(&differences);
    let limits = open::limits(&args.load);
    let programs = program_diff::compare(&first, &second, !args.tensors_only, &limits)?;
    let same = differences.iter().all(|d| matches!(d.kind, Kind::Equal | Kind::Close))
        && programs.as_ref().is_none_or(|programs| programs.same);
    let (a, b) = (open::name(&args.a), open::name(&args.b));
    let found = Outcome::found(!same);
    if args.json {
        let mut differences = differences;
        differences.retain(|d| d.kind != Kind::Equal);
        let schema_version = SCHEMA_VERSION;
        let (a, b) = (a.as_str(), b.as_str());
        let document =
            Document { schema_version, a, b, same, tensors_only, counts, differences, programs };
        out.json(&document)?;
        return Ok(found);
    }
    let mut head = summary(&counts);
    if let Some(format) = bare.filter(|_| !args.tensors_only) {
        head = head.dim(format!(" · only tensors compared: {} holds nothing else", format.name()));
    }
    if let Some(programs) = &programs {
        head = programs.heading(head);
    }
    out.line(&head)?;
    if args.stat {
        return Ok(found);
    }
    let shown: Vec<&Difference> = differences
        .iter()
        .filter(|d| d.kind != Kind::Equal && (d.kind != Kind::Close || args.values))
        .collect();
    let most = if args.all { usize::MAX } else { SHOWN };
    let width = shown.iter().take(most).map(|d| d.name.chars().count()).max().unwrap_or(0).min(60);
    for difference in shown.iter().take(most) {
        out.line(&line(difference, width, args.values))?;
    }
    if shown.len() > most {
        out.line(&Line::new().dim(format!("  … {} more, --all shows them", shown.len() - most)))?;
    }
    for line in programs.iter().flat_map(Programs::lines).take(most) {
        out.line(&line)?;
    }
    Ok(found)
}

fn leaves<'c>(
    checkpoint: &'c Checkpoint,
    args: &DiffArgs,
    tensors_only: bool,
    filter: &Filter,
) -> Vec<Leaf<'c>> {
    let mut out = Vec::new();
    checkpoint.visit(|name, object| {
        let tensor = pick::tensor_of(object).cloned();
        if tensor.is_none() && tensors_only {
            return;
        }
        let cut = args.ignore_prefix.iter().find_map(|prefix| name.strip_prefix(prefix.as_str()));
        let name = cut.unwrap_or(name);
        if filter.accepts(name) {
            out.push(Leaf { name: name.to_owned(), object, tensor });
        }
    });
    out
}

fn compare(
    left: &[Leaf<'_>],
    right: &[Leaf<'_>],
    args: &DiffArgs,
) -> Result<Vec<Difference>, Failure> {
    // Different keys, such as 1 and '1', can come to one name: those pair up in their order.
    let mut others: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (at, leaf) in right.iter().enumerate() {
        others.entry(&leaf.name).or_default().push_back(at);
    }
    let mut met = vec![false; right.len()];
    let mut pairs = Vec::with_capacity(left.len());
    for leaf in left {
        let other = others.get_mut(leaf.name.as_str()).and_then(VecDeque::pop_front);
        if let Some(at) = other {
            met[at] = true;
        }
        pairs.push((leaf, other.map(|at| &right[at])));
    }
    let moved = match args.rename.iter().any(Option::is_none) {
        true => moved(&pairs, right, &mut met, !args.no_values)?,
        false => HashMap::new(),
    };
    let mut out = pairs
        .par_iter()
        .enumerate()
        .map(|(at, (a, b))| match (b, moved.get(&at)) {
            (Some(b), _) => pair(a, b, args),
            (None, Some(b)) => Ok(under_another_name(a, b)),
            (None, None) => Ok(alone(Kind::Removed, a)),
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let added = right.iter().zip(met).filter(|(_, met)| !met);
    out.extend(added.map(|(leaf, _)| alone(Kind::Added, leaf)));
    Ok(out)
}

/// Tensors that only the first file has the name of, by place, with the equal ones of the second that
/// only it has the name of. Those are met.
fn moved<'r, 'c>(
    pairs: &[(&Leaf<'_>, Option<&Leaf<'_>>)],
    right: &'r [Leaf<'c>],
    met: &mut [bool],
    values: bool,
) -> Result<HashMap<usize, &'r Leaf<'c>>, Failure> {
    let (mut lefts, mut left) = (Vec::new(), Vec::new());
    for (at, (leaf, other)) in pairs.iter().enumerate() {
        if let (Some(tensor), None) = (&leaf.tensor, other) {
            lefts.push(at);
            left.push(Lone { name: &leaf.name, tensor });
        }
    }
    let (mut rights, mut candidates) = (Vec::new(), Vec::new());
    for (at, leaf) in right.iter().enumerate() {
        if let (Some(tensor), false) = (&leaf.tensor, met[at]) {
            rights.push(at);
            candidates.push(Lone { name: &leaf.name, tensor });
        }
    }
    let found = renamed_tensors::pairs(&left, &candidates, values)
        .map_err(|error| Failure::unreadable(format!("cannot compare: {error}")))?;
    let met = |(a, b): (usize, usize)| {
        met[rights[b]] = true;
        (lefts[a], &right[rights[b]])
    };
    Ok(found.into_iter().map(met).collect())
}

fn under_another_name(a: &Leaf<'_>, b: &Leaf<'_>) -> Difference {
    let (name, to) = (a.name.clone(), Some(b.name.clone()));
    let (a, b) = (Some(describe(a)), Some(describe(b)));
    Difference { kind: Kind::Renamed, name, to, a, b, numbers: None }
}

fn alone(kind: Kind, leaf: &Leaf<'_>) -> Difference {
    let text = Some(describe(leaf));
    let (a, b) = if kind == Kind::Removed { (text, None) } else { (None, text) };
    Difference { kind, name: leaf.name.clone(), to: None, a, b, numbers: None }
}

fn describe(leaf: &Leaf<'_>) -> String {
    match &leaf.tensor {
        Some(tensor) => {
            let shape = tensor.nested_parts().is_none().then(|| tensor.sizes().to_vec());
            let layout = match tensor.layout().name() {
                "strided" => String::new(),
                layout => format!(" {layout}"),
            };
            format!("{} {}{layout}", tensor.dtype().name(), dims(&shape))
        }
        None => leaf.object.repr(60),
    }
}

fn pair(a: &Leaf<'_>, b: &Leaf<'_>, args: &DiffArgs) -> Result<Difference, Failure> {
    let made = |kind, numbers| {
        let shown = kind != Kind::Equal;
        let text = |leaf: &Leaf<'_>| shown.then(|| describe(leaf));
        Difference { kind, name: a.name.clone(), to: None, a: text(a), b: text(b), numbers }
    };
    let (Some(x), Some(y)) = (&a.tensor, &b.tensor) else {
        let equal = a.tensor.is_none() && b.tensor.is_none() && same_value(a.object, b.object);
        return Ok(made(if equal { Kind::Equal } else { Kind::Value }, None));
    };
    if x.sizes() != y.sizes() || x.layout() != y.layout() {
        return Ok(made(Kind::Shape, None));
    }
    let dtype = x.dtype() != y.dtype();
    if args.no_values || !x.has_data() || !y.has_data() {
        let data = x.has_data() == y.has_data() || args.no_values;
        let kind = if dtype {
            Kind::Dtype
        } else if data {
            Kind::Equal
        } else {
            Kind::Changed
        };
        return Ok(made(kind, None));
    }
    let fail = |error: sconce::tensor::Error| {
        Failure::unreadable(format!("cannot compare '{}': {error}", a.name))
    };
    if !dtype && same_bytes(x, y).map_err(fail)? {
        return Ok(made(Kind::Equal, None));
    }
    let distance = distance(x, y, args).map_err(fail)?;
    let kind = match distance {
        _ if dtype => Kind::Dtype,
        Some(distance) if distance.differing == 0 => Kind::Close,
        _ => Kind::Changed,
    };
    Ok(made(kind, distance))
}

fn same_bytes(a: &Tensor, b: &Tensor) -> Result<bool, sconce::tensor::Error> {
    let (left, right) = (elements::components(a)?, elements::components(b)?);
    if left.len() != right.len() {
        return Ok(false);
    }
    for ((_, a), (_, b)) in left.iter().zip(&right) {
        if a.sizes() != b.sizes() || *a.contiguous_bytes()? != *b.contiguous_bytes()? {
            return Ok(false);
        }
    }
    same_quantizer(a, b)
}

fn same_quantizer(a: &Tensor, b: &Tensor) -> Result<bool, sconce::tensor::Error> {
    match (a.quantizer(), b.quantizer()) {
        (None, None) => Ok(true),
        (
            Some(Quantizer::PerTensorAffine { scale: x, zero_point: m }),
            Some(Quantizer::PerTensorAffine { scale: y, zero_point: n }),
        ) => Ok(x.to_bits() == y.to_bits() && m == n),
        (
            Some(Quantizer::PerChannel { scales: x, zero_points: m, axis: i, .. }),
            Some(Quantizer::PerChannel { scales: y, zero_points: n, axis: j, .. }),
        ) => Ok(i == j && same_bytes(x, y)? && same_bytes(m, n)?),
        _ => Ok(false),
    }
}

/// `None` where the elements do not stand beside each other, as in sparse tensors that hold
/// different entries.
fn distance(
    a: &Tensor,
    b: &Tensor,
    args: &DiffArgs,
) -> Result<Option<Distance>, sconce::tensor::Error> {
    let (left, right) = (elements::components(a)?, elements::components(b)?);
    let indices = left.len().saturating_sub(1);
    if a.nested_parts().is_none() && indices > 0 {
        for ((_, a), (_, b)) in left.iter().zip(&right).take(indices) {
            if a.sizes() != b.sizes() || a.to_vec::<i64>().ok() != b.to_vec::<i64>().ok() {
                return Ok(None);
            }
        }
    }
    let (x, y) = (numbers::numbers(a)?, numbers::numbers(b)?);
    if x.numel() != y.numel() {
        return Ok(None);
    }
    let mut sums = Sums::default();
    for (a, b) in x.values()?.zip(y.values()?) {
        match (a, b) {
            (Scalar::Complex(re_a, im_a), Scalar::Complex(re_b, im_b)) => {
                let far = sums.add(re_a, re_b, args) | sums.add(im_a, im_b, args);
                sums.differing += u64::from(far);
            }
            (Scalar::Int(a), Scalar::Int(b)) if a != b => {
                sums.integers(i128::from(a), i128::from(b), args)
            }
            (Scalar::UInt(a), Scalar::UInt(b)) if a != b => {
                sums.integers(i128::from(a), i128::from(b), args);
            }
            (a, b) => {
                let number = |scalar: Scalar| scalar.to_f64().unwrap_or(f64::NAN);
                let far = sums.add(number(a), number(b), args);
                sums.differing += u64::from(far);
            }
        }
    }
    Ok(Some(sums.finish()))
}

#[derive(Default)]
struct Sums {
    max_abs: f64,
    squares: f64,
    a: f64,
    b: f64,
    product: f64,
    differing: u64,
}

impl Sums {
    /// Takes in a pair; whether it is farther apart than the tolerances. NaN equals NaN.
    fn add(&mut self, a: f64, b: f64, args: &DiffArgs) -> bool {
        if !a.is_finite() || !b.is_finite() {
            return !(a == b || (a.is_nan() && b.is_nan()));
        }
        let apart = (a - b).abs();
        self.max_abs = self.max_abs.max(apart);
        self.squares += apart * apart;
        self.a += a * a;
        self.b += b * b;
        self.product += a * b;
        apart > args.atol + args.rtol * b.abs()
    }

    /// Integers are told apart exactly, where `f64` would round them together.
    fn integers(&mut self, a: i128, b: i128, args: &DiffArgs) {
        let far = self.add(a as f64, b as f64, args);
        let exact = args.atol == 0.0 && args.rtol == 0.0;
        self.differing += u64::from(far || exact);
    }

    fn finish(self) -> Distance {
        let norms = self.a.sqrt() * self.b.sqrt();
        let rel_l2 = match (self.squares, self.b) {
            (0.0, _) => 0.0,
            (squares, b) => squares.sqrt() / b.sqrt().max(f64::MIN_POSITIVE),
        };
        Distance {
            max_abs: self.max_abs,
            rel_l2,
            cosine: (norms > 0.0).then(|| (self.product / norms).clamp(-1.0, 1.0)),
            differing: self.differing,
        }
    }
}

/// Whether two leaves that are no tensors are equal. Floats by their bits, so NaN equals itself.
fn same_value(a: Object<'_>, b: Object<'_>) -> bool {
    match (a.data(), b.data()) {
        (Node::Float(a), Node::Float(b)) => a.to_bits() == b.to_bits(),
        (Node::Str(a), Node::Str(b)) => a == b,
        (Node::SurrogateStr(a), Node::SurrogateStr(b))
        | (Node::Bytes(a), Node::Bytes(b))
        | (Node::ByteArray(a), Node::ByteArray(b)) => a == b,
        (Node::BigInt(a), Node::BigInt(b)) => a == b,
        (Node::Class(a), Node::Class(b)) => a.full_name() == b.full_name(),
        _ => {
            std::mem::discriminant(a.data()) == std::mem::discriminant(b.data())
                && a.repr(1 << 20) == b.repr(1 << 20)
        }
    }
}

fn tally(differences: &[Difference]) -> Counts {
    let of = |kind| differences.iter().filter(|d| d.kind == kind).count();
    Counts {
        equal: of(Kind::Equal),
        close: of(Kind::Close),
        changed: of(Kind::Changed),
        dtype: of(Kind::Dtype),
        shape: of(Kind::Shape),
        added: of(Kind::Added),
        removed: of(Kind::Removed),
        renamed: of(Kind::Renamed),
        values_changed: of(Kind::Value),
    }
}

fn summary(counts: &Counts) -> Line {
    let total = counts.equal
        + counts.close
        + counts.changed
        + counts.dtype
        + counts.shape
        + counts.added
        + counts.removed
        + counts.renamed
        + counts.values_changed;
    let mut line = Line::new().add(Style::Strong, count(total, "value"));
    let parts = [
        (counts.equal, "equal", Style::Good),
        (counts.close, "close", Style::Good),
        (counts.changed, "changed", Style::Warn),
        (counts.added, "added", Style::Warn),
        (counts.removed, "removed", Style::Warn),
        (counts.renamed, "renamed", Style::Warn),
        (
            counts.dtype,
            if counts.dtype == 1 { "differs in dtype" } else { "differ in dtype" },
            Style::Warn,
        ),
        (
            counts.shape,
            if counts.shape == 1 { "differs in shape" } else { "differ in shape" },
            Style::Warn,
        ),
        (counts.values_changed, "not tensors and changed", Style::Warn),
    ];
    for (number, label, style) in parts {
        if number > 0 {
            line = line.dim(" · ").add(style, format!("{number} {label}"));
        }
    }
    line
}

fn line(difference: &Difference, width: usize, values: bool) -> Line {
    let (sign, style) = match difference.kind {
        Kind::Added => ("+", Style::Good),
        Kind::Removed => ("-", Style::Bad),
        Kind::Equal | Kind::Close => ("=", Style::Dim),
        Kind::Changed | Kind::Value => ("~", Style::Warn),
        Kind::Renamed => ("»", Style::Warn),
        Kind::Dtype | Kind::Shape => ("!", Style::Warn),
    };
    let name = if difference.name.is_empty() { "(root)" } else { &difference.name };
    let mut line = Line::new()
        .plain("  ")
        .add(style, sign)
        .plain(" ")
        .add(Style::Name, name)
        .pad_to(4 + width)
        .plain("  ");
    if let Some(to) = &difference.to {
        line = line.dim("→ ").add(Style::Name, to).plain("  ");
    }
    match (&difference.a, &difference.b) {
        (Some(a), Some(b)) if a != b => line = line.plain(a).dim(" → ").plain(b),
        (Some(one), _) | (None, Some(one)) => line = line.plain(one),
        (None, None) => {}
    }
    if let Some(numbers) = difference.numbers {
        if values || difference.kind == Kind::Changed {
            line = line.dim("  max|Δ| ").plain(short_number(numbers.max_abs));
        }
        if values {
            line = line.dim("  rel_L2 ").plain(short_number(numbers.rel_l2));
            if let Some(cosine) = numbers.cosine {
                line = line.dim("  cos ").plain(format!("{cosine:.5}"));
            }
            line = line.dim("  differing ").plain(numbers.differing.to_string());
        } else if difference.kind == Kind::Dtype && numbers.differing == 0 {
            line = line.dim("  equal after cast");
        }
    }
    line
}
