//! What a checkpoint is made of, in a line: its root, its layers, what else it holds.

use std::collections::HashSet;

use sconce::checkpoint::{Checkpoint, Node, Object};

use crate::output::{count, grouped};
use crate::report::tensor_rows::Row;
use crate::select::pick;

/// What the root object is, with the keys of a checkpoint that holds several things.
pub fn describe_root(checkpoint: &Checkpoint) -> String {
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
pub fn other_values(checkpoint: &Checkpoint) -> Option<String> {
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
pub fn layers(rows: &[Row]) -> Option<String> {
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
