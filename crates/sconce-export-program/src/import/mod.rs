//! Programs as graphs of `sconce-ir`, so that they are run, optimised and shown as TorchScript is.
//!
//! A program becomes a module whose parameters, buffers and constants are attributes, and whose `forward` takes
//! the values that arguments are made of, one by one, and gives a tuple of those that the result is made of. How
//! arguments and result are made of them is the program's [`Calling`].
//!
//! Nodes become nodes: targets `torch.ops.aten.…` are found in the table of operators, arguments put in the order of
//! its schemas. Functions of numbers become TorchScript's operators of numbers, graphs within the graph become
//! the blocks of `prim::If` and `prim::Loop` or are put in the place of their call. What a program says that a call
//! writes to a buffer or an argument, `aten::copy_` writes there at the end.

mod arguments;
mod autocast;
mod builder;
mod control_flow;
mod expressions;
mod operators;
mod scalars;
mod special;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_checkpoint::pt2::{Payload, Store};
use sconce_ir::{
    Argument as Formal, Class, ClassAttribute, Function, Prim, Role, Schema, Type, Unit, ValueId,
    verify_after,
};
use sconce_tensor::Tensor;
use sconce_torchscript::{Module, Object, Value, Values};

use crate::calling::Calling;
use crate::schema::{Argument, ExportedProgram, InputSpec, OutputSpec, TensorArgument};
use crate::{Archive, Error};
use builder::{Builder, Result, count_nodes, unsupported};

/// The name of the class of every program.
const CLASS: &str = "__torch__.ExportedProgram";

/// A program that can be run.
#[derive(Debug, Clone)]
pub struct Program {
    module: Module,
    calling: Arc<Calling>,
    unknown: Vec<String>,
}

impl Program {
    /// Makes a model of an archive runnable. No tensor data is read.
    ///
    /// # Errors
    /// When the program or its tensors cannot be read, it does not hold together, or has what cannot be run.
    pub fn of_archive(archive: &Archive, model: &str) -> Result<Self> {
        let program = archive.program(model)?;
        let (weights, constants) = (archive.weights(model)?, archive.constants(model)?);
        let by_name = |payloads: &[Payload]| -> FxHashMap<String, Payload> {
            payloads.iter().map(|payload| (payload.name.clone(), payload.clone())).collect()
        };
        let (weights, constants) = (by_name(&weights), by_name(&constants));
        let mut find = |store: Store, name: &str| {
            let stores = match store {
                Store::Weights => [&weights, &constants],
                Store::Constants => [&constants, &weights],
            };
            let found = stores.iter().find_map(|store| store.get(name));
            let payload = found.ok_or_else(|| {
                Error::malformed(format!("the program has no tensor '{name}' in the file"))
            })?;
            let tensor = payload.tensor().ok_or_else(|| {
                unsupported(format!("'{name}' is {}, which cannot be run", payload.what()))
            })?;
            // What stands for a tensor without data.
            if tensor.device().is_meta() && tensor.numel() > 0 {
                return Err(unsupported(format!(
                    "the weights are not in the file: '{name}' has no data"
                )));
            }
            Ok(tensor.clone())
        };
        let record = archive.package().program_record(model);
        let file = archive.package().source().name();
        import(&program, &mut find).map_err(|error| error.in_record(&record).in_file(file))
    }

    /// Makes a program runnable. Tensors are asked for by name.
    ///
    /// # Errors
    /// When the program does not hold together, a tensor is not there, or it has what cannot be run.
    pub fn new(
        program: &ExportedProgram,
        tensors: &mut dyn FnMut(Store, &str) -> Result<Tensor>,
    ) -> Result<Self> {
        import(program, tensors)
    }

    /// The program as a module: `forward` takes and gives values one by one.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// How it is called.
    pub fn calling(&self) -> &Arc<Calling> {
        &self.calling
    }

    /// The operators in it that are in no table, by full name. Such a program does not run.
    pub fn unknown_operators(&self) -> &[String] {
        &self.unknown
    }
}

