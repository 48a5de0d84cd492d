//! Looking at a program: code as an archive would have it, the original source, its operators.

use std::collections::BTreeMap;
use std::sync::Arc;

use sconce_compiler::print::{ConstantTable, Dependencies, Printer, Session};
use sconce_ir::{BlockId, ClassId, FunctionId, Graph, Kind, Prim, Type, operators};

use crate::Error;
use crate::importer::Program;
use crate::module::Module;
use sconce_checkpoint::ErrorKind;

/// How often a program uses an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorUse {
    /// The name with its overload, such as `aten::add.Tensor`.
    pub name: String,
    /// At how many places.
    pub count: usize,
}

/// What a name in a program stands for.
enum Named {
    Type(Type),
    Function(FunctionId),
}

impl Module {
    /// A method as PyTorch's `.code` shows it.
    ///
    /// # Errors
    /// When there is no such method, or it does not compile.
    pub fn code(&self, method: &str) -> Result<String, Error> {
        let method = self.method(method)?;
        self.lock().program.method_code(method.id)
    }

    /// What a name stands for, as code: a method by its dotted path from this module
    /// (`encoder.forward`), or anything by its qualified name.
    ///
    /// # Errors
    /// When there is no such thing, or it does not compile.
    pub fn code_of(&self, name: &str) -> Result<String, Error> {
        if let Some(method) = self.find_method(name)? {
            return self.lock().program.method_code(method);
        }
        let mut loaded = self.lock();
        match loaded.program.named(name)? {
            Named::Type(ty) => loaded.program.type_code(&ty),
            Named::Function(function) => loaded.program.function_code(function),
        }
    }

    /// The source that a method or function was written as, where the archive knows it: a method by
    /// its dotted path from this module, or anything by its qualified name.
    ///
    /// # Errors
    /// When there is no such thing, or nothing is known of its origin.
    pub fn original_source(&self, name: &str) -> Result<String, Error> {
        let function = match self.find_method(name)? {
            Some(method) => method,
            None => match self.lock().program.named(name)? {
                Named::Function(function) => function,
                Named::Type(_) => {
                    let message = format!("'{name}' is a class; ask for one of its methods");
                    return Err(Error::new(ErrorKind::Caller, message));
                }
            },
        };
        let graph = self.lock().program.graph(function)?;
        let mut nodes = graph.block_nodes(graph.root());
        let original = nodes.find_map(|node| {
            let original = graph.node(node).range.as_ref()?.original()?;
            (!original.source.text().is_empty()).then_some(original)
        });
        let original = original.ok_or_else(|| {
            let message = format!("the archive does not say what source '{name}' comes from");
            Error::new(ErrorKind::Caller, message)
        })?;
        Ok(original.source.text().to_owned())
    }

    /// The graph of what a name stands for: a method by its dotted path from this module, or a
    /// method or function by its qualified name.
    ///
    /// # Errors
    /// When there is no such thing, or it does not compile.
    pub fn graph_of(&self, name: &str) -> Result<Arc<Graph>, Error> {
        if let Some(method) = self.find_method(name)? {
            return self.lock().program.graph(method);
        }
        let mut loaded = self.lock();
        match loaded.program.named(name)? {
            Named::Function(function) => loaded.program.graph(function),
            Named::Type(ty) => {
                let message = format!("{ty} is a class; ask for one of its methods");
                Err(Error::new(ErrorKind::Caller, message))
            }
        }
    }

    /// The method at a dotted path from this module.
    fn find_method(&self, path: &str) -> Result<Option<FunctionId>, Error> {
        let (module, method) = match path.rsplit_once('.') {
            None => (Some(self.clone()), path),
            Some((module, method)) => (self.submodule(module)?, method),
        };
        Ok(module.and_then(|module| module.method(method).ok()).map(|method| method.id))
    }

    /// The submodule at a dotted path such as `encoder.layers.0`; `None` where there is none.
    ///
    /// # Errors
    /// When a module on the way has attributes that cannot be read.
    pub fn submodule(&self, path: &str) -> Result<Option<Module>, Error> {
        let mut at = self.clone();
        for name in path.split('.') {
            let child = at.children()?.into_iter().find(|(child, _)| child == name);
            let Some((_, child)) = child else { return Ok(None) };
            at = child;
        }
        Ok(Some(at))
    }

