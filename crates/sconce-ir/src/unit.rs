//! The compilation unit: every class, interface and function that graphs mention.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::{Constant, Graph, NamedRef, Schema, Type};

/// Every class, interface, NamedTuple, enum and function of a program: PyTorch's
/// `CompilationUnit`, without the code that fills it.
#[derive(Debug, Default)]
pub struct Unit {
    classes: Vec<Class>,
    interfaces: Vec<Interface>,
    functions: Vec<Function>,
    /// Named types by qualified name.
    types: FxHashMap<Arc<str>, Type>,
    /// Functions (not methods) by qualified name.
    free_functions: FxHashMap<Arc<str>, FunctionId>,
    /// Functions of a class by their names: its methods, hooks and static methods.
    by_class: FxHashMap<ClassId, FxHashMap<Box<str>, Vec<FunctionId>>>,
}

/// A class of a [`Unit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub u32);

/// An interface of a [`Unit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InterfaceId(pub u32);

/// A function or method of a [`Unit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A class: PyTorch's `ClassType`.
#[derive(Clone, Debug)]
pub struct Class {
    /// The qualified name.
    pub name: Arc<str>,
    /// Whether it is a module (`class X(Module)`).
    pub is_module: bool,
    /// Whether it is a custom class written in C++ (`__torch__.torch.classes.…`); it has no code.
    pub is_torchbind: bool,
    /// The attributes in slot order. More may come, but none goes or gets another name.
    pub attributes: Vec<Attribute>,
    /// Where they are by name, once there are many and somebody has asked.
    pub slots: Slots,
    /// The constants, which belong to the class and not to its objects.
    pub constants: Vec<ClassConstant>,
    /// The methods in order of definition, hooks not among them.
    pub methods: Vec<FunctionId>,
    /// Functions of the class that take no `self`.
    pub static_methods: Vec<FunctionId>,
    /// Hooks run after `forward`.
    pub forward_hooks: Vec<FunctionId>,
    /// Hooks run before `forward`.
    pub forward_pre_hooks: Vec<FunctionId>,
    /// Properties: name, getter, setter.
    pub properties: Vec<(Arc<str>, FunctionId, Option<FunctionId>)>,
}

/// The slots of a class's first attributes by their names, once somebody has asked for one.
#[derive(Clone, Debug, Default)]
pub struct Slots(OnceLock<(usize, FxHashMap<Arc<str>, usize>)>);

/// A slot of a class's objects.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The name (not always an identifier: `0` in a Sequential).
    pub name: Arc<str>,
    /// The type.
    pub ty: Type,
    /// What it is to a module.
    pub role: Role,
}

/// What an attribute is to a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A plain attribute or a submodule.
    Plain,
    /// A parameter.
    Parameter,
    /// A buffer.
    Buffer,
}

/// A constant of a class.
#[derive(Clone, Debug)]
pub struct ClassConstant {
    /// The name.
    pub name: Arc<str>,
    /// Its declared type.
    pub ty: Type,
    /// Its value.
    pub value: Constant,
}

/// An interface: method signatures, `self` included.
#[derive(Clone, Debug)]
pub struct Interface {
    /// The qualified name.
    pub name: Arc<str>,
    /// Whether only modules implement it.
    pub is_module: bool,
    /// What its methods take and give.
    pub methods: Vec<Arc<Schema>>,
}

/// A function or method: its name, its signature, and its graph once it is compiled.
#[derive(Clone, Debug)]
pub struct Function {
    /// The qualified name; a method's is its class's name, a point, and its own.
    pub qualified_name: Arc<str>,
    /// The class whose method it is.
    pub class: Option<ClassId>,
    /// The signature.
    pub schema: Arc<Schema>,
    /// The graph; `None` until it is compiled.
    pub graph: Option<Arc<Graph>>,
}

impl Function {
    /// The last part of the qualified name.
    pub fn name(&self) -> &str {
        self.qualified_name.rsplit('.').next().unwrap_or_default()
    }
}

impl Unit {
    /// A unit without anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a class, to be filled through [`Self::class_mut`], and gives its type.
    pub fn add_class(&mut self, class: Class) -> (ClassId, Type) {
        let id = self.classes.len() as u32;
        let name = Arc::clone(&class.name);
        let ty = Type::Class(NamedRef { id, name: Arc::clone(&name) });
        self.classes.push(class);
        self.types.insert(name, ty.clone());
        (ClassId(id), ty)
    }

    /// Adds an interface and gives its type.
    pub fn add_interface(&mut self, interface: Interface) -> (InterfaceId, Type) {
        let id = self.interfaces.len() as u32;
        let name = Arc::clone(&interface.name);
        let ty = Type::Interface(NamedRef { id, name: Arc::clone(&name) });
        self.interfaces.push(interface);
        self.types.insert(name, ty.clone());
        (InterfaceId(id), ty)
    }

    /// Makes a NamedTuple or an enum known under its name.
    pub fn add_type(&mut self, name: Arc<str>, ty: Type) {
        self.types.insert(name, ty);
    }

    /// Adds a function; one without a class can be found by its name. Methods are entered in their
    /// class's lists by the caller.
    pub fn add_function(&mut self, function: Function) -> FunctionId {
        let id = FunctionId(self.functions.len() as u32);
        match function.class {
            None => {
                self.free_functions.insert(Arc::clone(&function.qualified_name), id);
            }
            Some(class) => {
                let functions = self.by_class.entry(class).or_default();
                functions.entry(function.name().into()).or_default().push(id);
            }
        }
        self.functions.push(function);
        id
    }

