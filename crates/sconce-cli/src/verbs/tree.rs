//! `sconce tree`: names cut at their dots, as a tree with sizes.
//!
//! The tree is an arena in which children come after their parents, so that everything below is a
//! loop: names may nest as deep as a file likes.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use clap::{Args, ValueEnum};
use sconce::checkpoint::{Checkpoint, Node as Value, Object};
use serde::Serialize;

use crate::arguments::reading::Input;
use crate::arguments::selection::Names;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION, Style, percent_bar};
use crate::read::open::{self, Say};
use crate::report::elements;
use crate::report::numbers::{dims, natural};
use crate::report::roles::{Distinct, Role, Roles};
use crate::select::glob::Filter;
use crate::select::pick;

/// `sconce tree`.
#[derive(Debug, Args)]
pub struct TreeArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Levels to show (with it, repeats are still folded)
    #[arg(short = 'L', long, value_name = "N")]
    pub depth: Option<usize>,
    /// Order of siblings (default: the file's)
    #[arg(long, value_enum, value_name = "KEY")]
    pub sort: Option<TreeSort>,
    /// Do not fold repeats such as layers.{0..31}
    #[arg(long)]
    pub no_fold: bool,
    /// Show values that are no tensors too
    #[arg(short, long)]
    pub all: bool,
    /// Which names.
    #[command(flatten)]
    pub names: Names,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print no header
    #[arg(long)]
    pub no_header: bool,
}

/// `--sort` of `sconce tree`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TreeSort {
    /// By name
    Name,
    /// By bytes, largest first
    Size,
    /// By number of elements, largest first
    Numel,
}

/// Levels that a name is cut into; what is deeper stays in one piece. A name may be of dots alone.
const MAX_DEPTH: usize = 100;
const BAR: usize = 10;

#[derive(Default)]
struct Node {
    name: String,
    /// What stands behind the name: a class, or a leaf's dtype and shape.
    what: String,
    children: Vec<usize>,
    leaf: bool,
    tensors: usize,
    numel: i64,
    /// Elements that are parameters, each view once.
    parameters: i64,
    nbytes: u64,
    /// Equal for subtrees that differ in nothing but their own name.
    signature: u64,
}

/// The tree, and the objects of containers while it is built.
struct Tree<'c> {
    nodes: Vec<Node>,
    objects: Vec<Option<Object<'c>>>,
    by_name: HashMap<(usize, String), usize>,
}

/// A line to print: one node, or several that are alike.
struct Entry {
    node: usize,
    depth: usize,
    label: String,
    names: Vec<String>,
    /// For every level above: whether siblings follow there.
    rulers: Vec<bool>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    nodes: Vec<NodeRow<'a>>,
}

#[derive(Serialize)]
struct NodeRow<'a> {
    name: &'a str,
    names: &'a [String],
    depth: usize,
    leaf: bool,
    what: &'a str,
    tensors: usize,
    numel: i64,
    parameters: i64,
    nbytes: u64,
}

pub fn run(args: &TreeArgs, out: &mut Out, say: Say) -> Verdict {
    let checkpoint = open::checkpoint(&args.input, say)?;
    let filter = Filter::new(&args.names.include, &args.names.exclude)?;
    let mut tree = build(&checkpoint, &filter, args.all);
    tree.nodes[0].name = open::short_name(&args.input.file);
    tree.total();
    tree.sort(args.sort);
    let depth = args.depth.unwrap_or(MAX_DEPTH);
    let entries = tree.entries(depth, !args.no_fold);
    if args.json {
        let file = open::name(&args.input.file);
        let nodes = entries.iter().map(|entry| tree.row(entry)).collect();
        out.json(&Document { schema_version: SCHEMA_VERSION, file: &file, nodes })?;
        return Ok(Outcome::Clean);
    }
    out.use_pager();
    tree.print(&entries, !args.no_header, out)?;
    Ok(Outcome::Clean)
}

fn build<'c>(checkpoint: &'c Checkpoint, filter: &Filter, all: bool) -> Tree<'c> {
    let root = checkpoint.root();
    let mut tree = Tree {
        nodes: vec![Node { what: class(root), ..Node::default() }],
        objects: vec![Some(root)],
        by_name: HashMap::new(),
    };
    let (roles, mut distinct) = (Roles::new(checkpoint), Distinct::default());
    checkpoint.visit(|name, object| {
        // A number of numpy's is a value, no matter that it lies in memory as an array does.
        let tensor = pick::tensor_of(object).filter(|_| !matches!(object.data(), Value::Scalar(_)));
        if (tensor.is_none() && !all) || !filter.accepts(name) {
            return;
        }
        let at = tree.leaf(name);
        let node = &mut tree.nodes[at];
        node.leaf = true;
        match tensor {
            Some(tensor) => {
                let shape = tensor.nested_parts().is_none().then(|| tensor.sizes().to_vec());
                node.what = format!("{} {}", tensor.dtype().name(), dims(&shape));
                node.tensors = 1;
                node.numel = tensor.numel();
                let counts = roles.of(name, &object, tensor) == Role::Parameter;
                if distinct.first(tensor) && counts {
                    node.parameters = tensor.numel();
                }
                node.nbytes = elements::nbytes(tensor);
            }
            None => node.what = object.repr(60),
        }
    });
    tree
}