/// The attributes of the module that is made.
struct Attributes<'a> {
    tensors: &'a mut dyn FnMut(Store, &str) -> Result<Tensor>,
    class: Class,
    values: Values,
    slots: Vec<sconce_torchscript::ValueId>,
    /// Attributes that were entered, by what they are.
    known: FxHashMap<(bool, String), Arc<str>>,
}

impl Attributes<'_> {
    /// The attribute for a tensor, entered now if it was not.
    fn enter(&mut self, store: Store, name: &str, role: Role) -> Result<Arc<str>> {
        let key = (store == Store::Weights, name.to_owned());
        if let Some(known) = self.known.get(&key) {
            return Ok(Arc::clone(known));
        }
        let tensor = (self.tensors)(store, name)?;
        let mut unique = name.to_owned();
        while self.class.slot(&unique).is_some() {
            unique.push('_');
        }
        let unique: Arc<str> = unique.into();
        self.class.attributes.push(ClassAttribute {
            name: Arc::clone(&unique),
            ty: Type::Tensor,
            role,
        });
        self.slots.push(self.values.push(Value::Tensor(tensor)));
        self.known.insert(key, Arc::clone(&unique));
        Ok(unique)
    }
}

fn import(
    program: &ExportedProgram,
    tensors: &mut dyn FnMut(Store, &str) -> Result<Tensor>,
) -> Result<Program> {
    let calling = Calling::new(program)?;
    let graph = &program.graph_module.graph;
    expressions::check(graph)?;
    let signature = &program.graph_module.signature;
    let (inputs, specs) = (graph.inputs.len(), signature.input_specs.len());
    if inputs != specs {
        return Err(Error::malformed(format!(
            "the graph has {inputs} inputs, its signature {specs}"
        )));
    }
    let mut unit = Unit::new();
    let (class, class_type) = unit.add_class(Class::new(CLASS));
    let mut attributes = Attributes {
        tensors,
        class: Class { is_module: true, ..Class::new(CLASS) },
        values: Values::default(),
        slots: Vec::new(),
        known: FxHashMap::default(),
    };
    let mut builder = Builder::new(count_nodes(graph));
    let this = builder.graph.add_input(class_type.clone());
    builder.graph.set_name(this, "self");
    let mut formals = vec![Formal::new("self", class_type)];
    // Arguments come first, so that the graph's inputs are there before its nodes.
    for (input, spec) in graph.inputs.iter().zip(&signature.input_specs) {
        if let InputSpec::UserInput(_) = spec {
            let Some(name) = input.name() else { continue };
            let ty = match input {
                Argument::Tensor(_) => Type::Tensor,
                Argument::SymInt(_) => Type::Int,
                Argument::SymFloat(_) => Type::Float,
                Argument::SymBool(_) => Type::Bool,
                other => return Err(unsupported(format!("an input that is {}", other.tag()))),
            };
            let value = builder.graph.add_input(ty.clone());
            builder.define(name, value)?;
            formals.push(Formal::new(name, ty));
        }
    }
    for spec in &signature.input_specs {
        let (store, target, argument, role) = match spec {
            InputSpec::Parameter(of) => {
                (Store::Weights, &of.parameter_name, &of.arg, Role::Parameter)
            }
            InputSpec::Buffer(of) => {
                let store = if of.persistent { Store::Weights } else { Store::Constants };
                (store, &of.buffer_name, &of.arg, Role::Buffer)
            }
            InputSpec::TensorConstant(of) => {
                (Store::Constants, &of.tensor_constant_name, &of.arg, Role::Plain)
            }
            InputSpec::CustomObj(of) => {
                let (name, class) = (&of.custom_obj_name, &of.arg.class_fqn);
                let message = format!(
                    "the program holds '{name}', an object of the class {class}, whose methods are code of a library"
                );
                return Err(unsupported(message));
            }
            InputSpec::UserInput(_) | InputSpec::Token(_) | InputSpec::ConstantInput(_) => continue,
        };
        let attribute = attributes.enter(store, target, role)?;
        let value = builder.attribute(this, &attribute, Type::Tensor);
        builder.define(&argument.name, value)?;
    }
    builder.nodes(graph)?;
    let results = outputs(&mut builder, program, &attributes.known, this)?;
    let types: Vec<Type> = results.iter().map(|&value| builder.ty(value).clone()).collect();
    let tuple = Type::tuple(types);
    let result = builder.value(Prim::TupleConstruct, &results, tuple.clone());
    let root = builder.graph.root();
    builder.graph.add_block_output(root, result);
    verify_after("import", &builder.graph);
    let schema = Schema {
        name: "forward".into(),
        overload: "".into(),
        arguments: formals,
        returns: vec![Formal::new("", tuple)],
        is_vararg: false,
        is_varret: false,
    };
    let forward = unit.add_function(Function {
        qualified_name: format!("{CLASS}.forward").into(),
        class: Some(class),
        schema: Arc::new(schema),
        graph: Some(Arc::new(builder.graph)),
    });
    let Attributes { class: made, mut values, slots, .. } = attributes;
    *unit.class_mut(class) = Class { methods: vec![forward], ..made };
    let root = values.push(Value::Object(Object { class, slots, state: None }));
    let module = Module::assemble(unit, values, Vec::new(), root)
        .ok_or_else(|| Error::malformed("a program that is not a module"))?;
    Ok(Program { module, calling: Arc::new(calling), unknown: builder.unknown })
}

