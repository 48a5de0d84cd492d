//! From a file and a name to a compiled function.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sconce_compiler::Error as CompileError;
use sconce_ir::{
    Argument, Class, ClassAttribute, Function, FunctionId, Graph, Role, Schema, Type, Unit,
};
use sconce_syntax::sexpr::Node;
use sconce_torchscript::{Module, Object, Value, Values};

use crate::Error;
use crate::concrete_module::Modules;
use crate::frontend::Body;
use crate::interpreter::{Construction, condition_at_top, construct};
use crate::library;
use crate::limits::ScriptLimits;
use crate::loader::{self, ModuleLoader, PyFunction};
use crate::objects::{self, Heap, Id};
use crate::resolver::{Python, tree, tree_of};
use crate::snippet::Snippet;

/// Compiles a function or module of a Python file: `torch.jit.script`.
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
    state: Option<PathBuf>,
    eval: bool,
    limits: ScriptLimits,
}

/// A function or module that was compiled from Python source: `torch.jit.ScriptFunction`,
/// `torch.jit.ScriptModule`. Cloning gives another handle to the same.
#[derive(Debug, Clone)]
pub struct Scripted(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    /// Of the function, or of the module's `forward`.
    schema: Option<Arc<Schema>>,
    tree: TreeOf,
    graph: OnceLock<Arc<Graph>>,
    module: OnceLock<Module>,
    /// A function, until it is asked for as a module: its graph may be large, so that the module takes it
    /// where nobody has asked for the graph.
    function: Mutex<Option<CompiledFunction>>,
    missing: Vec<String>,
}

/// Where the tree of the function, or of the module's `forward`, is had from.
#[derive(Debug)]
enum TreeOf {
    /// It is parsed again, of the same name: the compiler has dropped it statement by statement.
    Function(Arc<Snippet>, Body),
    /// `forward`, of the class of this name; it is parsed again, too.
    Method(Arc<Snippet>, Body, String),
    Nothing,
}

#[derive(Debug)]
struct CompiledFunction {
    unit: Unit,
    id: FunctionId,
    graph: Arc<Graph>,
}

/// What is to be compiled.
enum Target {
    Function(PyFunction),
    Module(Heap, Id),
}

impl ScriptOptions {
    /// The only function of the file, imports from the file's own folder alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// What to compile: a function, a class derived from `torch.nn.Module` (which is called without
    /// arguments), or an expression of the file's names that gives a module: `Net(10, hidden=5)`.
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

    /// A checkpoint with the parameters and buffers of the module: `module.load_state_dict`, in
    /// which every key must match.
    pub fn state(mut self, checkpoint: impl Into<PathBuf>) -> Self {
        self.state = Some(checkpoint.into());
        self
    }

    /// Whether the module is put into evaluation mode before it is compiled: `module.eval()`.
    pub fn eval(mut self, eval: bool) -> Self {
        self.eval = eval;
        self
    }

    /// What the module's constructors may spend.
    pub fn limits(mut self, limits: ScriptLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Compiles a file's function or module.
    ///
    /// # Errors
    /// When the file cannot be read or is no Python, there is no such function or class, its
    /// constructor cannot be run here, the checkpoint does not fit, or it cannot be TorchScript; in
    /// PyTorch's wording where that says it.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Scripted, Error> {
        let path = path.as_ref();
        let text = loader::read(path)?;
        self.compile(&path.display().to_string(), text, self.folders(path))
    }

    /// Where modules are imported from: the file's own folder first.
    fn folders(&self, file: &Path) -> Vec<PathBuf> {
        file.parent().map(Path::to_owned).into_iter().chain(self.paths.iter().cloned()).collect()
    }

