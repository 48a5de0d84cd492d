//! A program of bytecode alone: its methods as graphs, its classes as the objects and the bytecode show them.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_archive::Archive;
use sconce_checkpoint::ErrorKind;
use sconce_ir::{Argument, ClassId, Constant, Function, FunctionId, Role, Schema, Type};
use sconce_tensor::Device;

use super::facts::{Facts, is_small};
use super::listing::Listing;
use super::translation::Translation;
use super::{Bytecode, BytecodeFunction, RECORD, parse_with_values};
use crate::Error;
use crate::constants::{MAX_VALUES, constant_within};
use crate::importer::Program;
use crate::unpickle::{self, Place, read_selected};
use crate::values::{Value, ValueId, Values};

/// How often a program is translated before what it stores must have settled.
const MAX_ROUNDS: u32 = 64;

/// A method that is to be translated.
pub(super) struct Method {
    pub(super) id: FunctionId,
    pub(super) code: BytecodeFunction,
    pub(super) constants: Vec<Constant>,
    pub(super) arguments: Vec<Type>,
    /// The types that instructions name; `Err` says why one cannot be read.
    pub(super) types: Vec<Result<Type, String>>,
    pub(super) listing: Listing,
}

/// Reads the objects of an archive that has bytecode and no code, and translates its methods. Gives the root object.
pub(crate) fn load(
    archive: &Arc<Archive>,
    program: &mut Program,
    values: &mut Values,
    table: &mut Vec<ValueId>,
    device: Option<&Device>,
) -> Result<ValueId, Error> {
    let bytecode = Bytecode::read(archive)?.unwrap_or_else(Bytecode::empty);
    let declared = declare(program, bytecode).map_err(|error| error.in_record(RECORD))?;
    let root = unpickle::read(archive, "data.pkl", "data/", program, values, device)?;
    let place =
        Place { archive, record: RECORD, prefix: "constants/", map_location: device, table: &[] };
    let (held, counts) = read_selected(place, program, values, |arena, root| {
        let (_, held) = parse_with_values(arena, root)?;
        let counts: Vec<_> =
            held.iter().map(|held| (held.constants.len(), held.defaults.len())).collect();
        let all = held.into_iter().flat_map(|held| [held.constants, held.defaults]);
        Ok((all.flatten().collect(), counts))
    })?;
    let indexes = table.iter().zip(0..).map(|(&id, index)| (id, index)).collect();
    let mut entered = Constants { table, indexes, known: FxHashMap::default(), left: MAX_VALUES };
    let mut methods = Vec::with_capacity(declared.len());
    let mut rest = held.as_slice();
    for ((id, code, arguments), (constants, defaults)) in declared.into_iter().zip(counts) {
        let mut take = |count| {
            let (taken, left) = rest.split_at(count);
            rest = left;
            taken.iter().map(|&value| entered.constant(program, values, value)).collect()
        };
        let (constants, defaults): (Result<Vec<_>, Error>, Result<Vec<_>, Error>) =
            (take(constants), take(defaults));
        set_defaults(program, id, defaults.map_err(|error| error.in_record(RECORD))?);
        let types = code
            .types
            .iter()
            .map(|text| program.parse_type(text).map_err(|error| error.message().to_owned()));
        let (types, constants) =
            (types.collect(), constants.map_err(|error| error.in_record(RECORD))?);
        let listing = Listing::of(&code);
        methods.push(Method { id, code, constants, arguments, types, listing });
    }
    translate(program, values, &methods, archive)?;
    Ok(root)
}

/// Declares the classes that have methods, and the methods.
fn declare(
    program: &mut Program,
    bytecode: Bytecode,
) -> Result<Vec<(FunctionId, BytecodeFunction, Vec<Type>)>, Error> {
    let mut declared = Vec::with_capacity(bytecode.functions.len());
    let mut names: FxHashSet<Arc<str>> = FxHashSet::default();
    for code in bytecode.functions {
        let name: Arc<str> = code.name.as_str().into();
        let class = name.rsplit_once('.').map(|(class, _)| class);
        let class = class.map(|class| program.resolve_type(class)).transpose()?;
        let Some(Type::Class(class)) = class else {
            return Err(Error::malformed(format!("the function '{name}' is of no class")));
        };
        let class = ClassId(class.id);
        if program.unit().class(class).is_torchbind || !names.insert(Arc::clone(&name)) {
            return Err(Error::malformed(format!("the function '{name}' is there already")));
        }
        let mut parse = |text: &str| {
            let ty = program.parse_type(text)?;
            match is_small(&ty) {
                true => Ok(ty),
                false => Err(Error::malformed(format!("a type of '{name}' is too large"))),
            }
        };
        let mut formals = Vec::with_capacity(code.arguments.len());
        for (name, ty) in &code.arguments {
            formals.push(Argument::new(name.as_str(), parse(ty)?));
        }
        let returns = code.returns.iter().map(|ty| Ok(Argument::new("", parse(ty)?)));
        let returns = returns.collect::<Result<Vec<_>, Error>>()?;
        if formals.is_empty() || returns.len() != 1 {
            let message = format!("the bytecode does not say what '{name}' takes and gives");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let arguments = formals.iter().map(|formal| formal.ty.clone()).collect();
        let schema = Schema {
            name: name.rsplit('.').next().unwrap_or_default().into(),
            overload: "".into(),
            arguments: formals,
            returns,
            is_vararg: false,
            is_varret: false,
        };
        let id = program.unit.add_function(Function {
            qualified_name: name,
            class: Some(class),
            schema: Arc::new(schema),
            graph: None,
        });
        program.unit.class_mut(class).methods.push(id);
        declared.push((id, code, arguments));
    }
    Ok(declared)
}

/// `None` stands for no default where an argument cannot be `None`.
fn set_defaults(program: &mut Program, id: FunctionId, defaults: Vec<Constant>) {
    let function = program.unit.function_mut(id);
    let mut schema = Schema::clone(&function.schema);
    for (argument, default) in schema.arguments.iter_mut().zip(defaults) {
        if !matches!(default, Constant::None) || matches!(argument.ty, Type::Optional(_)) {
            argument.default = Some(default);
        }
    }
    function.schema = Arc::new(schema);
}

/// The constants of methods, whose tensors and objects come into the program's table.
struct Constants<'t> {
    table: &'t mut Vec<ValueId>,
    indexes: FxHashMap<ValueId, u32>,
    known: FxHashMap<ValueId, Constant>,
    left: usize,
}