/// The class of a container, where it says more than that it is one.
fn class(object: Object<'_>) -> String {
    match object.data() {
        Value::Instance(_) => object.class_name(),
        Value::Dict(dict) => dict.kind.name().to_owned(),
        Value::List(_) => "list".to_owned(),
        Value::Tuple(_) => "tuple".to_owned(),
        _ => String::new(),
    }
}

impl<'c> Tree<'c> {
    /// The node with this dotted name, made with its parents where it is new.
    fn leaf(&mut self, name: &str) -> usize {
        let mut at = 0;
        if name.is_empty() {
            return at;
        }
        for part in name.splitn(MAX_DEPTH, '.') {
            let key = (at, part.to_owned());
            at = match self.by_name.get(&key) {
                Some(&child) => child,
                None => {
                    let object = self.objects[at].and_then(|object| {
                        object.get(part).or_else(|| object.at(part.parse().ok()?))
                    });
                    let child = self.nodes.len();
                    let what = object.map(class).unwrap_or_default();
                    self.nodes.push(Node { name: part.to_owned(), what, ..Node::default() });
                    self.objects.push(object);
                    self.nodes[at].children.push(child);
                    self.by_name.insert(key, child);
                    child
                }
            };
        }
        at
    }

    /// Adds leaves up into their parents, and signs subtrees.
    fn total(&mut self) {
        for at in (0..self.nodes.len()).rev() {
            let mut node = std::mem::take(&mut self.nodes[at]);
            let mut hasher = DefaultHasher::new();
            (node.leaf, &node.what, node.parameters).hash(&mut hasher);
            for &child in &node.children {
                let child = &self.nodes[child];
                node.tensors += child.tensors;
                node.numel = node.numel.saturating_add(child.numel);
                node.parameters = node.parameters.saturating_add(child.parameters);
                node.nbytes = node.nbytes.saturating_add(child.nbytes);
                (&child.name, child.signature).hash(&mut hasher);
            }
            node.signature = hasher.finish();
            self.nodes[at] = node;
        }
    }

    fn sort(&mut self, key: Option<TreeSort>) {
        let Some(key) = key else { return };
        for at in 0..self.nodes.len() {
            let mut children = std::mem::take(&mut self.nodes[at].children);
            let nodes = &self.nodes;
            match key {
                TreeSort::Name => {
                    children.sort_by(|&a, &b| natural(&nodes[a].name, &nodes[b].name))
                }
                TreeSort::Size => children.sort_by_key(|&at| std::cmp::Reverse(nodes[at].nbytes)),
                TreeSort::Numel => children.sort_by_key(|&at| std::cmp::Reverse(nodes[at].numel)),
            }
            self.nodes[at].children = children;
        }
    }

    /// What to print, in order. Siblings in a row that are numbered and alike become one entry.
    fn entries(&self, depth: usize, fold: bool) -> Vec<Entry> {
        let root = self.nodes[0].name.clone();
        let mut open =
            vec![Entry { node: 0, depth: 0, label: root, names: Vec::new(), rulers: Vec::new() }];
        let mut done = Vec::new();
        while let Some(entry) = open.pop() {
            if entry.depth < depth {
                let children = &self.nodes[entry.node].children;
                let groups = self.groups(children, fold);
                for (at, group) in groups.iter().enumerate().rev() {
                    let mut rulers = entry.rulers.clone();
                    rulers.push(at + 1 < groups.len());
                    open.push(Entry {
                        node: group[0],
                        depth: entry.depth + 1,
                        label: self.label(group),
                        names: group.iter().map(|&at| self.nodes[at].name.clone()).collect(),
                        rulers,
                    });
                }
            }
            done.push(entry);
        }
        done
    }