    /// The tree of a file's function, class or method (`Class.method`), as PyTorch prints it;
    /// nothing is compiled.
    ///
    /// # Errors
    /// When the file cannot be read or is no Python, there is no such function, or it holds Python
    /// that TorchScript does not have.
    pub fn tree(&self, path: impl AsRef<Path>) -> Result<String, Error> {
        let path = path.as_ref();
        let text = loader::read(path)?;
        let (mut python, module) =
            self.python(&path.display().to_string(), text, self.folders(path))?;
        let name = self.name.as_deref();
        let (name, method) = match name.and_then(|name| name.split_once('.')) {
            Some((class, method)) => (Some(class), Some(method)),
            None => (name, None),
        };
        if let Some(class) = name
            && let Some(loader::Object::Class(class)) = python.loader.lookup(&module, class)?
        {
            return match method {
                Some(method) => {
                    let tree = match python.loader.is_module_class(&class)? {
                        true => python.tree_of_module_method(&class, method)?,
                        false => python.tree_of_method(&class, method)?,
                    };
                    Ok(Node::python_def(&tree.def).to_string())
                }
                None => Ok(Node::python_class(&python.class_tree(&class)?).to_string()),
            };
        }
        let name = entry_name(&mut python.loader, &module, self.name.as_deref())?;
        let function = match python.loader.lookup(&module, &name)? {
            Some(loader::Object::Function(function)) => Some(function),
            // A call at the top of the file, say, gives one.
            Some(_) => match self.target(&mut python.loader, &module)? {
                Target::Function(function) => Some(function),
                Target::Module(..) => None,
            },
            None => None,
        };
        let Some(function) = function else {
            let message = format!("there is no function or class '{name}' in the file");
            return Err(CompileError::without_range(message));
        };
        let function = python.as_decorated(&function)?;
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
    ) -> Result<(Python, Arc<loader::Module>), Error> {
        let stem = Path::new(filename).file_stem().map(|stem| stem.to_string_lossy());
        let name = self.module_name.as_deref().or(stem.as_deref()).unwrap_or("__main__");
        let mut loader =
            ModuleLoader::new(folders).with_judge(condition_at_top).with_compiler(compiled_text);
        let module = loader.add(loader::Module::parse(name, filename, text, false)?);
        Ok((Python::new(loader, Arc::clone(&module)), module))
    }

    /// Compiles a function or module of a text; `filename` is what errors and graphs call it.
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
        match self.target(&mut python.loader, &module)? {
            Target::Function(function) => compiled_function(&mut python, &function),
            Target::Module(heap, id) => compiled_module(&mut python, heap, id),
        }
    }

    /// What the name stands for.
    fn target(
        &self,
        loader: &mut ModuleLoader,
        module: &Arc<loader::Module>,
    ) -> Result<Target, Error> {
        let name = entry_name(loader, module, self.name.as_deref())?;
        if self.state.is_none() && !self.eval {
            let mut object = loader.dotted(module, &name)?;
            if let Some(loader::Object::Value(module, value)) = &object {
                object = loader.object(module, value)?;
            }
            if let Some(loader::Object::Function(function)) = object {
                return Ok(Target::Function(function));
            }
        }
        let what = Construction {
            expression: name.clone(),
            state: self.state.clone(),
            eval: self.eval,
            limits: self.limits.clone(),
        };
        let (heap, value) = construct(loader, module, &what)?;
        match value {
            objects::Value::Module(id) => Ok(Target::Module(heap, id)),
            objects::Value::Function(function) if function.bound.is_none() => {
                Ok(Target::Function(function.function))
            }
            objects::Value::Class(class) => {
                let message = format!(
                    "'{name}' is a class: only functions and nn.Modules are compiled to archives, \
                     and the classes that they use"
                );
                Err(CompileError::new(message, class.module.place(&class.def.name)))
            }
            _ => {
                let message = format!("'{name}' is neither a function nor an nn.Module");
                Err(CompileError::without_range(message))
            }
        }
    }
}

