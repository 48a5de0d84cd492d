//! `sconce diff`: what differs between two files, whatever their formats.

mod distance;
mod groups;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;

use clap::Args;
use rayon::prelude::*;
use sconce::checkpoint::{Checkpoint, FileKind, Node, Object};
use sconce::tensor::Tensor;
use serde::Serialize;

use self::distance::{Distance, distance, equal_after_cast, same_bytes};
use self::groups::{Group, groups};
use crate::arguments::reading::Load;
use crate::arguments::selection::Names;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, Progress, SCHEMA_VERSION, Style, count};
use crate::read::open::{self, Say};
use crate::report::numbers::{dims, short_number};
use crate::report::program_diff::{self, Programs};
use crate::report::renamed_tensors::{self, Lone};
use crate::select::glob::Filter;
use crate::select::pick;

/// `sconce diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
Of two TorchScript archives the code is compared method by method, and constants, bytecode and extra files byte for \
byte; of two .pt2 files graphs, signature, ranges, guards and the structure of arguments and result, line by line.")]
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
    /// Cut this off the front of names, with the dot that follows (repeatable): module
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
    /// Print every difference on a line of its own
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
    /// How the programs of two TorchScript archives or .pt2 files differ.
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

#[derive(Serialize, Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
    /// A value that is not a tensor.
    Value,
}

#[derive(Serialize, Debug)]
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
    /// The dtype in which both are equal, of two tensors that differ in theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    equal_as: Option<&'static str>,
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
    let bytes = left.iter().filter_map(|leaf| Some(leaf.tensor.as_ref()?.nbytes()));
    let total = bytes.fold(0u64, u64::saturating_add);
    let progress = Progress::new("comparing", total, say.quiet || args.json);
    let differences = compare(&left, &right, args, &progress)?;
    drop(progress);
    let counts = tally(&differences);
    let programs = program_diff::compare(&first, &second, !args.tensors_only, &args.load)?;
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
    let groups = groups(shown, !args.all);
    let width = groups.iter().take(most).map(|group| group.name.chars().count()).max();
    let width = width.unwrap_or(0).min(60);
    for group in groups.iter().take(most) {
        out.line(&line(group, width, args.values))?;
    }
    if groups.len() > most {
        out.line(&Line::new().dim(format!("  … {} more, --all shows them", groups.len() - most)))?;
    }
    for line in programs.iter().flat_map(|programs| programs.lines(args.all)) {
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
    let mut out: Vec<Leaf<'c>> = Vec::new();
    checkpoint.visit(|name, object| {
        let tensor = pick::tensor_of(object).cloned();
        if tensor.is_none() && tensors_only {
            return;
        }
        let name = without_prefix(name, &args.ignore_prefix);
        // The version of a wrapper stands for that of what it wraps.
        let wrapped = name == ROOT_VERSION && out.iter().any(|leaf| leaf.name == ROOT_VERSION);
        if filter.accepts(&name) && !wrapped {
            out.push(Leaf { name: name.into_owned(), object, tensor });
        }
    });
    out
}

/// Where a state dict has the versions of modules, by the modules' names.
const METADATA: &str = "_metadata.";
/// The version of the outermost module, whose name is empty.
const ROOT_VERSION: &str = "_metadata..version";

/// `module` and `module.` cut the same off `module.fc.weight`, and nothing off `modules.0`. Versions of modules go with
/// their modules.
fn without_prefix<'n>(name: &'n str, prefixes: &[String]) -> Cow<'n, str> {
    let cut = |name: &'n str, prefix: &String| {
        let rest = name.strip_prefix(prefix.as_str())?;
        if prefix.is_empty() || prefix.ends_with('.') { Some(rest) } else { rest.strip_prefix('.') }
    };
    let first = |name| prefixes.iter().find_map(|prefix| cut(name, prefix));
    if let Some(rest) = first(name) {
        return rest.into();
    }
    match name.strip_prefix(METADATA).and_then(first) {
        Some("version") => ROOT_VERSION.into(),
        Some(rest) => format!("{METADATA}{rest}").into(),
        None => name.into(),
    }
}

fn compare(
    left: &[Leaf<'_>],
    right: &[Leaf<'_>],
    args: &DiffArgs,
    progress: &Progress,
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
        .map(|(at, (a, b))| {
            let difference = match (b, moved.get(&at)) {
                (Some(b), _) => pair(a, b, args),
                (None, Some(b)) => Ok(under_another_name(a, b)),
                (None, None) => Ok(alone(Kind::Removed, a)),
            };
            progress.advance(a.tensor.as_ref().map_or(0, Tensor::nbytes));
            difference
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
    Difference { kind: Kind::Renamed, name, to, a, b, numbers: None, equal_as: None }
}

fn alone(kind: Kind, leaf: &Leaf<'_>) -> Difference {
    let text = Some(describe(leaf));
    let (a, b) = if kind == Kind::Removed { (text, None) } else { (None, text) };
    Difference { kind, name: leaf.name.clone(), to: None, a, b, numbers: None, equal_as: None }
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
        Difference {
            kind,
            name: a.name.clone(),
            to: None,
            a: text(a),
            b: text(b),
            numbers,
            equal_as: None,
        }
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
    let tolerant = args.atol > 0.0 || args.rtol > 0.0;
    let kind = match distance {
        Some(distance) if distance.differing == 0 && (tolerant || !dtype) => Kind::Close,
        _ if dtype => Kind::Dtype,
        _ => Kind::Changed,
    };
    let cast = match kind {
        Kind::Dtype => equal_after_cast(x, y).map_err(fail)?,
        _ => None,
    };
    Ok(Difference { equal_as: cast.map(|dtype| dtype.name()), ..made(kind, distance) })
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

fn line(group: &Group<'_>, width: usize, values: bool) -> Line {
    let difference = group.first;
    let (sign, style) = match difference.kind {
        Kind::Added => ("+", Style::Good),
        Kind::Removed => ("-", Style::Bad),
        Kind::Equal | Kind::Close => ("=", Style::Dim),
        Kind::Changed | Kind::Value => ("~", Style::Warn),
        Kind::Renamed => ("»", Style::Warn),
        Kind::Dtype | Kind::Shape => ("!", Style::Warn),
    };
    let name = if group.name.is_empty() { "(root)" } else { &group.name };
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
    if group.count > 1 {
        line = line.dim(format!("  ×{}", group.count));
    }
    if let Some(dtype) = difference.equal_as {
        line = line.add(Style::Good, format!("  equal after cast to {dtype}"));
    }
    if let Some(numbers) = group.numbers {
        let farthest = if group.count > 1 { "  max|Δ| up to " } else { "  max|Δ| " };
        if values
            || matches!(difference.kind, Kind::Changed | Kind::Dtype)
                && difference.equal_as.is_none()
        {
            line = line.dim(farthest).plain(short_number(numbers.max_abs));
        }
        if values {
            line = line.dim("  rel_L2 ").plain(short_number(numbers.rel_l2));
            if let Some(cosine) = numbers.cosine {
                line = line.dim("  cos ").plain(format!("{cosine:.5}"));
            }
            line = line.dim("  differing ").plain(numbers.differing.to_string());
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_at_a_dot() {
        let prefixes = ["module".to_owned(), "net.".to_owned()];
        let cut = |name| without_prefix(name, &prefixes);
        assert_eq!(cut("module.fc.weight"), "fc.weight");
        assert_eq!(cut("modules.0"), "modules.0");
        assert_eq!(cut("net.fc"), "fc");
        assert_eq!(cut("module"), "module");
    }
}