    fn groups(&self, children: &[usize], fold: bool) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for &child in children {
            let node = &self.nodes[child];
            let numbered = !node.name.is_empty() && node.name.bytes().all(|b| b.is_ascii_digit());
            match groups.last_mut() {
                Some(group)
                    if fold
                        && numbered
                        && !node.leaf
                        && self.nodes[group[0]].signature == node.signature
                        && self.nodes[group[0]].name.bytes().all(|b| b.is_ascii_digit()) =>
                {
                    group.push(child);
                }
                _ => groups.push(vec![child]),
            }
        }
        groups
    }

    /// `3`, `{0..31}`, or `{0,2,4}`.
    fn label(&self, group: &[usize]) -> String {
        let names: Vec<&str> = group.iter().map(|&at| self.nodes[at].name.as_str()).collect();
        if names.len() == 1 {
            return names[0].to_owned();
        }
        let numbers: Option<Vec<u64>> = names.iter().map(|name| name.parse().ok()).collect();
        let run = numbers.is_some_and(|numbers| numbers.windows(2).all(|p| p[0] + 1 == p[1]));
        if run {
            return format!("{{{}..{}}}", names[0], names[names.len() - 1]);
        }
        format!("{{{}}}", names.join(","))
    }

    fn row<'a>(&'a self, entry: &'a Entry) -> NodeRow<'a> {
        let node = &self.nodes[entry.node];
        let times = entry.names.len().max(1);
        NodeRow {
            name: &entry.label,
            names: &entry.names,
            depth: entry.depth,
            leaf: node.leaf,
            what: &node.what,
            tensors: node.tensors * times,
            numel: node.numel.saturating_mul(times as i64),
            parameters: node.parameters.saturating_mul(times as i64),
            nbytes: node.nbytes.saturating_mul(times as u64),
        }
    }

    fn print(&self, entries: &[Entry], header: bool, out: &mut Out) -> Result<(), Failure> {
        let sizes = out.sizes();
        let total = self.nodes[0].nbytes.max(1);
        let mut left: Vec<Line> = entries.iter().map(|entry| self.left(entry)).collect();
        let figures: Vec<(String, String)> = entries
            .iter()
            .map(|entry| self.row(entry))
            .map(|row| match row.tensors {
                0 => (String::new(), String::new()),
                _ => {
                    let parameters = match row.parameters {
                        0 => String::new(),
                        number => short_count(number),
                    };
                    (parameters, sizes.show(row.nbytes))
                }
            })
            .collect();
        let longest = |pick: fn(&(String, String)) -> &String| {
            figures.iter().map(|figures| pick(figures).len()).max().unwrap_or(0)
        };
        let (numel, size) = (longest(|f| &f.0).max(6), longest(|f| &f.1).max(4));
        let mut name = left.iter().map(Line::width).max().unwrap_or(0);
        if let Some(width) = out.width() {
            let rest = numel + size + BAR + 12;
            name = name.min(width.saturating_sub(rest).max(20));
            left = left.into_iter().map(|line| line.fit(Some(name))).collect();
        }
        if header {
            let titles = format!("  {:>numel$}  {:>size$}", "params", "size");
            out.line(&Line::new().pad_to(name).dim(titles))?;
        }
        for ((entry, line), (elements, bytes)) in entries.iter().zip(left).zip(&figures) {
            let row = self.row(entry);
            if row.tensors == 0 {
                out.line(&line)?;
                continue;
            }
            let share = row.nbytes as f64 / total as f64;
            let bar = percent_bar(share, BAR);
            let line = line
                .pad_to(name)
                .plain(format!("  {elements:>numel$}  "))
                .add(Style::Number, format!("{bytes:>size$}"))
                .plain("  ")
                .add(Style::Name, format!("{bar:<BAR$}"))
                .dim(format!(" {:>3.0}%", share * 100.0));
            out.line(&line)?;
        }
        let folded = entries.iter().any(|entry| entry.names.len() > 1);
        if folded && header {
            out.line(&Line::new().dim("repeats are folded, --no-fold shows each"))?;
        }
        Ok(())
    }

    fn left(&self, entry: &Entry) -> Line {
        let node = &self.nodes[entry.node];
        let mut line = Line::new();
        if let Some((last, above)) = entry.rulers.split_last() {
            for &more in above {
                line.push(Style::Dim, if more { "│  " } else { "   " });
            }
            line.push(Style::Dim, if *last { "├─ " } else { "└─ " });
        }
        let style = if entry.depth == 0 { Style::Strong } else { Style::Name };
        line.push(style, if entry.label.is_empty() { "''" } else { &entry.label });
        if !node.what.is_empty() {
            line.push(Style::Plain, format!("  {}", node.what));
        }
        if entry.names.len() > 1 {
            line.push(Style::Dim, format!("  x{}", entry.names.len()));
        }
        line
    }
}

/// `545.3K`, `7.2M`, `70.6B`; exact below ten thousand.
fn short_count(number: i64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")];
    if number.unsigned_abs() < 10_000 {
        return number.to_string();
    }
    let value = number as f64;
    let unit = UNITS.iter().find(|(unit, _)| value.abs() >= *unit);
    unit.map_or_else(|| number.to_string(), |(unit, name)| format!("{:.1}{name}", value / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let cases = [(0, "0"), (9999, "9999"), (545_300, "545.3K"), (7_240_000_000, "7.2B")];
        for (number, want) in cases {
            assert_eq!(short_count(number), want);
        }
    }
}
