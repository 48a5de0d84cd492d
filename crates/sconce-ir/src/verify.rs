//! Checks that a graph holds together.

use std::fmt;

use crate::{BlockId, Graph, Kind, NodeId, Prim, Type, ValueId};

/// What is wrong with a graph, and at which node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The node.
    pub node: NodeId,
    /// The node's kind, inputs and outputs, as far as they can be told.
    pub context: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "node {} ({}): {}", self.node.0, self.context, self.message)
    }
}

impl std::error::Error for VerifyError {}

/// Checks links between nodes and blocks, that uses and inputs agree, that values are made before
/// they are used and where they can be seen, and how many inputs, outputs and blocks instructions
/// have.
///
/// # Errors
/// Everything that is wrong.
pub fn verify(graph: &Graph) -> Result<(), Vec<VerifyError>> {
    run(graph, true)
}

fn run(graph: &Graph, shapes: bool) -> Result<(), Vec<VerifyError>> {
    let mut verifier = Verifier {
        graph,
        shapes,
        errors: Vec::new(),
        visible: vec![false; graph.value_count()],
        visited: vec![false; graph.node_count()],
        uses: 0,
    };
    verifier.blocks();
    verifier.leftovers();
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

/// Verifies a graph after a pass. For the end of every pass; it does nothing in release builds.
///
/// # Panics
/// In debug builds and tests, when [`verify`] refuses the graph; the message names the pass.
#[track_caller]
pub fn verify_after(pass: &str, graph: &Graph) {
    if cfg!(debug_assertions) {
        blame(pass, graph, verify(graph));
    }
}

/// As [`verify_after`], for a graph whose instructions are not in their final form: loops that do not
/// carry values yet. Links, uses and order are verified, numbers of inputs, outputs and blocks are not.
///
/// # Panics
/// As [`verify_after`].
#[track_caller]
pub fn verify_links_after(pass: &str, graph: &Graph) {
    if cfg!(debug_assertions) {
        blame(pass, graph, run(graph, false));
    }
}

#[track_caller]
fn blame(pass: &str, graph: &Graph, result: Result<(), Vec<VerifyError>>) {
    if let Err(errors) = result {
        let list: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("after {pass}: {}\n{graph}", list.join("\n"));
    }
}

struct Verifier<'a> {
    graph: &'a Graph,
    /// Whether numbers of inputs, outputs and blocks are checked.
    shapes: bool,
    errors: Vec<VerifyError>,
    visible: Vec<bool>,
    visited: Vec<bool>,
    /// How many inputs were seen; each is a use.
    uses: usize,
}

