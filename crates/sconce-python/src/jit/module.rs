//! `ScriptModule` and its methods.

use std::sync::Arc;

use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use sconce::Tensor;
use sconce::jit::{self, Method, Module, ScriptOptions, Value};
use sconce::run::{Error, Model, Plain, needs, open_model};
use sconce::source::Source;

use super::call::{Arguments, in_session, run};
use super::options::CallOptions;
use super::pool;
use super::session::PySession;
use super::values::to_python;
use crate::boundary::{detached, guarded, in_background};
use crate::error;
use crate::input::{Input, check_folder_of, path_of};
use crate::objects::map_mode;
use crate::tensor::PyTensor;

/// What a module was loaded from.
#[derive(Clone)]
enum Origin {
    File(Input),
    /// Compiled here, or a part of another module.
    Here,
}

/// A program of TorchScript or ``torch.export``. Calls run without holding the interpreter, on any number of threads;
/// each sees the module as it was loaded.
#[pyclass(frozen, weakref, module = "sconce.jit", name = "ScriptModule")]
pub struct ScriptModule {
    model: Model,
    options: CallOptions,
    origin: Origin,
    name: String,
    /// The numbers by which threads keep its sessions: of `forward`, and of other methods.
    pools: [u64; 2],
}

impl ScriptModule {
    fn new(model: Model, options: CallOptions, origin: Origin, name: String) -> Self {
        ScriptModule { model, options, origin, name, pools: [pool::next_id(), pool::next_id()] }
    }

    /// A module of the same program.
    fn part(&self, module: Module) -> ScriptModule {
        ScriptModule::new(Model::new(module), self.options, Origin::Here, self.name.clone())
    }

    /// The program and its weights.
    pub fn model(&self) -> &Model {
        &self.model
    }

    fn module(&self) -> &Module {
        self.model.module()
    }

    fn failed(&self, py: Python<'_>, failed: impl Into<sconce::Error>) -> PyErr {
        error::of_library(py, failed, &self.name)
    }

    /// How a method is called; of an exported program its tree says that.
    pub fn method(&self, py: Python<'_>, name: &str) -> PyResult<Option<Method>> {
        if self.model.calling().is_some() && name == "forward" {
            return Ok(None);
        }
        self.module().method(name).map(Some).map_err(|failed| self.failed(py, failed))
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            let method = self.method(py, name)?;
            let arguments = Arguments::new(method.as_ref(), args, kwargs)?;
            run(py, &self.name, || self.call_detached(name, arguments))
        })
    }

    fn call_detached(&self, name: &str, arguments: Arguments) -> Result<Plain, Error> {
        let stateless = self.model.is_stateless(name)?;
        let kept = self.pools[usize::from(name != "forward")];
        let mut session = match pool::take(kept) {
            Some(session) => session,
            None => self.model.session(self.options.of_session())?,
        };
        let result = in_session(&mut session, self.module(), name, arguments);
        let sound = matches!(&result, Ok(_) | Err(Error::Raised(_) | Error::Arguments(_)));
        if stateless && sound {
            pool::keep(kept, session);
        }
        result
    }

    fn text(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&Module) -> Result<String, jit::Error> + Send,
    ) -> PyResult<String> {
        guarded(py, || {
            let made = detached(py, || make(self.module()))?;
            made.map_err(|failed| self.failed(py, failed))
        })
    }

    fn named<'py>(
        &self,
        py: Python<'py>,
        tensors: Result<Vec<(String, Tensor)>, jit::Error>,
    ) -> PyResult<Vec<(String, Bound<'py, PyTensor>)>> {
        let tensors = tensors.map_err(|failed| self.failed(py, failed))?;
        let tensor = |(name, tensor)| Ok((name, Bound::new(py, PyTensor::new(tensor))?));
        tensors.into_iter().map(tensor).collect()
    }

    /// An attribute's value.
    fn value<'py>(&self, py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        let plain = Plain::of_attribute(value, self.module());
        to_python(py, plain.map_err(|failed| error::of_run(py, failed, &self.name))?)
    }
}

/// The module as an archive.
fn archive_of(module: &Module) -> Result<Vec<u8>, jit::Error> {
    jit::SaveOptions::new().save_to(module, Vec::new())
}

