//! A graph as boxes and arrows, for whatever draws them.

use std::collections::HashMap;
use std::fmt::Write;

use sconce::jit::ir::{BlockId, Graph, Kind, NodeId, Prim, ValueId};

/// Characters of a constant that are shown.
const CONSTANT_CHARS: usize = 20;

/// Boxes and arrows. Constants have no boxes: they stand with the nodes that use them.
#[derive(Debug, Default)]
pub struct Picture {
    /// The boxes. A node with blocks comes after what is in them, so that arrows only point from
    /// earlier boxes to later ones.
    pub boxes: Vec<Box>,
    /// The blocks, the outermost first; a block comes before those within it.
    pub blocks: Vec<Block>,
    /// The arrows.
    pub arrows: Vec<Arrow>,
}

/// A node, an input of a block, or the end of a block.
#[derive(Debug)]
pub struct Box {
    /// What it says.
    pub label: String,
    /// Whether it is an input or the end of a block.
    pub round: bool,
    /// The block that it is in.
    pub block: usize,
}

/// A block.
#[derive(Debug)]
pub struct Block {
    /// Which block of its node it is.
    pub index: usize,
    /// The block that its node is in; `None` for the outermost.
    pub parent: Option<usize>,
}

/// A use of a value, or where a block ends and its node goes on.
#[derive(Debug)]
pub struct Arrow {
    /// The box that makes the value.
    pub from: usize,
    /// The box that uses it.
    pub to: usize,
    /// The name of the value; `None` from a block to its node.
    pub value: Option<String>,
}

/// What is still to be walked, the last first.
enum Step {
    /// A block: its id and its place in [`Picture::blocks`].
    Enter(BlockId, usize),
    /// A node of a block.
    Node(NodeId, usize),
    /// A node whose blocks have been walked.
    Owner(NodeId, usize),
    /// The end of a block.
    End(BlockId, usize),
}

impl Picture {
    /// The picture of a graph.
    pub fn new(graph: &Graph) -> Picture {
        let mut maker = Maker { graph, picture: Picture::default(), made: HashMap::new() };
        maker.picture.blocks.push(Block { index: 0, parent: None });
        // Blocks nest as deep as calls were inlined, so no recursion.
        let mut steps = vec![Step::Enter(graph.root(), 0)];
        let mut ends = HashMap::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(block, at) => {
                    maker.inputs(block, at);
                    steps.push(Step::End(block, at));
                    let start = steps.len();
                    steps.extend(graph.block_nodes(block).map(|node| Step::Node(node, at)));
                    steps[start..].reverse();
                }
                Step::Node(node, at) => {
                    steps.push(Step::Owner(node, at));
                    for (index, &block) in graph.node(node).blocks().iter().enumerate().rev() {
                        maker.picture.blocks.push(Block { index, parent: Some(at) });
                        steps.push(Step::Enter(block, maker.picture.blocks.len() - 1));
                    }
                }
                Step::Owner(node, at) => {
                    if let Some(target) = maker.node(node, at) {
                        let ends = graph.node(node).blocks().iter().filter_map(|id| ends.get(id));
                        maker.picture.arrows.extend(ends.map(|&from| Arrow {
                            from,
                            to: target,
                            value: None,
                        }));
                    }
                }
                Step::End(block, at) => {
                    let end = maker.add("return".to_owned(), true, at);
                    maker.arrows(graph.block_outputs(block), end);
                    ends.insert(block, end);
                }
            }
        }
        maker.picture
    }
}

struct Maker<'g> {
    graph: &'g Graph,
    picture: Picture,
    /// The box that each value comes from.
    made: HashMap<ValueId, usize>,
}

impl Maker<'_> {
    fn add(&mut self, label: String, round: bool, block: usize) -> usize {
        self.picture.boxes.push(Box { label, round, block });
        self.picture.boxes.len() - 1
    }

    fn inputs(&mut self, block: BlockId, at: usize) {
        for &input in self.graph.block_inputs(block) {
            let label = format!("{} : {}", value_name(self.graph, input), self.graph.ty(input));
            let made = self.add(label, true, at);
            self.made.insert(input, made);
        }
    }

    /// The box of a node; a constant has none.
    fn node(&mut self, id: NodeId, at: usize) -> Option<usize> {
        let node = self.graph.node(id);
        if node.is(Prim::Constant) {
            return None;
        }
        let made = self.add(label(self.graph, id), false, at);
        self.made.extend(node.outputs().iter().map(|&output| (output, made)));
        self.arrows(node.inputs(), made);
        Some(made)
    }

    fn arrows(&mut self, values: &[ValueId], to: usize) {
        for &value in values {
            // Constants have no box.
            if let Some(&from) = self.made.get(&value) {
                let value = Some(value_name(self.graph, value));
                self.picture.arrows.push(Arrow { from, to, value });
            }
        }
    }
}

/// The operator, the name it goes by, and the constants that it is given.
fn label(graph: &Graph, id: NodeId) -> String {
    let node = graph.node(id);
    let mut text = match &node.kind {
        Kind::Op(name) => name.to_string(),
        Kind::Prim(prim) => prim.symbol().to_owned(),
    };
    if let Some(name) = node.str_attribute("name") {
        // Writing to a String cannot fail.
        let _ = write!(text, " {name}");
    }
    let constants = node.inputs().iter().filter_map(|&input| {
        let mut shown = graph.constant(input)?.graph_text();
        if let Some((end, _)) = shown.char_indices().nth(CONSTANT_CHARS) {
            shown.truncate(end);
            shown.push('…');
        }
        Some(shown)
    });
    let constants: Vec<String> = constants.collect();
    if !constants.is_empty() {
        let _ = write!(text, "({})", constants.join(", "));
    }
    text
}

fn value_name(graph: &Graph, value: ValueId) -> String {
    match graph.value(value).name() {
        Some(name) => format!("%{name}"),
        None => format!("%{}", value.0),
    }
}