impl Verifier<'_> {
    fn error(&mut self, node: NodeId, message: impl Into<String>) {
        let at = self.graph.node(node);
        let list = |ids: &[ValueId]| ids.iter().map(|id| format!("%{}", id.0)).collect::<Vec<_>>();
        let context = format!(
            "{} = {}({})",
            list(at.outputs()).join(", "),
            at.kind,
            list(at.inputs()).join(", ")
        );
        self.errors.push(VerifyError { node, context, message: message.into() });
    }

    fn check(&mut self, node: NodeId, holds: bool, message: &str) {
        if !holds {
            self.error(node, message);
        }
    }

    /// Goes over all blocks with a stack of its own: blocks that are open, and the node to go on
    /// with in each.
    fn blocks(&mut self) {
        let graph = self.graph;
        let mut open = vec![(graph.root(), graph.param_node(graph.root()))];
        while let Some((block, node)) = open.pop() {
            if node == graph.param_node(block) {
                open.push((block, self.enter(block)));
                continue;
            }
            // A node's outputs are seen after its blocks, not in them.
            let before = graph.node(graph.previous(node));
            if !before.blocks().is_empty() {
                before.outputs().iter().for_each(|output| self.visible[output.0 as usize] = true);
            }
            if node == graph.return_node(block) {
                self.leave(block);
                continue;
            }
            if !self.links(node, block) {
                continue;
            }
            open.push((block, graph.next(node)));
            self.inputs(node);
            self.outputs(node);
            self.shape(node);
            if !graph.node(node).blocks().is_empty() {
                let outputs = graph.node(node).outputs().iter();
                outputs.for_each(|output| self.visible[output.0 as usize] = false);
            }
            for &inner in graph.node(node).blocks().iter().rev() {
                self.check(
                    node,
                    graph.block_owner(inner) == Some(node),
                    "a block has another owner",
                );
                open.push((inner, graph.param_node(inner)));
            }
        }
    }

    /// The first node of a block, whose parameters are seen from now on.
    fn enter(&mut self, block: BlockId) -> NodeId {
        let param = self.graph.param_node(block);
        let holds = self.graph.node(param).is(Prim::Param)
            && self.graph.node(param).owner() == Some(block)
            && self.graph.node(param).inputs().is_empty();
        self.check(param, holds, "not the parameters of its block");
        self.visited[param.0 as usize] = true;
        self.outputs(param);
        self.graph.next(param)
    }

    /// Checks what a block gives, and hides what it made.
    fn leave(&mut self, block: BlockId) {
        let ret = self.graph.return_node(block);
        let holds = self.graph.node(ret).is(Prim::Return)
            && self.graph.node(ret).outputs().is_empty()
            && self.links(ret, block);
        self.check(ret, holds, "not the results of its block");
        self.inputs(ret);
        let made = self.graph.block_nodes(block).chain([self.graph.param_node(block)]);
        for node in made {
            for output in self.graph.node(node).outputs() {
                self.visible[output.0 as usize] = false;
            }
        }
    }

    /// Whether the node may be gone past.
    fn links(&mut self, node: NodeId, block: BlockId) -> bool {
        let graph = self.graph;
        if std::mem::replace(&mut self.visited[node.0 as usize], true) {
            self.error(node, "met twice");
            return false;
        }
        self.check(node, graph.node(node).is_alive(), "destroyed, but in a block");
        self.check(node, graph.node(node).owner() == Some(block), "in another block than it says");
        let previous = graph.previous(node);
        self.check(node, graph.next(previous) == node, "the node before does not lead here");
        self.check(node, graph.is_before(previous, node), "its position is not after the last");
        true
    }

    fn inputs(&mut self, node: NodeId) {
        let graph = self.graph;
        for (index, &input) in graph.node(node).inputs().iter().enumerate() {
            self.uses += 1;
            if !self.visible[input.0 as usize] {
                self.error(node, format!("%{} cannot be seen here", input.0));
            }
            if !graph.has_use(node, index) {
                self.error(node, format!("%{} does not know of this use", input.0));
            }
        }
    }

    fn outputs(&mut self, node: NodeId) {
        let graph = self.graph;
        for (index, &output) in graph.node(node).outputs().iter().enumerate() {
            let value = graph.value(output);
            if value.node() != node || value.index() != index {
                self.error(node, format!("%{} says that another node makes it", output.0));
            }
            self.visible[output.0 as usize] = true;
        }
    }

    /// The number of inputs, outputs and blocks, and the types that must agree.
    fn shape(&mut self, id: NodeId) {
        if !self.shapes {
            return;
        }
        let graph = self.graph;
        let node = graph.node(id);
        let (inputs, outputs) = (node.inputs().len(), node.outputs().len());
        let Kind::Prim(prim) = node.kind else { return };
        match prim {
            Prim::If => {
                self.check(id, inputs == 1, "an If has one input");
                self.check(id, node.blocks().len() == 2, "an If has two blocks");
                for &block in node.blocks() {
                    self.check(
                        id,
                        graph.block_inputs(block).is_empty(),
                        "an If's block has inputs",
                    );
                    let given = graph.block_outputs(block).len();
                    self.check(
                        id,
                        given == outputs,
                        "an If's block gives another number of values",
                    );
                }
            }
            Prim::Loop => {
                self.check(id, inputs >= 2, "a Loop has a trip count and a condition");
                self.check(id, node.blocks().len() == 1, "a Loop has one block");
                self.check(id, inputs == outputs + 2, "a Loop gives what it carries");
                for &block in node.blocks() {
                    let (taken, given) =
                        (graph.block_inputs(block).len(), graph.block_outputs(block).len());
                    self.check(id, taken == outputs + 1, "a Loop's body takes what it carries");
                    self.check(id, given == outputs + 1, "a Loop's body gives what it carries");
                }
            }
            Prim::Constant => {
                self.check(id, inputs == 0 && outputs == 1, "a constant is one value");
                self.check(id, node.blocks().is_empty(), "a constant has no blocks");
            }
            Prim::Param | Prim::Return => self.error(id, "stands among the nodes of a block"),
            Prim::TupleConstruct => {
                self.check(id, outputs == 1, "a tuple is one value");
                if let Some(Type::Tuple(ty)) = node.outputs().first().map(|&id| graph.ty(id)) {
                    self.check(
                        id,
                        ty.elements.len() == inputs,
                        "the tuple's type has another length",
                    );
                }
            }
            Prim::TupleUnpack => {
                self.check(id, inputs == 1, "a tuple is one value");
                if let Some(Type::Tuple(ty)) = node.inputs().first().map(|&id| graph.ty(id)) {
                    let elements = ty.elements.len();
                    self.check(id, elements == outputs, "the tuple's type has another length");
                }
            }
            Prim::TupleIndex => {
                self.check(id, inputs == 2 && outputs == 1, "takes tuple and index")
            }
            Prim::ListConstruct | Prim::DictConstruct => {
                self.check(id, outputs == 1, "a container is one value");
            }
            Prim::GetAttr => self.check(id, inputs == 1 && outputs == 1, "takes an object"),
            Prim::SetAttr => self.check(id, inputs == 2 && outputs == 0, "takes object and value"),
            Prim::UncheckedCast => self.check(id, inputs == 1 && outputs == 1, "takes a value"),
            _ => {}
        }
    }

    /// Uses by nodes that are in no block.
    fn leftovers(&mut self) {
        let graph = self.graph;
        let mut known = 0;
        for index in 0..graph.value_count() {
            for at in graph.value(ValueId(index as u32)).uses() {
                if self.visited[at.user.0 as usize] {
                    known += 1;
                } else {
                    self.error(at.user, format!("uses %{index}, but is in no block"));
                }
            }
        }
        if known != self.uses {
            let root = graph.return_node(graph.root());
            self.error(root, format!("{known} uses are known of {} inputs", self.uses));
        }
    }
}