#[pymethods]
impl ScriptModule {
    /// Calls ``forward``.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, "forward", args, kwargs)
    }

    /// Methods, submodules, parameters, buffers and other attributes by name.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let class = || this.module().class_name();
        if name.starts_with("__") {
            return Err(PyAttributeError::new_err(format!("'{}' has no '{name}'", class())));
        }
        if this.module().method(name).is_ok() {
            let method = ScriptMethod { owner: slf.clone().unbind(), name: name.to_owned() };
            return Ok(Bound::new(py, method)?.into_any());
        }
        let children = this.module().children().unwrap_or_default();
        if let Some((_, child)) = children.into_iter().find(|(child, _)| child == name) {
            return Ok(Bound::new(py, this.part(child))?.into_any());
        }
        match this.module().attr(name) {
            Ok(value) => this.value(py, &value),
            Err(_) => Err(PyAttributeError::new_err(format!(
                "'{}' object has no attribute '{name}'",
                class()
            ))),
        }
    }

    /// What ``__getattr__`` knows, beside what every module has.
    fn __dir__(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        let (py, this) = (slf.py(), slf.get());
        let object = py.import("builtins")?.getattr("object")?;
        let mut names: Vec<String> = object.call_method1("__dir__", (slf,))?.extract()?;
        names.extend(this.methods());
        let attributes = this.module().attributes().unwrap_or_default();
        names.extend(attributes.into_iter().map(|(name, _)| name));
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// ``forward`` as TorchScript.
    #[getter]
    fn code(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, |module| module.code("forward"))
    }

    /// The graph of ``forward``, as PyTorch prints it.
    #[getter]
    fn graph(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, |module| Ok(module.graph("forward")?.to_string()))
    }

    /// The graph of ``forward`` with the graphs of what it calls in it.
    #[getter]
    fn inlined_graph(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, |module| Ok(module.inlined_graph("forward")?.to_string()))
    }

    /// The Python that a method was written as, where the archive knows it.
    #[pyo3(signature = (method="forward"))]
    fn original_source(&self, py: Python<'_>, method: &str) -> PyResult<String> {
        self.text(py, |module| module.original_source(method))
    }

    /// What a method takes and gives.
    #[pyo3(signature = (method="forward"))]
    fn schema(&self, py: Python<'_>, method: &str) -> PyResult<String> {
        self.text(py, |module| {
            let mut schema = (*module.method(method)?.schema).clone();
            schema.name = method.into();
            Ok(schema.to_string())
        })
    }

    /// The names of the methods.
    fn methods(&self) -> Vec<String> {
        self.module().methods().into_iter().map(|method| method.name).collect()
    }

    /// The operators that the program uses, by full name.
    fn operators(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guarded(py, || {
            let used = detached(py, || self.module().operators())?;
            let used = used.map_err(|failed| self.failed(py, failed))?;
            Ok(used.into_iter().map(|used| used.name).collect())
        })
    }

    /// The operators that the program uses and that are not here.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guarded(py, || {
            let found = detached(py, || needs(self.module()))?;
            let found = found.map_err(|failed| error::of_run(py, failed, &self.name))?;
            let mut names: Vec<String> = found.into_iter().map(|need| need.what).collect();
            names.sort();
            names.dedup();
            Ok(names)
        })
    }

    /// Parameters by name.
    fn named_parameters<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<(String, Bound<'py, PyTensor>)>> {
        guarded(py, || self.named(py, self.module().named_parameters()))
    }

    /// Parameters.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTensor>>> {
        Ok(self.named_parameters(py)?.into_iter().map(|(_, tensor)| tensor).collect())
    }

    /// Buffers by name.
    fn named_buffers<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyTensor>)>> {
        guarded(py, || self.named(py, self.module().named_buffers()))
    }

    /// Buffers.
    fn buffers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTensor>>> {
        Ok(self.named_buffers(py)?.into_iter().map(|(_, tensor)| tensor).collect())
    }

    /// Parameters and buffers by name, module by module.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            let state = py.import("collections")?.getattr("OrderedDict")?.call0()?;
            let modules = self.module().named_modules();
            for (prefix, module) in modules.map_err(|failed| self.failed(py, failed))? {
                for tensors in [module.named_parameters(), module.named_buffers()] {
                    for (name, tensor) in self.named(py, tensors)? {
                        // What is in submodules has its turn.
                        if name.contains('.') {
                            continue;
                        }
                        let dotted = match prefix.as_str() {
                            "" => name,
                            prefix => format!("{prefix}.{name}"),
                        };
                        state.set_item(dotted, tensor)?;
                    }
                }
            }
            Ok(state)
        })
    }

    /// This module and those below it by name.
    fn named_modules(&self, py: Python<'_>) -> PyResult<Vec<(String, ScriptModule)>> {
        let modules = self.module().named_modules().map_err(|failed| self.failed(py, failed))?;
        Ok(modules.into_iter().map(|(name, module)| (name, self.part(module))).collect())
    }

    /// The modules right below this one by name.
    fn named_children(&self, py: Python<'_>) -> PyResult<Vec<(String, ScriptModule)>> {
        let modules = self.module().children().map_err(|failed| self.failed(py, failed))?;
        Ok(modules.into_iter().map(|(name, module)| (name, self.part(module))).collect())
    }

    /// What the module has beside submodules: parameters, buffers and values by name.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guarded(py, || {
            let all = PyDict::new(py);
            let children = self.module().children().unwrap_or_default();
            let attributes = self.module().attributes();
            for (name, value) in attributes.map_err(|failed| self.failed(py, failed))? {
                if !children.iter().any(|(child, _)| *child == name) {
                    all.set_item(&name, self.value(py, &value)?)?;
                }
            }
            Ok(all)
        })
    }

    /// The name of the module's class in Python.
    #[getter]
    fn original_name(&self) -> String {
        let name = self.module().class_name();
        name.rsplit('.').next().unwrap_or_default().to_owned()
    }

    /// Saves the program as ``torch.jit.save`` does.
    #[pyo3(signature = (f))]
    fn save(&self, py: Python<'_>, f: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(py, || {
            if self.model.calling().is_some() {
                let what = "a program of torch.export is not saved as TorchScript: copy its file";
                return Err(error::unsupported(py, what));
            }
            let (module, path) = (self.module().clone(), path_of(f)?);
            if let Some(path) = &path {
                check_folder_of(py, path)?;
            }
            let written = in_background(py, move || match path {
                Some(path) => {
                    jit::SaveOptions::new().replace(true).save(&module, path).map(|()| None)
                }
                None => archive_of(&module).map(Some),
            })?;
            match written.map_err(|failed| self.failed(py, failed))? {
                None => Ok(()),
                Some(bytes) => f.call_method1("write", (PyBytes::new(py, &bytes),)).map(drop),
            }
        })
    }

    /// A session, in which calls see what earlier calls changed. It stays on the thread that makes it. Limits that are
    /// not given are those of the module.
    #[pyo3(signature = (*, max_seconds=None, max_steps=None, max_memory=None, optimize=None, exact=None, strict=None, seed=None, precision=None))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn session(
        slf: &Bound<'_, Self>,
        max_seconds: Option<f64>,
        max_steps: Option<u64>,
        max_memory: Option<Bound<'_, PyAny>>,
        optimize: Option<bool>,
        exact: Option<bool>,
        strict: Option<bool>,
        seed: Option<u64>,
        precision: Option<&str>,
    ) -> PyResult<PySession> {
        let (py, own) = (slf.py(), slf.get().options);
        guarded(py, || {
            let given = CallOptions::new(
                max_seconds,
                max_steps,
                max_memory.as_ref(),
                [true, false, false],
                precision,
            )?;
            let options = CallOptions {
                max_seconds: given.max_seconds.or(own.max_seconds),
                max_steps: given.max_steps.or(own.max_steps),
                max_memory: given.max_memory.or(own.max_memory),
                optimize: optimize.unwrap_or(own.optimize),
                exact: exact.unwrap_or(own.exact),
                precision: if precision.is_some() { given.precision } else { own.precision },
                strict: strict.unwrap_or(own.strict),
                seed,
            };
            options.check()?;
            PySession::new(slf.clone().unbind(), &slf.get().model, &slf.get().name, options, py)
        })
    }

    fn __repr__(&self) -> String {
        format!("<sconce.jit.ScriptModule {} from {}>", self.module().class_name(), self.name)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            let load = py.import("sconce._sconce")?.getattr("_jit_load")?;
            let whole = |source: &Source| {
                let bytes = source.bytes().map_err(|failed| self.failed(py, failed))?;
                PyResult::Ok(PyBytes::new(py, bytes).into_any())
            };
            let file = match &self.origin {
                Origin::File(Input::Path(path)) => {
                    PyString::new(py, &std::path::absolute(path)?.to_string_lossy()).into_any()
                }
                Origin::File(Input::Bytes(source)) => whole(source)?,
                Origin::Here => {
                    let bytes = detached(py, || archive_of(self.module()))?;
                    let bytes = bytes.map_err(|failed| self.failed(py, failed))?;
                    PyBytes::new(py, &bytes).into_any()
                }
            };
            let CallOptions { max_seconds, max_steps, max_memory, optimize, exact, strict, .. } =
                self.options;
            let precision = self.options.precision.to_string();
            let fields =
                (file, max_seconds, max_steps, max_memory, optimize, exact, strict, precision);
            Ok((load, fields).into_pyobject(py)?.into_any())
        })
    }
}

