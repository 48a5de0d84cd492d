//! A whole program.

use super::argument::Argument;
use super::graph::Graph;
use super::macros::structure;
use super::read::{Map, Place, Value};
use super::signature::GraphSignature;
use crate::json::{Json, Writer, parse};
use crate::{Error, ErrorKind};

/// The major version that is read.
const MAJOR: i64 = 8;

structure! {
    /// The values that a symbol may have.
    RangeConstraint {
        /// The least; none where there is no bound.
        min_val "min_val": Option<i64> = None;
        /// The greatest; none where there is no bound.
        max_val "max_val": Option<i64> = None;
    }
}

structure! {
    /// How a module is called.
    ModuleCallSignature {
        /// The values that go in.
        inputs "inputs": Vec<Argument>;
        /// The values that come out.
        outputs "outputs": Vec<Argument>;
        /// The structure of the arguments, as JSON: `(args, kwargs)`.
        in_spec "in_spec": String;
        /// The structure of the result, as JSON.
        out_spec "out_spec": String;
        /// The names of the parameters of `forward`.
        forward_arg_names "forward_arg_names": Option<Vec<String>> = None;
    }
}

structure! {
    /// A module that was called; the first is the program itself.
    ModuleCallEntry {
        /// The module's name.
        fqn "fqn": String;
        /// How it is called, where the export kept that.
        signature "signature": Option<ModuleCallSignature> = None;
    }
}

structure! {
    /// A named tuple in the structure of arguments or results.
    NamedTupleDef {
        /// Its fields.
        field_names "field_names": Vec<String>;
    }
}

structure! {
    /// A graph with what is known of it.
    GraphModule {
        /// The graph.
        graph "graph": Graph;
        /// What its inputs and outputs are for.
        signature "signature": GraphSignature;
        /// The modules that were called, in order of their first call.
        module_call_graph "module_call_graph": Vec<ModuleCallEntry>;
        /// More, such as `custom`.
        metadata "metadata": Map<String> = Map::new();
        /// Named tuples by name.
        treespec_namedtuple_fields "treespec_namedtuple_fields": Map<NamedTupleDef> = Map::new();
    }
}

structure! {
    /// The version of these structures.
    SchemaVersion {
        /// Versions with different majors cannot read each other.
        major "major": i64;
        /// Higher for each addition.
        minor "minor": i64;
    }
}

structure! {
    /// A program as `torch.export.save` writes it.
    ExportedProgram {
        /// The program.
        graph_module "graph_module": GraphModule;
        /// The version of each operator set.
        opset_version "opset_version": Map<i64>;
        /// The values that symbols may have, by the symbol or expression as text.
        range_constraints "range_constraints": Map<RangeConstraint>;
        /// The version of the structures.
        schema_version "schema_version": SchemaVersion;
        /// Which dialect it is in: `TRAINING` as exported, `ATEN` when decomposed, `EDGE`, ….
        verifiers "verifiers": Vec<String> = Vec::new();
        /// The version of PyTorch that wrote it.
        torch_version "torch_version": String = "<=2.4".to_owned();
        /// Conditions on the inputs, as Python. PyTorch runs them when the program is called.
        guards_code "guards_code": Vec<String> = Vec::new();
    }
}

impl ExportedProgram {
    /// Reads a program from the text of its record.
    ///
    /// # Errors
    /// With the place, when the text is not JSON, is of another major version, or does not fit the structures.
    pub fn from_json(text: &[u8]) -> Result<ExportedProgram, Error> {
        let json = parse(text)?;
        check_version(&json)?;
        ExportedProgram::read(json, &Place::Root)
    }

    /// The text of its record, as PyTorch writes it.
    pub fn to_json(&self) -> String {
        let mut out = Writer::new();
        self.write(&mut out);
        out.finish()
    }

    /// What the program calls, in all its graphs, with the number of places; most first.
    pub fn targets(&self) -> Vec<(&str, usize)> {
        let mut counts: Map<usize> = Map::new();
        let mut order: Vec<(&str, usize)> = Vec::new();
        self.graph_module.graph.visit_nodes(&mut |node| {
            let at = *counts.entry(node.target.clone()).or_insert_with(|| {
                order.push((node.target.as_str(), 0));
                order.len() - 1
            });
            order[at].1 += 1;
        });
        order.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        order
    }

    pub(crate) fn write_to(&self, out: &mut Writer) {
        self.write(out);
    }
}

