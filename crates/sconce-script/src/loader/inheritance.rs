//! Which classes a class is derived from, and whose member a name is: Python's `__mro__`.

use std::sync::Arc;

use ruff_python_ast as py;
use sconce_compiler::Error;

use crate::frontend::dotted;
use crate::loader::{ModuleLoader, Object, PyClass, PyFunction};

/// How many classes may be derived from each other.
const MAX_DEPTH: usize = 64;

/// A class in the order in which Python looks members up.
#[derive(Debug, Clone)]
pub(crate) enum Ancestor {
    /// A class of a file.
    Class(PyClass),
    /// A class of a library, by its dotted name.
    Library(Arc<str>),
}

/// What a class binds a name to, and the class itself.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// The class that has it, whose file its names are looked up in.
    pub(crate) owner: PyClass,
    pub(crate) kind: MemberKind,
}

/// What a member of a class is.
#[derive(Debug, Clone)]
pub(crate) enum MemberKind {
    /// A function, by whatever it is decorated.
    Function(PyFunction),
    /// `name = value`
    Value(Arc<py::Expr>),
    /// A class in the class.
    Class,
}

impl Ancestor {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Class(one), Self::Class(other)) => one.is(other),
            (Self::Library(one), Self::Library(other)) => one == other,
            _ => false,
        }
    }
}

impl PyClass {
    /// Whether it is the same class: in the same file at the same place.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// `torch.nn.Module` itself.
    pub(crate) fn is_nn_module(&self) -> bool {
        self.name() == "Module" && &*self.module.name == "torch.nn.modules.module"
    }

    /// What the class's own body binds a name to; the last binding counts.
    pub(crate) fn own_member(&self, name: &str) -> Option<MemberKind> {
        let at = self.module.last_bindings(&self.def).get(name).copied()?;
        match self.def.body.get(at)? {
            py::Stmt::FunctionDef(def) => {
                let module = Arc::clone(&self.module);
                let def = Arc::new(def.clone());
                Some(MemberKind::Function(PyFunction { module, def }))
            }
            py::Stmt::ClassDef(_) => Some(MemberKind::Class),
            py::Stmt::Assign(assign) => Some(MemberKind::Value(Arc::new((*assign.value).clone()))),
            py::Stmt::AnnAssign(assign) => {
                Some(MemberKind::Value(Arc::new((**assign.value.as_ref()?).clone())))
            }
            _ => None,
        }
    }
}

impl ModuleLoader {
    /// A class and all that it is derived from, in the order in which Python looks members up
    /// (C3): `class.__mro__` without `object`.
    ///
    /// # Errors
    /// When the bases have no such order, which Python refuses too, or are too many.
    pub(crate) fn mro(&mut self, class: &PyClass) -> Result<Arc<[Ancestor]>, Error> {
        self.linearized(class, 0)
    }

    fn linearized(&mut self, class: &PyClass, depth: usize) -> Result<Arc<[Ancestor]>, Error> {
        if let Some(known) = self.orders.get(&class.key()) {
            return Ok(Arc::clone(known));
        }
        if depth > MAX_DEPTH {
            let message = "too many classes are derived from each other";
            return Err(Error::new(message, class.module.place(&class.def.name)));
        }
        let bases = self.bases(class)?;
        let mut lists = Vec::with_capacity(bases.len() + 1);
        for base in &bases {
            lists.push(match base {
                Ancestor::Class(base) => self.linearized(base, depth + 1)?.to_vec(),
                Ancestor::Library(_) => vec![base.clone()],
            });
        }
        lists.push(bases);
        let Some(mut order) = merged(lists, Ancestor::is) else {
            let message = "Cannot create a consistent method resolution order (MRO) for bases";
            return Err(Error::new(message, class.module.place(&class.def.name)));
        };
        order.insert(0, Ancestor::Class(class.clone()));
        let order: Arc<[Ancestor]> = order.into();
        self.orders.insert(class.key(), Arc::clone(&order));
        Ok(order)
    }

    /// The classes that a class statement names, `object` aside.
    fn bases(&mut self, class: &PyClass) -> Result<Vec<Ancestor>, Error> {
        let Some(arguments) = &class.def.arguments else { return Ok(Vec::new()) };
        let mut bases = Vec::new();
        for base in &arguments.args {
            // `Generic[T]`
            let named = match base {
                py::Expr::Subscript(subscript) => &*subscript.value,
                other => other,
            };
            if self.is_made_tuple(class, named)? {
                bases.push(Ancestor::Library("builtins.tuple".into()));
                continue;
            }
            let Some(name) = dotted(named) else {
                let message = "what this class is derived from is not known without running Python";
                return Err(Error::new(message, class.module.place(base)));
            };
            match self.dotted(&class.module, &name)? {
                Some(Object::Class(base)) => bases.push(Ancestor::Class(base)),
                Some(Object::Library(name)) if name == "builtins.object" => {}
                Some(Object::Library(name)) => bases.push(Ancestor::Library(name.into())),
                _ => bases.push(Ancestor::Library(name.into())),
            }
        }
        Ok(bases)
    }

    /// Whether a base is a tuple that a call makes: `class Pair(namedtuple("Pair", "a b"))`.
    fn is_made_tuple(&mut self, class: &PyClass, base: &py::Expr) -> Result<bool, Error> {
        let py::Expr::Call(call) = base else { return Ok(false) };
        let Some(name) = dotted(&call.func) else { return Ok(false) };
        Ok(matches!(self.dotted(&class.module, &name)?,
            Some(Object::Library(name))
                if matches!(name.as_str(), "collections.namedtuple" | "typing.NamedTuple")))
    }