/// Writes what the call changes, and gives the values of the result.
fn outputs(
    builder: &mut Builder,
    program: &ExportedProgram,
    known: &FxHashMap<(bool, String), Arc<str>>,
    this: ValueId,
) -> Result<Vec<ValueId>> {
    let graph = &program.graph_module.graph;
    let specs = &program.graph_module.signature.output_specs;
    if graph.outputs.len() != specs.len() {
        let (outputs, specs) = (graph.outputs.len(), specs.len());
        return Err(Error::malformed(format!(
            "the graph has {outputs} outputs, its signature {specs}"
        )));
    }
    // What stands for a value once it was written somewhere.
    let mut written: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    for spec in specs {
        let (argument, target): (&TensorArgument, ValueId) = match spec {
            OutputSpec::BufferMutation(of) => {
                (&of.arg, stored(builder, known, this, &of.buffer_name)?)
            }
            OutputSpec::ParameterMutation(of) => {
                (&of.arg, stored(builder, known, this, &of.parameter_name)?)
            }
            OutputSpec::UserInputMutation(of) => (&of.arg, builder.named(&of.user_input_name)?),
            _ => continue,
        };
        let value = builder.named(&argument.name)?;
        if value != target {
            let no = builder.constant(&sconce_ir::Constant::Bool(false));
            builder.known("aten::copy_", &[target, value, no])?;
        }
        written.insert(value, target);
    }
    let mut results = Vec::new();
    for (output, spec) in graph.outputs.iter().zip(specs) {
        let value = match spec {
            OutputSpec::UserOutput(_)
            | OutputSpec::LossOutput(_)
            | OutputSpec::GradientToParameter(_)
            | OutputSpec::GradientToUserInput(_) => builder.plain(output)?,
            _ => continue,
        };
        results.push(written.get(&value).copied().unwrap_or(value));
    }
    Ok(results)
}

/// The buffer or parameter of a name.
fn stored(
    builder: &mut Builder,
    known: &FxHashMap<(bool, String), Arc<str>>,
    this: ValueId,
    name: &str,
) -> Result<ValueId> {
    let attribute =
        [true, false].iter().find_map(|&weights| known.get(&(weights, name.to_owned())));
    let attribute = attribute.ok_or_else(|| {
        Error::malformed(format!("the program changes '{name}', which is no input"))
    })?;
    let attribute = Arc::clone(attribute);
    Ok(builder.attribute(this, &attribute, Type::Tensor))
}
