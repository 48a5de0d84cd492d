//! Graphs and their nodes.

use super::argument::{Argument, CustomObjArgument, Device};
use super::enums::{ArgumentKind, Layout, ScalarType};
use super::macros::structure;
use super::read::Map;
use super::symbolic::{SymBool, SymFloat, SymInt};

structure! {
    /// What is known of a tensor.
    TensorMeta {
        /// Its dtype.
        dtype "dtype": ScalarType;
        /// Its sizes.
        sizes "sizes": Vec<SymInt>;
        /// Whether gradients are wanted of it.
        requires_grad "requires_grad": bool;
        /// Where it was when the program was exported.
        device "device": Device;
        /// Its strides, in elements.
        strides "strides": Vec<SymInt>;
        /// Where it begins in its storage, in elements.
        storage_offset "storage_offset": SymInt;
        /// Its layout.
        layout "layout": Layout;
    }
}

structure! {
    /// An argument with its parameter's name.
    NamedArgument {
        /// The name of the operator's parameter; empty for higher-order operators.
        name "name": String;
        /// The argument.
        arg "arg": Argument;
        /// How it was passed; absent in older minor versions.
        kind "kind": Option<ArgumentKind> = None;
    }
}

structure! {
    /// A call.
    Node {
        /// What is called: `torch.ops.aten.add.Tensor`, `_operator.mul`, ….
        target "target": String;
        /// Its arguments; those that are not given have their defaults.
        inputs "inputs": Vec<NamedArgument>;
        /// The values that it gives.
        outputs "outputs": Vec<Argument>;
        /// Where it comes from: `stack_trace`, `nn_module_stack`, `torch_fn`, ….
        metadata "metadata": Map<String>;
        /// For higher-order operators with one result: whether it is bare, or a tuple of one.
        is_hop_single_tensor_return "is_hop_single_tensor_return": Option<bool> = None;
        /// The node's own name; absent in older minor versions.
        name "name": Option<String> = None;
    }
}

structure! {
    /// A graph. Its values have names of their own, which no other graph sees.
    Graph {
        /// Its inputs, in order.
        inputs "inputs": Vec<Argument>;
        /// What it gives, in order.
        outputs "outputs": Vec<Argument>;
        /// Its nodes, in the order in which they run.
        nodes "nodes": Vec<Node>;
        /// What is known of its tensors, by name.
        tensor_values "tensor_values": Map<TensorMeta>;
        /// What is known of its symbolic integers, by name.
        sym_int_values "sym_int_values": Map<SymInt>;
        /// What is known of its symbolic booleans, by name.
        sym_bool_values "sym_bool_values": Map<SymBool>;
        /// Whether its one result is bare, not a tuple of one.
        is_single_tensor_return "is_single_tensor_return": bool = false;
        /// Its objects of registered classes, by name.
        custom_obj_values "custom_obj_values": Map<CustomObjArgument> = Map::new();
        /// What is known of its symbolic floats, by name.
        sym_float_values "sym_float_values": Map<SymFloat> = Map::new();
    }
}

impl Graph {
    /// Calls `visit` with each node; those of the graphs that a node takes come before it.
    pub fn visit_nodes<'g>(&'g self, visit: &mut dyn FnMut(&'g Node)) {
        for node in &self.nodes {
            for input in &node.inputs {
                input.arg.visit_nodes(visit);
            }
            visit(node);
        }
    }
}

impl Argument {
    fn visit_nodes<'g>(&'g self, visit: &mut dyn FnMut(&'g Node)) {
        match self {
            Argument::Graph(argument) => argument.graph.visit_nodes(visit),
            Argument::StringToArgument(entries) => {
                entries.values().for_each(|value| value.visit_nodes(visit));
            }
            _ => {}
        }
    }
}
