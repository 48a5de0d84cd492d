//! `torch.hub` within a repository, and `torch.load`: what the environment gives.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::arguments::{Keywords, LibraryArguments};
use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Cell, Value};
use super::Interpreter;
use crate::environment::{RepositoryRequest, UrlRequest};
use crate::loader::Module;

/// Names of libraries that are answered here, wherever their source may be.
const ANSWERED: &[&str] = &[
    "torch.hub.load",
    "torch.hub.load_state_dict_from_url",
    "torch.hub.download_url_to_file",
    "torch.hub.get_dir",
    "torch.hub.set_dir",
    "torch.hub._get_torch_home",
    "torch.utils.model_zoo.load_url",
    "torch.load",
    "torch.serialization.load",
    "torch.jit.load",
    "torch.save",
];

/// Whether calls of a function are answered here, whatever its source says.
pub(in super::super) fn answers(name: &str) -> bool {
    ANSWERED.contains(&name)
}

impl Interpreter<'_> {
    /// Calls a function that only files that run may call, if it is one.
    pub(in super::super) fn call_of_execution(
        &mut self,
        name: &str,
        given: &mut LibraryArguments,
    ) -> Outcome<Option<Value>> {
        if name == "sconce.load_state_dict" {
            return self.load_state_dict(given).map(Some);
        }
        if name == "sconce.load_own_state" {
            return self.load_own_state(given).map(Some);
        }
        if self.execution.is_none() {
            return Ok(None);
        }
        if let Some(result) = self.call_files(name, given)? {
            return Ok(Some(result));
        }
        if let Some(result) = self.call_re(name, given)? {
            return Ok(Some(result));
        }
        Ok(Some(match name {
            "torch.hub.load_state_dict_from_url" | "torch.utils.model_zoo.load_url" => {
                let url = self.needed(given, 0, "url")?;
                let request = self.url_request(&url, given)?;
                let path = self.downloaded(&request)?;
                self.loaded_checkpoint(&path)?
            }
            "torch.load" | "torch.serialization.load" => {
                let path = self.needed(given, 0, "f")?;
                drop((given.rest(), given.named()));
                let path = self.readable_path(&path)?;
                self.loaded_checkpoint(&path)?
            }
            "torch.jit.load" => {
                let path = self.needed(given, 0, "f")?;
                drop((given.rest(), given.named()));
                let path = self.readable_path(&path)?;
                self.new_cell(Cell::Archive(path.into()))?
            }
            "torch.hub.load" => self.nested_load(given)?,
            "builtins.print" => {
                self.print(given)?;
                Value::None
            }
            "builtins.__import__" | "importlib.import_module" => {
                let module = self.needed(given, 0, "name")?;
                let module = self.string(&module)?;
                if given.take(1, "package").is_some() || module.starts_with('.') {
                    return refuse("import_module of a relative name is not supported here");
                }
                self.imported_module(&module)?
            }
            "pathlib.Path" | "pathlib.PurePath" | "pathlib.PosixPath" => {
                let parts = given.rest();
                self.new_path(&parts)?
            }
            _ => return Ok(None),
        }))
    }

    fn url_request(&mut self, url: &Value, given: &mut LibraryArguments) -> Outcome<UrlRequest> {
        let mut request = UrlRequest::new(&self.string(url)?);
        request.model_dir = self.optional_path(given.take(1, "model_dir"))?;
        given.take(2, "map_location");
        request.progress = self.flag(given.take(3, "progress"), true)?;
        request.check_hash = self.flag(given.take(4, "check_hash"), false)?;
        request.file_name = self.optional_path(given.take(5, "file_name"))?;
        request.weights_only = self.flag(given.take(6, "weights_only"), false)?;
        Ok(request)
    }

    fn optional_path(&mut self, value: Option<Value>) -> Outcome<Option<String>> {
        match value {
            None | Some(Value::None) => Ok(None),
            Some(value) => self.path_text(&value).map(|text| Some(text.to_string())),
        }
    }

    fn flag(&mut self, value: Option<Value>, default: bool) -> Outcome<bool> {
        value.map_or(Ok(default), |value| self.truth(&value))
    }

    /// The file of a URL, which may be read from then on.
    fn downloaded(&mut self, request: &UrlRequest) -> Outcome<PathBuf> {
        let execution = self.execution_mut()?;
        let path = match execution.environment.load_state_dict_from_url(request) {
            Ok(path) => path,
            Err(error) => return refuse(format!("{}: {error}", request.url)),
        };
        if let Ok(real) = path.canonicalize() {
            execution.readable.push(real);
        }
        Ok(path)
    }

    /// `torch.hub.load(repository, model, …)`, in a repository.
    fn nested_load(&mut self, given: &mut LibraryArguments) -> Outcome<Value> {
        let repository = self.needed(given, 0, "repo_or_dir")?;
        let repository = self.path_text(&repository)?;
        let model = self.needed(given, 1, "model")?;
        let source = match given.take(usize::MAX, "source") {
            Some(source) => self.string(&source)?.to_lowercase(),
            None => "github".into(),
        };
        if !matches!(source.as_str(), "github" | "local") {
            let message =
                format!("Unknown source: \"{source}\". Allowed values: \"github\" | \"local\".");
            return self.raise("ValueError", message);
        }
        let mut request = RepositoryRequest::new(&repository);
        request.trusts = match given.take(usize::MAX, "trust_repo") {
            Some(Value::Bool(trusts)) => Some(trusts),
            _ => None,
        };
        request.force_reload = self.flag(given.take(usize::MAX, "force_reload"), false)?;
        request.verbose = self.flag(given.take(usize::MAX, "verbose"), true)?;
        request.skip_validation = self.flag(given.take(usize::MAX, "skip_validation"), false)?;
        let (args, keywords) = (given.rest(), given.named());
        let folder = match source.as_str() {
            "local" => self.readable_path(&Value::Str(repository))?,
            _ => match self.execution_mut()?.environment.repository(&request) {
                Ok(folder) => folder,
                Err(error) => return refuse(format!("{repository}: {error}")),
            },
        };
        self.in_repository(&folder, |this, module| {
            let entry = this.entry(module, &model)?;
            this.call(&entry, args, keywords)
        })
    }

    /// The callable of a name in a `hubconf.py`.
    pub(super) fn entry(&mut self, module: &Arc<Module>, name: &Value) -> Outcome<Value> {
        let Value::Str(name) = name else {
            return self
                .raise("ValueError", "Invalid input: model should be a string of function name");
        };
        match self.namespace_value(module, name) {
            Some(value) if self.is_callable_at_all(&value) => Ok(value),
            _ => {
                let message = format!("Cannot find callable {name} in hubconf");
                self.raise("RuntimeError", message)
            }
        }
    }

    /// `print(…)`
    fn print(&mut self, given: &mut LibraryArguments) -> Outcome<()> {
        let mut option = |name: &str| given.take(usize::MAX, name);
        let (separator, end) = (option("sep"), option("end"));
        let file = option("file");
        option("flush");
        let separator = self.text_or(separator, " ")?;
        let end = self.text_or(end, "\n")?;
        let mut line = String::new();
        for (at, part) in given.rest().iter().enumerate() {
            if at > 0 {
                line.push_str(&separator);
            }
            // What is not known is no reason to stop where it is only shown.
            match self.arena.unknown(part) {
                Some(unknown) => line.push_str(&format!("<{}>", unknown.what)),
                None => line.push_str(&self.text(part)?),
            }
            self.spend(line.len())?;
        }
        line.push_str(&end);
        // Whoever shows it has work with it.
        self.steps = self.steps.saturating_add(line.len() as u64 / 64);
        if !matches!(file, None | Some(Value::None)) {
            // `sys.stderr`: not what the command gives.
            return Ok(());
        }
        self.execution_mut()?.environment.print(&line);
        Ok(())
    }

    fn text_or(&mut self, value: Option<Value>, default: &str) -> Outcome<String> {
        match value {
            None | Some(Value::None) => Ok(default.to_owned()),
            Some(value) => self.text(&value),
        }
    }

    /// `archive.eval()`: what does not change what the archive is.
    pub(in super::super) fn archive_attribute(
        &mut self,
        value: &Value,
        path: &Path,
        name: &str,
    ) -> Outcome<Option<Value>> {
        if matches!(name, "eval" | "train" | "to" | "cpu" | "cuda" | "float" | "requires_grad_") {
            return self.new_cell(Cell::BuiltinMethod(value.clone(), name.into())).map(Some);
        }
        let what = format!("the attribute '{name}' of the archive {}", path.display());
        self.new_unknown(&what, None, crate::library::NameKind::Callable, true).map(Some)
    }

    pub(in super::super) fn archive_method(
        &mut self,
        value: &Value,
        name: &str,
        args: &[Value],
        keywords: &Keywords,
    ) -> Outcome<Value> {
        let given = || args.iter().chain(keywords.iter().map(|(_, value)| value));
        let changes = match name {
            "train" => !given().any(|value| matches!(value, Value::Bool(false))),
            "to" => given().any(|value| matches!(value, Value::DType(_))),
            "float" => true,
            _ => false,
        };
        match changes {
            true => refuse(format!("{name}() of a loaded archive is not supported here")),
            false => Ok(value.clone()),
        }
    }
}
