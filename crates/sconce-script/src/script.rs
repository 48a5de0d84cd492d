//! From a file and a name to a compiled function.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sconce_compiler::Error as CompileError;
use sconce_ir::{Argument, Class, ClassAttribute, Function, Graph, Role, Schema, Type, Unit};
use sconce_syntax::ast::Def;
use sconce_syntax::sexpr::Node;
use sconce_torchscript::{Module, Object, Value, Values};

use crate::Error;
use crate::resolver::{Python, tree};
use crate::world::{self, PyFunction, World};

/// Compiles a function of a Python file: `torch.jit.script`.
///
/// # Errors
/// As [`ScriptOptions::open`].
pub fn script(path: impl AsRef<Path>, name: &str) -> Result<Scripted, Error> {
    ScriptOptions::new().name(name).open(path)
}

/// How to compile Python source.
#[derive(Debug, Clone, Default)]
pub struct ScriptOptions {
    name: Option<String>,
    module_name: Option<String>,
    paths: Vec<PathBuf>,
}

/// A function that was compiled from Python source: `torch.jit.ScriptFunction`.
#[derive(Debug, Clone)]
pub struct Scripted {
    name: String,
    tree: Arc<Def>,
    graph: Arc<Graph>,
    schema: Arc<Schema>,
    module: Module,
}

impl ScriptOptions {
    /// The only function of the file, imports from the file's own folder alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// The function to compile.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What the file is called as a module, which qualified names begin with: as its name without
    /// `.py` otherwise. `__main__` is a script, whose qualified names have nothing of it.
    pub fn module_name(mut self, name: impl Into<String>) -> Self {
        self.module_name = Some(name.into());
        self
    }

    /// Another folder that modules are imported from. PyTorch's own functions are compiled from
    /// its sources where a folder has them (`torch/nn/functional.py`).
    pub fn path(mut self, folder: impl Into<PathBuf>) -> Self {
        self.paths.push(folder.into());
        self
    }

    /// Compiles a file's function.
    ///
    /// # Errors
    /// When the file cannot be read or is no Python, there is no such function, or it cannot be
    /// TorchScript; in PyTorch's wording where that says it.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Scripted, Error> {
        let path = path.as_ref();
        let text = world::read(path)?;
        let mut folders: Vec<PathBuf> = path.parent().map(Path::to_owned).into_iter().collect();
        folders.extend(self.paths.iter().cloned());
        self.compile(&path.display().to_string(), text, folders)
    }

    /// The tree of a file's function, class or method (`Class.method`), as PyTorch prints it;
    /// nothing is compiled.
    ///
    /// # Errors
    /// When the file cannot be read or is no Python, there is no such function, or it holds Python
    /// that TorchScript does not have.
    pub fn tree(&self, path: impl AsRef<Path>) -> Result<String, Error> {
        let path = path.as_ref();
        let (mut python, module) =
            self.python(&path.display().to_string(), world::read(path)?, Vec::new())?;
        let name = self.name.as_deref();
        let (name, method) = match name.and_then(|name| name.split_once('.')) {
            Some((class, method)) => (Some(class), Some(method)),
            None => (name, None),
        };
        if let Some(class) = name
            && let Some(world::Object::Class(class)) = python.world.lookup(&module, class)?
        {
            return match method {
                Some(method) => {
                    let tree = python.tree_of_method(&class, method)?;
                    Ok(Node::python_def(&tree.def).to_string())
                }
                None => Ok(Node::python_class(&python.class_tree(&class)?).to_string()),
            };
        }
        let function = entry(&mut python.world, &module, self.name.as_deref())?;
        let how = python.decorated(&function)?;
        let tree = tree(&function, function.name(), None, how.body(), false)?;
        Ok(Node::python_def(&tree.def).to_string())
    }

    /// The file as a module, and what looks its names up.
    fn python(
        &self,
        filename: &str,
        text: String,
        folders: Vec<PathBuf>,
    ) -> Result<(Python, Arc<world::Module>), Error> {
        let stem = Path::new(filename).file_stem().map(|stem| stem.to_string_lossy());
        let name = self.module_name.as_deref().or(stem.as_deref()).unwrap_or("__main__");
        let mut world = World::new(folders);
        let module = world.add(world::Module::parse(name, filename, text, false)?);
        Ok((Python::new(world, Arc::clone(&module)), module))
    }

    /// Compiles a function of a text; `filename` is what errors and graphs call it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn compile_text(&self, filename: &str, text: &str) -> Result<Scripted, Error> {
        self.compile(filename, text.to_owned(), self.paths.clone())
    }

    fn compile(
        &self,
        filename: &str,
        text: String,
        folders: Vec<PathBuf>,
    ) -> Result<Scripted, Error> {
        let (mut python, module) = self.python(filename, text, folders)?;
        let function = entry(&mut python.world, &module, self.name.as_deref())?;
        let mut unit = Unit::new();
        let how = python.decorated(&function)?;
        let tree = tree(&function, function.name(), None, how.body(), false)?;
        let id = python.compiled(&mut unit, &function, how)?;
        let compiled = unit.function(id);
        let schema = Arc::clone(&compiled.schema);
        let Some(graph) = compiled.graph.clone() else {
            return Err(CompileError::without_range("the function has no graph"));
        };
        let name = function.name().to_owned();
        let module = placeholder(unit, &graph)?;
        Ok(Scripted { name, tree: tree.def, graph, schema, module })
    }
}

