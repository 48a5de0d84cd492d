//! Graphs in Graphviz's language.

use std::fmt::Write;

use super::layered_layout::Picture;

/// A box for each node but constants, a cluster for each block, an arrow for each use of a value.
pub fn dot(picture: &Picture, title: &str) -> String {
    let mut out = String::from("digraph {\n  node [shape=box, fontname=\"monospace\"];\n");
    // Writing to a String cannot fail.
    let _ = writeln!(out, "  label={};", quoted(title));
    // Boxes of a block are said wherever the block is open: where the next box is in another block,
    // blocks are closed and opened up to it.
    let mut open: Vec<usize> = Vec::new();
    for (at, node) in picture.boxes.iter().enumerate() {
        let path = path(picture, node.block);
        let common = open.iter().zip(&path).take_while(|(a, b)| a == b).count();
        while open.len() > common {
            open.pop();
            let _ = writeln!(out, "{}}}", indent(open.len()));
        }
        for &block in &path[common..] {
            let _ = writeln!(out, "{}subgraph cluster{block} {{", indent(open.len()));
            open.push(block);
            let index = picture.blocks[block].index;
            let _ = writeln!(out, "{}label=\"block{index}\";", indent(open.len()));
        }
        let shape = if node.round { ", shape=ellipse" } else { "" };
        let label = quoted(&node.label);
        let _ = writeln!(out, "{}n{at} [label={label}{shape}];", indent(open.len()));
    }
    while open.pop().is_some() {
        let _ = writeln!(out, "{}}}", indent(open.len()));
    }
    for arrow in &picture.arrows {
        let style = match &arrow.value {
            Some(name) => format!("label={}", quoted(name)),
            None => "style=dashed".to_owned(),
        };
        let _ = writeln!(out, "  n{} -> n{} [{style}];", arrow.from, arrow.to);
    }
    out.push_str("}\n");
    out
}

/// The blocks around a box but the outermost, from outside.
fn path(picture: &Picture, block: usize) -> Vec<usize> {
    let mut path = Vec::new();
    let mut at = block;
    while let Some(parent) = picture.blocks[at].parent {
        path.push(at);
        at = parent;
    }
    path.reverse();
    path
}

fn indent(level: usize) -> String {
    "  ".repeat(level + 1)
}

/// A string of Graphviz's language.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