fn compiled_function(python: &mut Python, function: &PyFunction) -> Result<Scripted, Error> {
    let mut unit = Unit::new();
    if !function.module.overloads(function.name()).is_empty() {
        let name = python.qualified(&function.module, function.name());
        return Err(CompileError::without_range(format!(
            "Function {name} cannot be directly compiled because it is overloaded. It must be used in \
             a context of a function where its inputs can determine which overload to call."
        )));
    }
    refuse_wrapped(python, function)?;
    let function = &python.as_decorated(function)?;
    let how = python.decorated(function)?;
    let id = match python.compiled(&mut unit, function, how) {
        Ok(id) => id,
        Err(error) => {
            // What is wrong with the tree itself is said without the function that is being compiled.
            tree(function, function.name(), None, how.body(), false)?;
            return Err(error);
        }
    };
    let compiled = unit.function(id);
    let schema = Arc::clone(&compiled.schema);
    let Some(graph) = compiled.graph.clone() else {
        return Err(CompileError::without_range("the function has no graph"));
    };
    Ok(Scripted(Arc::new(Inner {
        name: function.name().to_owned(),
        schema: Some(schema),
        tree: TreeOf::Function(function.module.function_snippet(&function.def), how.body()),
        graph: OnceLock::new(),
        module: OnceLock::new(),
        function: Mutex::new(Some(CompiledFunction { unit, id, graph })),
        missing: Vec::new(),
    })))
}

/// Refuses functions that are objects of their own kind, which PyTorch takes in programs alone, or not at all.
fn refuse_wrapped(python: &mut Python, function: &PyFunction) -> Result<(), Error> {
    if python.is_cached(function)? {
        return Err(CompileError::without_range(
            "Can't get source for <class 'functools._lru_cache_wrapper'>. TorchScript requires source access in \
             order to carry out compilation, make sure original .py files are available.",
        ));
    }
    for decorator in &function.def.decorator_list {
        let name = python.loader.decorator(&function.module, decorator)?;
        if library::wrapper(&name).is_some_and(|wrapper| wrapper.refuses) {
            return Err(CompileError::without_range(
                "TorchScript error: @autocast() decorator is not supported in script mode",
            ));
        }
    }
    Ok(())
}

/// Compiles the function of a text, for the interpreter.
pub(crate) fn compiled_text(text: &str) -> Result<Module, Error> {
    Ok(ScriptOptions::new().compile_text("call.py", text)?.module().clone())
}

pub(crate) fn compiled_module(python: &mut Python, heap: Heap, id: Id) -> Result<Scripted, Error> {
    let class = heap.module(id).map(|object| object.class.clone());
    python.modules = Modules::new(heap);
    let mut unit = Unit::new();
    let made = python.script_module(&mut unit, id)?;
    let name = class.as_ref().map_or("", |class| class.name()).to_owned();
    let (mut tree, mut schema, graph) = (TreeOf::Nothing, None, OnceLock::new());
    if let (Some(class), Some(forward)) = (class, unit.find_method(made.class, "forward")) {
        let (snippet, body) = python.text_of_compiled_method(made.class, &class, "forward")?;
        let compiled = unit.function(forward);
        if let Some(compiled_graph) = &compiled.graph {
            tree = TreeOf::Method(snippet, body, class.name().to_owned());
            schema = Some(Arc::clone(&compiled.schema));
            graph.get_or_init(|| Arc::clone(compiled_graph));
        }
    }
    let missing = made.missing;
    let module = Module::assemble(unit, made.values, Vec::new(), made.root)
        .ok_or_else(|| CompileError::without_range("the module has no class"))?;
    let module = OnceLock::from(module);
    let function = Mutex::new(None);
    Ok(Scripted(Arc::new(Inner { name, schema, tree, graph, module, function, missing })))
}

impl Scripted {
    /// The name of the function, or of the module's class.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether it is a function, and no module.
    pub fn is_function(&self) -> bool {
        matches!(self.0.tree, TreeOf::Function(..))
    }

    /// What the function takes and gives, defaults included; of a module its `forward`, if it has
    /// one.
    pub fn schema(&self) -> Option<&Arc<Schema>> {
        self.0.schema.as_ref()
    }