/// A method of a module.
#[pyclass(frozen, module = "sconce.jit", name = "ScriptMethod")]
pub struct ScriptMethod {
    owner: Py<ScriptModule>,
    name: String,
}

#[pymethods]
impl ScriptMethod {
    /// Calls the method.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.owner.get().call(py, &self.name, args, kwargs)
    }

    /// The method's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The method as TorchScript.
    #[getter]
    fn code(&self, py: Python<'_>) -> PyResult<String> {
        self.owner.get().text(py, |module| module.code(&self.name))
    }

    /// The method's graph, as PyTorch prints it.
    #[getter]
    fn graph(&self, py: Python<'_>) -> PyResult<String> {
        self.owner.get().text(py, |module| Ok(module.graph(&self.name)?.to_string()))
    }

    /// What the method takes and gives.
    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<String> {
        self.owner.get().schema(py, &self.name)
    }

    fn __repr__(&self) -> String {
        format!("<sconce.jit.ScriptMethod {}>", self.name)
    }
}

/// Loads a program: what ``torch.jit.save`` or ``torch.export.save`` wrote. Nothing runs before it is called. A call
/// may take ``max_seconds``, run ``max_steps`` instructions and hold ``max_memory`` bytes.
#[pyfunction]
#[pyo3(signature = (f, max_seconds=None, max_steps=None, max_memory=None, optimize=true, exact=false, strict=false, precision=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn _jit_load(
    py: Python<'_>,
    f: &Bound<'_, PyAny>,
    max_seconds: Option<f64>,
    max_steps: Option<u64>,
    max_memory: Option<Bound<'_, PyAny>>,
    optimize: bool,
    exact: bool,
    strict: bool,
    precision: Option<String>,
) -> PyResult<ScriptModule> {
    guarded(py, || {
        let switches = [optimize, exact, strict];
        let memory = max_memory.as_ref();
        let options =
            CallOptions::new(max_seconds, max_steps, memory, switches, precision.as_deref())?;
        let input = Input::new(f)?;
        let model = detached(py, || open_model(input.source(map_mode(true))?))?;
        let name = input.name();
        match model {
            Ok(model) => Ok(ScriptModule::new(model, options, Origin::File(input), name)),
            Err(failed) => Err(error::of_library(py, failed, &name)),
        }
    })
}

