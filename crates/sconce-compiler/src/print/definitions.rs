//! Definitions: functions, classes, NamedTuples, interfaces, enums.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use sconce_ir::{
    Argument, Class, Constant, EnumType, Function, FunctionId, Interface, NamedTuple, Role, Type,
};

use super::names::is_identifier;
use super::scope::Scope;
use super::{Printer, Session};
use crate::Error;

pub(super) fn named_type(
    printer: &mut Printer,
    session: &mut Session<'_>,
    ty: &Type,
) -> Result<(), Error> {
    match ty {
        Type::Function(named) => match session.unit.function_of(named) {
            Some(named) => function(printer, session, named, true),
            None => Err(unknown(ty)),
        },
        Type::Class(named) => match session.unit.class_of(named) {
            Some(named) => class(printer, session, named),
            None => Err(unknown(ty)),
        },
        Type::Interface(named) => match session.unit.interface_of(named) {
            Some(named) => interface(printer, session, named),
            None => Err(unknown(ty)),
        },
        Type::Enum(of) => {
            enumeration(printer, of);
            Ok(())
        }
        Type::Tuple(tuple) => match &tuple.named {
            Some(named) => {
                named_tuple(printer, session, named, &tuple.elements);
                Ok(())
            }
            None => Err(not_a_definition(ty)),
        },
        _ => Err(not_a_definition(ty)),
    }
}

fn not_a_definition(ty: &Type) -> Error {
    Error::without_range(format!("{} is not a type that is defined by code", ty.annotation()))
}

fn unknown(ty: &Type) -> Error {
    Error::without_range(format!("{} is not of this unit", ty.annotation()))
}

/// A function or method. `typed_first` is whether the type of its first argument is printed.
pub(super) fn function(
    printer: &mut Printer,
    session: &mut Session<'_>,
    function: &Function,
    typed_first: bool,
) -> Result<(), Error> {
    let name = &function.qualified_name;
    let Some(graph) = &function.graph else {
        return Err(Error::without_range(format!("{name} has no graph, so no code either")));
    };
    let schema = &function.schema;
    let [returned] = schema.returns.as_slice() else {
        return Err(Error::without_range(format!("{name} does not return one value")));
    };
    if schema.arguments.len() != graph.inputs().len() {
        let message = format!("{name}'s graph does not take what its signature says");
        return Err(Error::without_range(message));
    }
    printer.names.clear();
    let before = printer.enter(graph.node(graph.param_node(graph.root())).range.as_ref());
    printer.indent();
    printer.put(&format!("def {}(", function.name()));
    let mut names = Vec::with_capacity(schema.arguments.len());
    for (index, argument) in schema.arguments.iter().enumerate() {
        session.mention(&argument.ty);
        let name = printer.names.unique(&argument.name);
        printer.put(if index == 0 { "" } else { ",\n    " });
        printer.put(&name);
        if index > 0 || typed_first {
            printer.put(&format!(": {}", session.annotation(&argument.ty)));
        }
        if let Some(default) = &argument.default {
            let text = default_text(session, argument, default)?;
            printer.put(&format!("={text}"));
        }
        names.push(name);
    }
    printer.put(&format!(") -> {}:\n", session.annotation(&returned.ty)));
    session.mention(&returned.ty);
    let mut scope = Scope::new(printer, session, graph)?;
    for (index, (&input, name)) in graph.inputs().iter().zip(names).enumerate() {
        scope.name_argument(input, name, index > 0 || typed_first);
    }
    scope.print_body()?;
    printer.leave(before);
    Ok(())
}

/// A default value; one that stands for each element of a list of fixed length is spelled out.
fn default_text(
    session: &mut Session<'_>,
    argument: &Argument,
    default: &Constant,
) -> Result<String, Error> {
    let scalar = matches!(default, Constant::Int(_) | Constant::Float(_) | Constant::Bool(_));
    let Type::List(element) = &argument.ty else { return Ok(session.constant_text(default)) };
    if !scalar {
        return Ok(session.constant_text(default));
    }
    /// More is no argument that anybody has written.
    const LONGEST: u32 = 1 << 16;
    match argument.fixed_size.filter(|&size| size <= LONGEST) {
        Some(size) => {
            let values: Arc<[Constant]> = vec![default.clone(); size as usize].into();
            Ok(session.constant_text(&Constant::List(Type::clone(element), values)))
        }
        None => {
            let message = format!("the default of {} is not a list", argument.name);
            Err(Error::without_range(message))
        }
    }
}

/// The class written in C++ that has no methods. PyTorch tells such classes by their methods, and prints
/// this one with what holds its object.
const WITHOUT_METHODS: &str = "__torch__.torch.classes.profiler._RecordFunction";