    /// What a name means in a class: the binding of the first class that has one.
    ///
    /// # Errors
    /// As [`Self::mro`].
    pub(crate) fn class_member(
        &mut self,
        class: &PyClass,
        name: &str,
    ) -> Result<Option<Member>, Error> {
        let order = self.mro(class)?;
        Ok(order.iter().find_map(|ancestor| match ancestor {
            Ancestor::Class(owner) => {
                owner.own_member(name).map(|kind| Member { owner: owner.clone(), kind })
            }
            Ancestor::Library(_) => None,
        }))
    }

    /// The method of a class, looked up along its ancestors.
    ///
    /// # Errors
    /// As [`Self::mro`].
    pub(crate) fn method(
        &mut self,
        class: &PyClass,
        name: &str,
    ) -> Result<Option<PyFunction>, Error> {
        Ok(match self.class_member(class, name)? {
            Some(Member { kind: MemberKind::Function(function), .. }) => Some(function),
            _ => None,
        })
    }

    /// Whether a class is derived from `torch.nn.Module`, or is it.
    ///
    /// # Errors
    /// As [`Self::mro`].
    pub(crate) fn is_module_class(&mut self, class: &PyClass) -> Result<bool, Error> {
        Ok(self.mro(class)?.iter().any(|ancestor| match ancestor {
            Ancestor::Class(class) => class.is_nn_module(),
            Ancestor::Library(name) => &**name == "torch.nn.modules.module.Module",
        }))
    }
}

/// The C3 merge: always the first head that no list has behind its own.
pub(crate) fn merged<T: Clone>(
    mut lists: Vec<Vec<T>>,
    same: impl Fn(&T, &T) -> bool,
) -> Option<Vec<T>> {
    let mut order: Vec<T> = Vec::new();
    loop {
        lists.retain(|list| !list.is_empty());
        if lists.is_empty() {
            return Some(order);
        }
        let is_behind =
            |head: &T| lists.iter().any(|list| list.iter().skip(1).any(|other| same(other, head)));
        let next = lists.iter().filter_map(|list| list.first()).find(|head| !is_behind(head));
        let next = next?.clone();
        for list in &mut lists {
            if list.first().is_some_and(|head| same(head, &next)) {
                list.remove(0);
            }
        }
        order.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::Module;

    fn loader(text: &str) -> (ModuleLoader, Arc<Module>) {
        let mut loader = ModuleLoader::new(Vec::new());
        let module = loader.add(Module::parse("file", "file.py", text.to_owned(), false).unwrap());
        (loader, module)
    }

    fn class(loader: &mut ModuleLoader, module: &Arc<Module>, name: &str) -> PyClass {
        match loader.lookup(module, name).unwrap() {
            Some(Object::Class(class)) => class,
            other => panic!("{other:?}"),
        }
    }

    fn order(text: &str, name: &str) -> Result<String, String> {
        let (mut loader, module) = loader(text);
        let class = class(&mut loader, &module, name);
        let order = loader.mro(&class).map_err(|error| error.message().to_owned())?;
        let names: Vec<String> = order
            .iter()
            .map(|ancestor| match ancestor {
                Ancestor::Class(class) => class.name().to_owned(),
                Ancestor::Library(name) => name.to_string(),
            })
            .collect();
        Ok(names.join(" "))
    }

    #[test]
    fn ancestors_come_in_the_order_of_c3() {
        let diamond = "class O: pass\nclass A(O): pass\nclass B(O): pass\nclass C(A, B): pass\n";
        let many = "class O: pass\nclass A(O): pass\nclass B(O): pass\nclass C(O): pass\n\
                    class D(O): pass\nclass E(O): pass\nclass K1(A, B, C): pass\n\
                    class K2(D, B, E): pass\nclass K3(D, A): pass\nclass Z(K1, K2, K3): pass\n";
        let cases = [
            (diamond, "C", Ok("C A B O")),
            (many, "Z", Ok("Z K1 K2 K3 D A B C E O")),
            (
                "class A: pass\nclass B(A): pass\nclass C(A, B): pass\n",
                "C",
                Err("Cannot create a consistent method resolution order (MRO) for bases"),
            ),
            (
                "from typing import Generic\nclass A(Generic[T], object): pass\n",
                "A",
                Ok("A typing.Generic"),
            ),
            ("class A(A): pass\n", "A", Err("too many classes are derived from each other")),
            (
                "class A(f()): pass\n",
                "A",
                Err("what this class is derived from is not known without running Python"),
            ),
        ];
        for (text, name, expected) in cases {
            let found = order(text, name);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }

    #[test]
    fn members_are_those_of_the_first_class_that_has_them() {
        let text = "class A:\n    x = 1\n    def f(self): pass\n    def g(self): pass\n\
                    class B(A):\n    y: int = 2\n    def f(self): pass\n";
        let (mut loader, module) = loader(text);
        let b = class(&mut loader, &module, "B");
        for (name, owner) in [("f", "B"), ("g", "A"), ("x", "A"), ("y", "B")] {
            let member = loader.class_member(&b, name).unwrap().unwrap();
            assert_eq!(member.owner.name(), owner, "{name}");
        }
        assert!(loader.class_member(&b, "z").unwrap().is_none());
        assert!(loader.method(&b, "x").unwrap().is_none());
        assert_eq!(loader.method(&b, "g").unwrap().unwrap().name(), "g");
    }
}