/// The version is looked at first: in another major nothing else need fit.
fn check_version(json: &Json) -> Result<(), Error> {
    let Some(version) = json.get("schema_version") else { return Ok(()) };
    let root = Place::Root;
    let at = root.key("schema_version");
    let SchemaVersion { major, minor, .. } = SchemaVersion::read(version.clone(), &at)?;
    // PyTorch lets 0.0 through.
    if major == MAJOR || (major, minor) == (0, 0) {
        return Ok(());
    }
    let message = format!(
        "Serialized schema version {major}.{minor} does not match our current schema version \
         ({MAJOR}, 20)."
    );
    let error = Error::new(ErrorKind::Unsupported, message).at_path("$.schema_version");
    Err(error.with_help("export the model again with PyTorch 2.6 or later"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{"graph_module": {"graph": {"inputs": [{"as_tensor": {"name": "x"}}], "outputs": [{"as_tensor": {"name": "add"}}], "nodes": [{"target": "torch.ops.aten.add.Tensor", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}, {"name": "other", "arg": {"as_float": "Infinity"}, "kind": 1}], "outputs": [{"as_tensor": {"name": "add"}}], "metadata": {}, "is_hop_single_tensor_return": null, "name": "add"}], "tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false, "custom_obj_values": {}, "sym_float_values": {}}, "signature": {"input_specs": [], "output_specs": []}, "module_call_graph": [], "metadata": {}, "treespec_namedtuple_fields": {}}, "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20}, "verifiers": ["ATEN"], "torch_version": "2.15.0", "guards_code": [], "later": [1e5]}"#;

    fn error(from: &str, to: &str) -> String {
        assert!(SMALL.contains(from), "{from}");
        ExportedProgram::from_json(SMALL.replace(from, to).as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_read_is_written() {
        let program = ExportedProgram::from_json(SMALL.as_bytes()).unwrap();
        assert_eq!(program.to_json(), SMALL);
        assert_eq!(program.extra.len(), 1);
        let node = &program.graph_module.graph.nodes[0];
        assert_eq!(node.inputs[1].arg, Argument::Float(f64::INFINITY));
    }

    #[test]
    fn other_majors_are_refused_by_name() {
        let found = error("{\"major\": 8", "{\"major\": 9");
        let want = "Serialized schema version 9.20 does not match our current schema version";
        assert!(found.starts_with(want), "{found}");
        let zero = SMALL.replace("\"major\": 8, \"minor\": 20", "\"major\": 0, \"minor\": 0");
        assert!(ExportedProgram::from_json(zero.as_bytes()).is_ok());
    }

    #[test]
    fn what_does_not_fit_says_where() {
        for (from, to, want) in [
            (
                "{\"as_float\": \"Infinity\"}",
                "{\"as_flaot\": 1}",
                "\"as_flaot\" is not a kind of Argument ($.graph_module.graph.nodes[0].inputs[1].arg)",
            ),
            (
                "{\"as_float\": \"Infinity\"}",
                "{\"as_float\": 1, \"as_int\": 1}",
                "expected dict with 1 key, got 2 (a union Argument) \
                 ($.graph_module.graph.nodes[0].inputs[1].arg)",
            ),
            (
                "{\"as_float\": \"Infinity\"}",
                "{\"as_scalar_type\": 99}",
                "99 is not a ScalarType ($.graph_module.graph.nodes[0].inputs[1].arg.as_scalar_type)",
            ),
            (
                "{\"as_float\": \"Infinity\"}",
                "{\"as_int\": 9223372036854775808}",
                "the integer 9223372036854775808 does not fit 64 bits \
                 ($.graph_module.graph.nodes[0].inputs[1].arg.as_int)",
            ),
            (
                "\"target\": \"torch.ops.aten.add.Tensor\", ",
                "",
                "Node has no \"target\" ($.graph_module.graph.nodes[0])",
            ),
            (
                "\"metadata\": {}, \"is_hop",
                "\"metadata\": {\"a b\": 1}, \"is_hop",
                "a string is expected, but a number was found \
                 ($.graph_module.graph.nodes[0].metadata[\"a b\"])",
            ),
        ] {
            assert_eq!(error(from, to), want);
        }
    }

    #[test]
    fn older_minors_lack_fields() {
        let old = SMALL
            .replace(", \"kind\": 1", "")
            .replace(", \"is_hop_single_tensor_return\": null, \"name\": \"add\"", "")
            .replace(", \"custom_obj_values\": {}, \"sym_float_values\": {}", "")
            .replace(", \"treespec_namedtuple_fields\": {}", "")
            .replace(", \"torch_version\": \"2.15.0\", \"guards_code\": []", "");
        let program = ExportedProgram::from_json(old.as_bytes()).unwrap();
        assert_eq!(program.torch_version, "<=2.4");
        assert_eq!(program.graph_module.graph.nodes[0].name, None);
    }
}