fn class(printer: &mut Printer, session: &mut Session<'_>, class: &Class) -> Result<(), Error> {
    let unit = session.unit;
    if class.is_torchbind {
        if &*class.name == WITHOUT_METHODS {
            printer.put(&format!("class {}:\n  capsule : Capsule\n", last_atom(&class.name)));
        }
        return Ok(());
    }
    let base = if class.is_module { "(Module)" } else { "" };
    printer.put(&format!("class {}{base}:\n", last_atom(&class.name)));
    printer.level += 1;
    if class.is_module {
        module_lists(printer, session, class);
    }
    attributes(printer, session, class);
    for constant in &class.constants {
        printer.indent();
        let annotation = session.annotation(&constant.value.ty());
        let text = session.constant_text(&constant.value);
        printer.put(&format!("{} : Final[{annotation}] = {text}\n", constant.name));
    }
    for &method in &class.methods {
        function(printer, session, unit.function(method), true)?;
    }
    let mut printed = FxHashSet::default();
    for &hook in class.forward_hooks.iter().chain(&class.forward_pre_hooks) {
        let hook = unit.function(hook);
        if printed.insert(hook.name()) {
            function(printer, session, hook, true)?;
        }
    }
    printer.level -= 1;
    Ok(())
}

/// The lists of names that tell what a module's attributes are.
fn module_lists(printer: &mut Printer, session: &Session<'_>, class: &Class) {
    let attributes = |role| {
        let of_role = class.attributes.iter().filter(move |attribute| attribute.role == role);
        of_role.map(|attribute| &*attribute.name).collect::<Vec<_>>()
    };
    let names = |hooks: &[FunctionId]| {
        hooks.iter().map(|&hook| session.unit.function(hook).name()).collect::<Vec<_>>()
    };
    for (list, names, always) in [
        ("__parameters__", attributes(Role::Parameter), true),
        ("__buffers__", attributes(Role::Buffer), true),
        ("__forward_pre_hooks__", names(&class.forward_pre_hooks), false),
        ("__forward_hooks__", names(&class.forward_hooks), false),
    ] {
        if !always && names.is_empty() {
            continue;
        }
        printer.indent();
        printer.put(&format!("{list} = ["));
        for name in names {
            printer.put(&format!("\"{name}\", "));
        }
        printer.put("]\n");
    }
}

fn attributes(printer: &mut Printer, session: &mut Session<'_>, class: &Class) {
    for (index, attribute) in class.attributes.iter().enumerate() {
        session.mention(&attribute.ty);
        let annotation = session.annotation(&attribute.ty);
        let name = &attribute.name;
        printer.indent();
        if is_identifier(name) {
            printer.put(&format!("{name} : {annotation}\n"));
            continue;
        }
        if index == 0 {
            printer.put("__annotations__ = []\n");
            printer.indent();
        }
        printer.put(&format!("__annotations__[\"{name}\"] = {annotation}\n"));
    }
}

fn named_tuple(
    printer: &mut Printer,
    session: &Session<'_>,
    named: &NamedTuple,
    elements: &[Type],
) {
    printer.put(&format!("class {}(NamedTuple):\n", last_atom(&named.name)));
    printer.level += 1;
    for (field, ty) in named.fields.iter().zip(elements) {
        printer.indent();
        printer.put(&format!("{field} : {}\n", session.annotation(ty)));
    }
    printer.level -= 1;
}

fn interface(
    printer: &mut Printer,
    session: &mut Session<'_>,
    Interface { name, is_module, methods }: &Interface,
) -> Result<(), Error> {
    let base = if *is_module { "ModuleInterface" } else { "Interface" };
    printer.put(&format!("class {}({base}):\n", last_atom(name)));
    printer.level += 1;
    for method in methods {
        let [returned] = method.returns.as_slice() else {
            let message = format!("{name}.{} does not return one value", method.name);
            return Err(Error::without_range(message));
        };
        printer.indent();
        printer.put(&format!("def {}(self", last_atom(&method.name)));
        for argument in method.arguments.iter().skip(1) {
            session.mention(&argument.ty);
            printer.put(&format!(", {}: {}", argument.name, session.annotation(&argument.ty)));
        }
        session.mention(&returned.ty);
        printer.put(&format!(") -> {}:\n", session.annotation(&returned.ty)));
        printer.indent();
        printer.put("  pass\n");
    }
    printer.level -= 1;
    Ok(())
}

fn enumeration(printer: &mut Printer, of: &EnumType) {
    printer.put(&format!("class {}(Enum):\n", last_atom(&of.name)));
    printer.level += 1;
    for (name, value) in &of.members {
        printer.indent();
        let text = match value {
            // Nothing is escaped, in PyTorch too.
            Constant::Str(text) => format!("\"{text}\""),
            other => other.stream_text(),
        };
        printer.put(&format!("{name} = {text}\n"));
    }
    printer.level -= 1;
}

/// The part of a qualified name after the last point.
fn last_atom(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