    /// The operators that all methods and functions of the program use, by name, each place
    /// counted once.
    ///
    /// # Errors
    /// When something does not compile.
    pub fn operators(&self) -> Result<Vec<OperatorUse>, Error> {
        let mut loaded = self.lock();
        loaded.program.compile_all()?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (_, function) in loaded.program.unit.functions() {
            if let Some(graph) = &function.graph {
                count(graph, graph.root(), &mut counts);
            }
        }
        Ok(listed(counts))
    }

    /// The operators of one method and of all that it calls, each call counted: those of its
    /// [inlined graph](Module::inlined_graph).
    ///
    /// # Errors
    /// As [`Module::inlined_graph`].
    pub fn operators_of(&self, method: &str) -> Result<Vec<OperatorUse>, Error> {
        let graph = self.inlined_graph(method)?;
        let mut counts = BTreeMap::new();
        count(&graph, graph.root(), &mut counts);
        Ok(listed(counts))
    }
}

fn listed(counts: BTreeMap<String, usize>) -> Vec<OperatorUse> {
    counts.into_iter().map(|(name, count)| OperatorUse { name, count }).collect()
}

/// Counts the operators of a block and the blocks within.
fn count(graph: &Graph, root: BlockId, counts: &mut BTreeMap<String, usize>) {
    let mut queue = vec![root];
    while let Some(block) = queue.pop() {
        for id in graph.block_nodes(block) {
            let node = graph.node(id);
            queue.extend(node.blocks());
            let name = match (&node.kind, node.operator.and_then(operators::get)) {
                (_, Some(operator)) => operator.schema.full_name(),
                (Kind::Op(name), None) => name.to_string(),
                (Kind::Prim(prim), None) if is_work(*prim) => prim.symbol().to_owned(),
                _ => continue,
            };
            *counts.entry(name).or_default() += 1;
        }
    }
}

/// Whether an instruction is more than structure.
fn is_work(prim: Prim) -> bool {
    !matches!(prim, Prim::Param | Prim::Return | Prim::Constant | Prim::If | Prim::Loop)
}

impl Program {
    fn named(&mut self, name: &str) -> Result<Named, Error> {
        let qualified = match name.starts_with("__torch__") {
            true => name.to_owned(),
            false => format!("__torch__.{name}"),
        };
        if let Some(ty) = self.type_of_name(&qualified)? {
            return Ok(Named::Type(ty));
        }
        if let Some(function) = self.find_function(&qualified)? {
            return Ok(Named::Function(function));
        }
        if let Some((class, method)) = qualified.rsplit_once('.')
            && let Some(Type::Class(class)) = self.type_of_name(class)?
            && let Some(function) = self.unit.find_method(ClassId(class.id), method)
        {
            return Ok(Named::Function(function));
        }
        let message = format!("there is no method, function or class '{name}'");
        Err(Error::new(ErrorKind::Caller, message)
            .with_help("sconce tree FILE    shows modules, sconce code FILE    all code"))
    }

    fn method_code(&mut self, method: FunctionId) -> Result<String, Error> {
        self.graph(method)?;
        self.printed(|printer, session| printer.print_method(session, method))
    }

    fn function_code(&mut self, function: FunctionId) -> Result<String, Error> {
        self.graph(function)?;
        self.printed(|printer, session| printer.print_function(session, function))
    }

    fn type_code(&mut self, ty: &Type) -> Result<String, Error> {
        if let Type::Class(class) = ty {
            let class = self.unit.class(ClassId(class.id));
            let lists = [&class.methods, &class.forward_hooks, &class.forward_pre_hooks];
            let functions: Vec<FunctionId> = lists.into_iter().flatten().copied().collect();
            for function in functions {
                self.graph(function)?;
            }
        }
        self.printed(|printer, session| printer.print_type(session, ty))
    }

    fn printed(
        &self,
        print: impl FnOnce(&mut Printer, &mut Session<'_>) -> Result<(), sconce_compiler::Error>,
    ) -> Result<String, Error> {
        let (mut constants, mut dependencies) = (ConstantTable::new(), Dependencies::new());
        let mut session = Session {
            unit: &self.unit,
            rename: &|_| None,
            constants: &mut constants,
            dependencies: &mut dependencies,
            importable: false,
        };
        let mut printer = Printer::new();
        print(&mut printer, &mut session)?;
        Ok(printer.finish().text)
    }
}
