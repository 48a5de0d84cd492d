//! Classes of PyTorch that are written in C++ and bound to TorchScript: what their methods take and
//! give.

use std::sync::Arc;

use sconce_ir::{Class, ClassId, Function, Schema, Type, Unit};

/// Where the names of all custom classes begin.
pub(crate) const PREFIX: &str = "__torch__.torch.classes.";

/// `torch._C._jit_get_custom_class_schemas()`, a line a method; the first argument is of the class.
const SCHEMAS: &str = include_str!("../custom_classes/schemas.txt");

/// Adds a custom class with the methods that PyTorch's of that name has. A class of other libraries has
/// none here.
pub(crate) fn add(unit: &mut Unit, name: &str) -> (ClassId, Type) {
    let (id, ty) = unit.add_class(Class { is_torchbind: true, ..Class::new(name) });
    add_methods(unit, id);
    (id, ty)
}

fn add_methods(unit: &mut Unit, class: ClassId) {
    let class_name = Arc::clone(&unit.class(class).name);
    for line in SCHEMAS.lines() {
        // Reading a schema costs more than looking for the name.
        if !line.contains(&*class_name) {
            continue;
        }
        let Ok(schema) = Schema::parse(line) else { continue };
        let own = schema.arguments.first().map(|argument| &argument.ty);
        if !matches!(own, Some(Type::Class(own)) if own.name == class_name) {
            continue;
        }
        let id = unit.add_function(Function {
            qualified_name: format!("{class_name}.{}", schema.name).into(),
            class: Some(class),
            schema: Arc::new(schema),
            graph: None,
        });
        unit.class_mut(class).methods.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_schema_of_a_custom_class() {
        for line in SCHEMAS.lines() {
            let schema = Schema::parse(line).map_err(|error| format!("{line}: {error}"));
            let first = schema.map(|schema| schema.arguments[0].ty.clone());
            assert!(
                matches!(&first, Ok(Type::Class(own)) if own.name.starts_with(PREFIX)),
                "{line}"
            );
        }
    }
}
