//! Changing a module: other values in its attributes, fewer methods.

use std::sync::Arc;

use sconce_checkpoint::ErrorKind;
use sconce_ir::{Attribute, Class, ClassId, FunctionId, Graph, Node, Prim, Type, Unit};

use crate::Error;
use crate::module::{Loaded, Module, slots};
use crate::names::demangle;
use crate::values::{Value, ValueId};

impl Module {
    /// Changes an attribute. What else holds the old value keeps it; a parameter stays a parameter
    /// and a buffer a buffer.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use sconce_torchscript::{SaveOptions, Value, load};
    ///
    /// let module = load("model.pt")?;
    /// for (_, layer) in module.named_modules()? {
    ///     if let Ok(Value::Tensor(bias)) = layer.attr("bias") {
    ///         let zeros = vec![0f32; usize::try_from(bias.numel())?];
    ///         let zeros = sconce_tensor::Tensor::from_vec(zeros, bias.sizes())?;
    ///         layer.set_attr("bias", Value::Tensor(zeros.with_requires_grad(true)))?;
    ///     }
    /// }
    /// SaveOptions::new().save(&module, "without_bias.pt")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When there is none of that name, or the value is not of the attribute's type.
    pub fn set_attr(&self, name: &str, value: Value) -> Result<(), Error> {
        let mut loaded = self.lock();
        let slot = self.slot(&loaded, name)?;
        slots(&loaded, self.value())?;
        let class = loaded.program.unit.class(self.class());
        let ty = &class.attributes[slot].ty;
        if !fits(&loaded, &value, ty) {
            let message = format!(
                "the attribute '{name}' of {} is of type {}, which the value is not",
                demangle(&class.name),
                ty.annotation()
            );
            return Err(Error::new(ErrorKind::Caller, message));
        }
        let id = loaded.values.push(value);
        if let Value::Object(object) = loaded.values.get_mut(self.value()) {
            object.slots[slot] = id;
        }
        Ok(())
    }

    /// Switches this module and all below it to training, or to evaluation: `Module.train`, `Module.eval`. Modules without
    /// the attribute `training` stay as they are.
    ///
    /// # Errors
    /// As [`Self::attributes`].
    pub fn train(&self, on: bool) -> Result<(), Error> {
        for (_, module) in self.named_modules()? {
            if let Ok(Value::Bool(_)) = module.attr("training") {
                module.set_attr("training", Value::Bool(on))?;
            }
        }
        Ok(())
    }

    /// Takes a method away from this module's class, and so from every module of that class.
    /// Functions that only the method called are not saved any more.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use sconce_torchscript::{SaveOptions, load};
    ///
    /// let module = load("model.pt")?;
    /// module.remove_method("training_step")?;
    /// SaveOptions::new().save(&module, "smaller.pt")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When there is no such method, something still calls it, directly or through an interface, or
    /// the class is saved or hooked through it; when something does not compile.
    pub fn remove_method(&self, name: &str) -> Result<(), Error> {
        let method = self.method(name)?;
        let mut loaded = self.lock();
        loaded.program.compile_all()?;
        let class = self.class();
        let own = loaded.program.unit.class(class);
        let refuse = |why: &str| {
            let message = format!("'{}' cannot be removed: {why}", method.qualified_name);
            Err(Error::new(ErrorKind::Caller, message))
        };
        if matches!(name, "__getstate__" | "__setstate__") {
            return refuse("objects of the class are saved through it");
        }
        if name == "forward" && !(own.forward_hooks.is_empty() && own.forward_pre_hooks.is_empty())
        {
            return refuse("it has hooks");
        }
        if let Some(caller) = caller(&loaded.program.unit, own, method.id, name) {
            return refuse(&format!("{caller} calls it"));
        }
        loaded.program.unit.class_mut(class).methods.retain(|&id| id != method.id);
        Ok(())
    }
}

/// Whether a value may be held where a type is declared.
fn fits(loaded: &Loaded, value: &Value, ty: &Type) -> bool {
    let held = |&id: &ValueId, ty: &Type| {
        loaded.values.find(id).is_some_and(|value| fits(loaded, value, ty))
    };
    let unit = &loaded.program.unit;
    match (value, ty) {
        (_, Type::Any) => true,
        (Value::None, Type::Optional(_)) => true,
        (_, Type::Optional(of)) => fits(loaded, value, of),
        (_, Type::Union(members)) => members.iter().any(|member| fits(loaded, value, member)),
        (Value::Int(_) | Value::Float(_) | Value::Complex(..), Type::Number) => true,
        (Value::None, Type::None)
        | (Value::Bool(_), Type::Bool)
        | (Value::Int(_), Type::Int)
        | (Value::Float(_), Type::Float)
        | (Value::Complex(..), Type::Complex)
        | (Value::Str(_), Type::Str)
        | (Value::Device(_), Type::Device)
        | (Value::Tensor(_), Type::Tensor | Type::TensorOf(_)) => true,
        (Value::List { element, items }, Type::List(of)) => {
            *element == **of && items.iter().all(|item| held(item, of))
        }
        (Value::Dict { key, value, entries }, Type::Dict(of)) => {
            (key, value) == (&of.0, &of.1)
                && entries.iter().all(|(key, value)| held(key, &of.0) && held(value, &of.1))
        }
        (Value::Tuple(items), Type::Tuple(of)) => {
            items.len() == of.elements.len()
                && items.iter().zip(&of.elements).all(|(item, ty)| held(item, ty))
        }
        (Value::Enum(own, _), Type::Enum(_)) => own == ty,
        (Value::Object(object), Type::Class(_) | Type::Interface(_)) => {
            let own = unit.find_type(&unit.class(object.class).name);
            own.is_some_and(|own| own.is_subtype_of(ty, unit))
        }
        _ => false,
    }
}

/// What calls a method of a class, other than itself.
fn caller(unit: &Unit, class: &Class, method: FunctionId, name: &str) -> Option<Arc<str>> {
    let own = unit.find_type(&class.name);
    let reaches = |ty: &Type| match (ty, own) {
        (Type::Class(_), Some(own)) => ty == own,
        (Type::Interface(_), Some(own)) => own.is_subtype_of(ty, unit),
        _ => false,
    };
    let calls = |graph: &Graph, node: &Node| {
        node.is(Prim::CallMethod)
            && node.str_attribute("name").is_some_and(|called| &**called == name)
            && node.inputs().first().is_some_and(|&object| reaches(graph.ty(object)))
    };
    let removed = |id: FunctionId, of: Option<ClassId>| {
        // A method that was removed before is of a class that no longer has it.
        of.is_some_and(|of| {
            let of = unit.class(of);
            let mut lists = [&of.methods, &of.forward_hooks, &of.forward_pre_hooks].into_iter();
            !lists.any(|list| list.contains(&id))
        })
    };
    unit.functions()
        .filter(|&(id, function)| id != method && !removed(id, function.class))
        .find(|(_, function)| {
            function.graph.as_deref().is_some_and(|graph| any_node(graph, &calls))
        })
        .map(|(_, function)| Arc::clone(&function.qualified_name))
}

/// Whether some node of a graph, or of what it forks, is such a one.
fn any_node(graph: &Graph, wanted: &dyn Fn(&Graph, &Node) -> bool) -> bool {
    let mut graphs = vec![graph];
    while let Some(graph) = graphs.pop() {
        for id in graph.preorder(graph.root()) {
            let node = graph.node(id);
            if wanted(graph, node) {
                return true;
            }
            if let Some(Attribute::Graph(inner)) = node.attribute("Subgraph") {
                graphs.push(inner);
            }
        }
    }
    false
}