    /// The tree of the function or of the module's `forward`, as PyTorch prints it.
    pub fn tree(&self) -> Option<String> {
        let (snippet, name, class, body) = match &self.0.tree {
            TreeOf::Function(snippet, body) => (snippet, &*self.0.name, None, *body),
            TreeOf::Method(snippet, body, class) => (snippet, "forward", Some(&**class), *body),
            TreeOf::Nothing => return None,
        };
        let tree = tree_of(Arc::clone(snippet), name, class, body, false).ok()?;
        Some(Node::python_def(&tree.def).to_string())
    }

    /// The graph of the function or of the module's `forward`: `torch.jit.script(f).graph`.
    pub fn graph(&self) -> Option<&Arc<Graph>> {
        if self.0.graph.get().is_none() {
            // What is locked is either there or not: a poisoned lock is as good as any.
            let function = self.0.function.lock().unwrap_or_else(PoisonError::into_inner);
            let graph = match (&*function, self.0.module.get()) {
                (Some(function), _) => Arc::clone(&function.graph),
                (None, Some(module)) => Arc::new(without_self(&*module.graph_of("forward").ok()?)),
                (None, None) => return None,
            };
            self.0.graph.get_or_init(|| graph);
        }
        self.0.graph.get()
    }

    /// The parameters and buffers of the module that PyTorch would fill with random numbers and no
    /// state dict gave any, by dotted name. What reads their bytes fails, and so does saving.
    pub fn missing(&self) -> &[String] {
        &self.0.missing
    }

    /// The module; of a function the one that `torch.jit.save` makes of it, whose `forward` is the
    /// function.
    pub fn module(&self) -> &Module {
        self.0.module.get_or_init(|| {
            let mut function = self.0.function.lock().unwrap_or_else(PoisonError::into_inner);
            let function = function.take().expect("it is a function until it is a module");
            placeholder(function)
        })
    }

    /// The module, for whoever needs nothing else of this: where there is no other handle, nothing else holds
    /// what the module is made of.
    pub fn into_module(self) -> Module {
        self.module().clone()
    }
}

/// The name that is asked for, or that of the only function that there is, or of the only module.
fn entry_name(
    loader: &mut ModuleLoader,
    module: &Arc<loader::Module>,
    name: Option<&str>,
) -> Result<String, Error> {
    let fail = |message: String| Err(CompileError::without_range(message));
    if let Some(name) = name {
        return Ok(name.to_owned());
    }
    let functions: Vec<String> = module.functions().map(str::to_owned).collect();
    let mut modules = Vec::new();
    for name in module.classes().map(str::to_owned).collect::<Vec<_>>() {
        if let Some(loader::Object::Class(class)) = loader.lookup(module, &name)?
            && loader.is_module_class(&class)?
        {
            modules.push(name);
        }
    }
    let (what, mut names) =
        if functions.is_empty() { ("modules", modules) } else { ("functions", functions) };
    match (names.pop(), names.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => fail("the file has no function and no nn.Module".into()),
        (Some(last), false) => {
            names.push(last);
            fail(format!("the file has several {what}: say which ({})", names.join(", ")))
        }
    }
}

/// The module that `torch.jit.save` wraps a function in.
fn placeholder(function: CompiledFunction) -> Module {
    let CompiledFunction { mut unit, id, graph } = function;
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
    // The function itself is nothing that the module needs: it cannot call itself.
    unit.function_mut(id).graph = None;
    let mut graph = Arc::unwrap_or_clone(graph);
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
    Module::assemble(unit, values, Vec::new(), root).expect("the root is an object")
}

/// The graph of a function, from that of the method that it became.
fn without_self(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    // A parameter of this name had to give it up.
    let mut inputs = graph.inputs()[1..].iter().copied();
    let renamed = inputs.find(|&input| graph.value(input).base_name() == Some("self"));
    graph.erase_block_input(graph.root(), 0);
    if let Some(renamed) = renamed {
        graph.set_name(renamed, "self");
    }
    graph
}