impl Constants<'_> {
    fn constant(
        &mut self,
        program: &mut Program,
        values: &Values,
        id: ValueId,
    ) -> Result<Constant, Error> {
        if let Some(known) = self.known.get(&id) {
            return Ok(known.clone());
        }
        let first = self.table.len();
        let (table, indexes) = (&mut *self.table, &mut self.indexes);
        let mut place = |id| {
            *indexes.entry(id).or_insert_with(|| {
                table.push(id);
                (table.len() - 1) as u32
            })
        };
        let made = constant_within(values, &program.unit, id, &mut place, &mut self.left)?;
        for (index, &id) in self.table.iter().enumerate().skip(first) {
            let mut place = |_| index as u32;
            let entry = constant_within(values, &program.unit, id, &mut place, &mut self.left)?;
            program.importer.constants.push(entry);
        }
        self.known.insert(id, made.clone());
        Ok(made)
    }
}

fn translate(
    program: &mut Program,
    values: &Values,
    methods: &[Method],
    archive: &Archive,
) -> Result<(), Error> {
    let mut facts = Facts::default();
    attributes_of_objects(program, values, &mut facts);
    let mut results = Vec::new();
    while facts.next_round() {
        if facts.rounds() > MAX_ROUNDS {
            let message = "the types of what the bytecode stores do not settle";
            return Err(Error::new(ErrorKind::Unsupported, message).in_record(RECORD));
        }
        results = methods
            .iter()
            .enumerate()
            .map(|(index, method)| Translation::new(program, &mut facts, method, index).run())
            .collect();
    }
    let file = archive.source().name();
    for (method, result) in methods.iter().zip(results) {
        match result {
            Ok(graph) => program.unit.function_mut(method.id).graph = Some(Arc::new(graph)),
            Err(error) => {
                let error = error.in_record(RECORD).in_file(file);
                program.importer.untranslated.insert(method.id, error);
            }
        }
    }
    let classes: Vec<ClassId> = program.unit().classes().map(|(id, _)| id).collect();
    for class in classes {
        let attributes = &mut program.unit.class_mut(class).attributes;
        for (slot, attribute) in attributes.iter_mut().enumerate() {
            if let Some(ty) = facts.attribute(class, slot) {
                attribute.ty = ty.clone();
            }
        }
    }
    Ok(())
}

/// What attributes hold when the program is loaded. A tensor that requires gradients is a parameter, and any other a
/// buffer: nothing else tells.
fn attributes_of_objects(program: &mut Program, values: &Values, facts: &mut Facts) {
    for id in values.ids() {
        let Value::Object(object) = values.get(id) else { continue };
        for (slot, &value) in object.slots.iter().enumerate() {
            let ty = type_of(values, program, value, 0, &mut { MAX_TUPLES });
            facts.store(object.class, slot, &ty, program.unit());
            let role = match values.get(value) {
                Value::Tensor(tensor) if tensor.requires_grad() => Role::Parameter,
                Value::Tensor(_) => Role::Buffer,
                _ => continue,
            };
            if let Some(of) = program.unit.class_mut(object.class).attributes.get_mut(slot) {
                of.role = role;
            }
        }
    }
}

/// How many tuples are looked into to find a type, and how deep in each other.
const MAX_TUPLES: usize = 1024;
const MAX_DEPTH: usize = 16;

/// The type of a value, of which so many tuples may be `left`.
fn type_of(
    values: &Values,
    program: &Program,
    id: ValueId,
    depth: usize,
    left: &mut usize,
) -> Type {
    let ty = match values.get(id) {
        Value::None => Type::None,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Float(_) => Type::Float,
        Value::Complex(..) => Type::Complex,
        Value::Str(_) => Type::Str,
        Value::Device(_) => Type::Device,
        Value::Tensor(_) => Type::Tensor,
        Value::List { element, .. } => Type::list(element.clone()),
        Value::Dict { key, value, .. } => Type::dict(key.clone(), value.clone()),
        Value::Tuple(items) if depth < MAX_DEPTH && *left > 0 => {
            *left -= 1;
            let parts = items.iter();
            let parts = parts.map(|&item| type_of(values, program, item, depth + 1, left));
            Type::tuple(parts.collect())
        }
        Value::Tuple(_) => Type::Any,
        Value::Enum(ty, _) => ty.clone(),
        Value::Object(object) => {
            let name = &program.unit().class(object.class).name;
            program.unit().find_type(name).cloned().unwrap_or(Type::Any)
        }
    };
    if is_small(&ty) { ty } else { Type::Any }
}