/// Compiles Python source: a function or ``torch.nn.Module`` of a file, or of a text.
#[pyfunction]
#[pyo3(signature = (
    source, name=None, state=None, eval=false, paths=None, module_name=None, max_seconds=None, max_steps=None,
    max_memory=None, optimize=true, exact=false, strict=false, precision=None
))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn _jit_script(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    name: Option<String>,
    state: Option<std::path::PathBuf>,
    eval: bool,
    paths: Option<Bound<'_, PyList>>,
    module_name: Option<String>,
    max_seconds: Option<f64>,
    max_steps: Option<u64>,
    max_memory: Option<Bound<'_, PyAny>>,
    optimize: bool,
    exact: bool,
    strict: bool,
    precision: Option<String>,
) -> PyResult<ScriptModule> {
    guarded(py, || {
        let switches = [optimize, exact, strict];
        let memory = max_memory.as_ref();
        let options =
            CallOptions::new(max_seconds, max_steps, memory, switches, precision.as_deref())?;
        let mut script = ScriptOptions::new().eval(eval);
        if let Some(name) = name {
            script = script.name(name);
        }
        if let Some(state) = state {
            script = script.state(state);
        }
        if let Some(name) = module_name {
            script = script.module_name(name);
        }
        for path in paths.into_iter().flatten() {
            script = script.path(path.extract::<std::path::PathBuf>()?);
        }
        let is_text = source.extract::<String>().is_ok_and(|text| text.contains('\n'));
        let (file, compiled) = match is_text {
            true => {
                let text: String = source.extract()?;
                let compiled = detached(py, || script.compile_text("<string>", &text))?;
                ("<string>".to_owned(), compiled)
            }
            false => {
                let Some(path) = Input::new(source)?.path().map(std::path::Path::to_owned) else {
                    return Err(PyValueError::new_err("source is a path or the text of a file"));
                };
                let compiled = detached(py, || script.open(&path))?;
                (path.to_string_lossy().into_owned(), compiled)
            }
        };
        let scripted = compiled.map_err(|failed| error::of_library(py, failed, &file))?;
        if !scripted.missing().is_empty() {
            let names = scripted.missing().join(", ");
            let what = format!("PyTorch would fill these with random numbers: {names}");
            return Err(error::plain(
                py,
                "ScriptError",
                what + " (state= names a checkpoint with them)",
            ));
        }
        let model = Model::new(scripted.into_module());
        Ok(ScriptModule::new(model, options, Origin::Here, file))
    })
}

// What threads share.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Arc<ScriptModule>>();
};