    /// A class.
    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[id.0 as usize]
    }

    /// A class, to change it.
    pub fn class_mut(&mut self, id: ClassId) -> &mut Class {
        let class = &mut self.classes[id.0 as usize];
        // Those that came since are found one by one: the table is made anew before they are as many again.
        if class.slots.0.get().is_some_and(|(known, _)| class.attributes.len() > 2 * known) {
            class.slots = Slots::default();
        }
        class
    }

    /// An interface.
    pub fn interface(&self, id: InterfaceId) -> &Interface {
        &self.interfaces[id.0 as usize]
    }

    /// An interface, to change it.
    pub fn interface_mut(&mut self, id: InterfaceId) -> &mut Interface {
        &mut self.interfaces[id.0 as usize]
    }

    /// A function.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// Drops the graphs of all functions and methods.
    pub fn drop_graphs(&mut self) {
        for function in &mut self.functions {
            function.graph = None;
        }
    }

    /// A function, to change it.
    pub fn function_mut(&mut self, id: FunctionId) -> &mut Function {
        &mut self.functions[id.0 as usize]
    }

    /// The class that a type refers to; `None` when it is of no class of this unit.
    pub fn class_of(&self, named: &NamedRef) -> Option<&Class> {
        self.classes.get(named.id as usize).filter(|class| class.name == named.name)
    }

    /// The interface that a type refers to; `None` when it is of no interface of this unit.
    pub fn interface_of(&self, named: &NamedRef) -> Option<&Interface> {
        let interface = self.interfaces.get(named.id as usize);
        interface.filter(|interface| interface.name == named.name)
    }

    /// The function that a type refers to; `None` when it is of no function of this unit.
    pub fn function_of(&self, named: &NamedRef) -> Option<&Function> {
        let function = self.functions.get(named.id as usize);
        function.filter(|function| function.qualified_name == named.name)
    }

    /// The named type of a qualified name.
    pub fn find_type(&self, name: &str) -> Option<&Type> {
        self.types.get(name)
    }

    /// The function (not method) of a qualified name.
    pub fn find_function(&self, name: &str) -> Option<FunctionId> {
        self.free_functions.get(name).copied()
    }

    /// A method of a class by name, hooks and static methods not among them.
    pub fn find_method(&self, class: ClassId, name: &str) -> Option<FunctionId> {
        let methods = &self.class(class).methods;
        let named = self.by_class.get(&class)?.get(name)?;
        match named[..] {
            [only] => methods.contains(&only).then_some(only),
            _ => methods.iter().copied().find(|id| named.contains(id)),
        }
    }

    /// The classes, in order of definition.
    pub fn classes(&self) -> impl Iterator<Item = (ClassId, &Class)> {
        self.classes.iter().enumerate().map(|(index, class)| (ClassId(index as u32), class))
    }

    /// The functions and methods, in order of definition.
    pub fn functions(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        self.functions
            .iter()
            .enumerate()
            .map(|(index, function)| (FunctionId(index as u32), function))
    }
}

/// Up to how many attributes a name is looked for among them one by one.
const FEW_ATTRIBUTES: usize = 32;

impl Class {
    /// A class with a name and nothing else.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            is_module: false,
            is_torchbind: false,
            attributes: Vec::new(),
            slots: Slots::default(),
            constants: Vec::new(),
            methods: Vec::new(),
            static_methods: Vec::new(),
            forward_hooks: Vec::new(),
            forward_pre_hooks: Vec::new(),
            properties: Vec::new(),
        }
    }

    /// The slot of an attribute.
    pub fn slot(&self, name: &str) -> Option<usize> {
        let after = |at: usize| {
            let mut rest = self.attributes.iter().enumerate().skip(at);
            rest.find(|(_, attribute)| &*attribute.name == name).map(|(slot, _)| slot)
        };
        if self.attributes.len() <= FEW_ATTRIBUTES {
            return after(0);
        }
        let (known, slots) = self.slots.0.get_or_init(|| {
            let mut slots = FxHashMap::default();
            for (slot, attribute) in self.attributes.iter().enumerate() {
                slots.entry(Arc::clone(&attribute.name)).or_insert(slot);
            }
            (self.attributes.len(), slots)
        });
        slots.get(name).copied().or_else(|| after(*known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_however_many_there_are() {
        let mut unit = Unit::new();
        let (id, _) = unit.add_class(Class::new("__torch__.M"));
        for at in 0..200 {
            assert_eq!(unit.class(id).slot(&format!("a{at}")), None);
            let attribute =
                Attribute { name: format!("a{at}").into(), ty: Type::Int, role: Role::Plain };
            unit.class_mut(id).attributes.push(attribute);
            for known in [0, at / 2, at] {
                assert_eq!(unit.class(id).slot(&format!("a{known}")), Some(known));
            }
        }
    }

    #[test]
    fn methods_are_found_among_functions_of_the_same_name() {
        let mut unit = Unit::new();
        let (class, _) = unit.add_class(Class::new("__torch__.M"));
        let mut add = |name: &str| {
            let schema = Schema::parse("f() -> ()").unwrap();
            unit.add_function(Function {
                qualified_name: format!("__torch__.M.{name}").into(),
                class: Some(class),
                schema: Arc::new(schema),
                graph: None,
            })
        };
        let (hook, method, other) = (add("f"), add("f"), add("g"));
        unit.class_mut(class).forward_hooks.push(hook);
        unit.class_mut(class).methods.push(method);
        assert_eq!(unit.find_method(class, "f"), Some(method));
        assert_eq!(unit.find_method(class, "g"), None);
        unit.class_mut(class).methods.push(other);
        assert_eq!(unit.find_method(class, "g"), Some(other));
        assert_eq!(unit.find_method(class, "h"), None);
    }
}