impl Scripted {
    /// The function's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the function takes and gives, defaults included.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The tree that was compiled, as PyTorch prints it.
    pub fn tree(&self) -> String {
        Node::python_def(&self.tree).to_string()
    }

    /// The graph: `torch.jit.script(f).graph`.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The function as the module that `torch.jit.save` makes of it: its `forward` is the function.
    pub fn module(&self) -> &Module {
        &self.module
    }
}

/// The function that is asked for, or the only one that there is.
fn entry(
    world: &mut World,
    module: &Arc<world::Module>,
    name: Option<&str>,
) -> Result<PyFunction, Error> {
    let fail = |message: String| Err(CompileError::without_range(message));
    let names: Vec<&str> = match name {
        Some(name) => vec![name],
        None => module.functions().collect(),
    };
    let name = match names.as_slice() {
        [name] => *name,
        [] => return fail("the file has no function".into()),
        several => {
            return fail(format!(
                "the file has several functions: say which ({})",
                several.join(", ")
            ));
        }
    };
    let mut object = world.lookup(module, name)?;
    if let Some(world::Object::Value(module, value)) = &object {
        object = world.object(module, value)?;
    }
    match object {
        Some(world::Object::Function(function)) => Ok(function),
        Some(world::Object::Class(class)) => {
            let message = format!(
                "'{name}' is a class: only functions are compiled to archives so far, and the \
                 classes that they use; nn.Modules are not supported"
            );
            Err(CompileError::new(message, class.module.place(&class.def.name)))
        }
        _ => fail(format!("there is no function '{name}' in the file")),
    }
}

/// The module that `torch.jit.save` wraps a function in.
fn placeholder(mut unit: Unit, graph: &Graph) -> Result<Module, Error> {
    const NAME: &str = "__torch__.PlaceholderModule";
    let (class, ty) = unit.add_class(Class {
        is_module: true,
        attributes: vec![ClassAttribute {
            name: "training".into(),
            ty: Type::Bool,
            role: Role::Plain,
        }],
        ..Class::new(NAME)
    });
    let mut graph = graph.clone();
    let root = graph.root();
    let this = graph.insert_block_input(root, 0, ty);
    graph.set_name(this, "self");
    let arguments = graph.inputs().iter().enumerate().map(|(at, &input)| {
        let name = graph.value(input).base_name().map(Arc::from);
        let name = name.unwrap_or_else(|| Arc::from(format!("argument_{at}")));
        Argument::new(name, graph.ty(input).clone())
    });
    // The types are those of the graph's values: a NamedTuple stays one where a tuple is declared.
    let results = graph.block_outputs(root).iter().map(|&output| graph.ty(output).clone());
    let returns = results.map(|ty| Argument::new("", ty)).collect();
    let schema = Schema {
        name: "forward".into(),
        overload: "".into(),
        arguments: arguments.collect(),
        returns,
        is_vararg: false,
        is_varret: false,
    };
    let method = unit.add_function(Function {
        qualified_name: format!("{NAME}.forward").into(),
        class: Some(class),
        schema: Arc::new(schema),
        graph: Some(Arc::new(graph)),
    });
    unit.class_mut(class).methods.push(method);
    let mut values = Values::default();
    let training = values.push(Value::Bool(true));
    let root = values.push(Value::Object(Object { class, slots: vec![training], state: None }));
    Module::assemble(unit, values, Vec::new(), root)
        .ok_or_else(|| CompileError::without_range("the function has no module"))
}
