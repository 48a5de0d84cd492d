//! What `sconce info` says of the program in a TorchScript archive.

use sconce::archive::Archive;
use sconce::jit::{Error, LoadOptions, Method, Module};
use sconce::{Limits, Source, Tensor};
use serde::Serialize;

use crate::output::{Line, Out, Style, count, grouped, shell_word};

/// Methods that are shown.
const MOST_METHODS: usize = 6;
/// Extra files that are shown.
const MOST_FILES: usize = 6;

/// The facts of a program.
#[derive(Debug, Serialize)]
pub struct Program {
    /// The class of the root.
    class: String,
    /// How it was made: `traced`, `scripted`, or `None` where the archive does not tell.
    made_by: Option<&'static str>,
    /// The methods of the root with what they take and give.
    methods: Vec<Signature>,
    /// Modules, the root among them.
    modules: usize,
    code_files: usize,
    code_bytes: usize,
    /// The version of the archive, which says what its operators mean.
    operator_version: u64,
    /// The version of the lite interpreter's program, where there is one.
    bytecode_version: Option<i64>,
    extra_files: Vec<String>,
    parameters: usize,
    buffers: usize,
    numel: i64,
}

/// A method.
#[derive(Debug, Serialize)]
struct Signature {
    name: String,
    /// What it takes, itself aside, and gives, as PyTorch prints schemas.
    signature: String,
}

impl Signature {
    fn new(method: &Method) -> Signature {
        let schema = method.schema.to_string();
        // `__torch__.Net.forward(__torch__.Net self, Tensor x) -> Tensor`
        let arguments = &schema[schema.find('(').map_or(0, |at| at + 1)..];
        let own = method.schema.arguments.first().map(ToString::to_string).unwrap_or_default();
        let rest = arguments.strip_prefix(&own).unwrap_or(arguments);
        let rest = rest.strip_prefix(", ").unwrap_or(rest);
        Signature { name: method.name.clone(), signature: format!("({rest}") }
    }
}

impl Program {
    /// The program of an archive.
    ///
    /// # Errors
    /// As `jit::load`.
    pub fn read(source: &Source, limits: &Limits) -> Result<Program, Error> {
        let module = LoadOptions::new().limits(limits.clone()).read(source.clone())?;
        let code = module.code_files()?;
        let archive = Archive::open(source.clone(), limits)?;
        let records = || archive.records().iter().map(|entry| archive.record_name(entry));
        let extra_files = records()
            .filter_map(|name| name.strip_prefix("extra/").map(str::to_owned))
            .filter(|name| !name.is_empty())
            .collect();
        let traced = records().any(|name| name == "traced_inputs.pkl");
        let parameters = module.named_parameters().unwrap_or_default();
        let buffers = module.named_buffers().unwrap_or_default();
        let numel = |sum: i64, (_, tensor): &(String, Tensor)| sum.saturating_add(tensor.numel());
        Ok(Program {
            class: module.qualified_name(),
            made_by: if traced { Some("traced") } else { made_by(&module) },
            methods: module.methods().iter().map(Signature::new).collect(),
            modules: module.named_modules().map_or(1, |modules| modules.len()),
            code_files: code.len(),
            code_bytes: code.iter().map(|(_, text)| text.len()).sum(),
            operator_version: module.version(),
            bytecode_version: module.bytecode()?.map(|bytecode| bytecode.version),
            extra_files,
            parameters: parameters.len(),
            buffers: buffers.len(),
            numel: parameters.iter().chain(&buffers).fold(0, numel),
        })
    }

    /// The lines of the card.
    pub fn sections(&self, out: &Out) -> Vec<(&'static str, Vec<Line>)> {
        let made_by = self.made_by.map_or(String::new(), |how| format!("{how} · "));
        let bytes = out.sizes().show(self.code_bytes as u64);
        let mut code = format!(
            "{made_by}{} of code, {bytes} · {} · operators of version {}",
            count(self.code_files, "file"),
            count(self.modules, "module"),
            self.operator_version
        );
        if let Some(version) = self.bytecode_version {
            code.push_str(&format!(" · bytecode of version {version}"));
        }
        let mut sections = vec![("program", vec![Line::new().plain(code)])];
        let mut methods: Vec<Line> = self
            .methods
            .iter()
            .take(MOST_METHODS)
            .map(|method| Line::new().add(Style::Name, &method.name).plain(&method.signature))
            .collect();
        if self.methods.len() > MOST_METHODS {
            let more = self.methods.len() - MOST_METHODS;
            methods.push(Line::new().dim(format!("… {more} more")));
        }
        if !methods.is_empty() {
            sections.push(("methods", methods));
        }
        if !self.extra_files.is_empty() {
            let shown = &self.extra_files[..self.extra_files.len().min(MOST_FILES)];
            let mut text = shown.join(" · ");
            if self.extra_files.len() > MOST_FILES {
                text.push_str(&format!(" · … {} more", self.extra_files.len() - MOST_FILES));
            }
            sections.push(("extra", vec![Line::new().plain(text)]));
        }
        sections
    }

    /// The card's lines of a file that has no other.
    pub fn whole(&self, file: &str, out: &Out) -> Vec<(&'static str, Vec<Line>)> {
        let tensors =
            format!("{}, {}", count(self.parameters, "parameter"), count(self.buffers, "buffer"));
        let root = Line::new().plain(format!("{}, {tensors}", self.class));
        let params = Line::new().add(Style::Number, grouped(self.numel)).plain(" elements");
        let mut sections = vec![("root", vec![root]), ("params", vec![params])];
        sections.extend(self.sections(out));
        let file = shell_word(file);
        let more = format!("sconce code {file} · sconce resave {file} NEW.pt   for other verbs");
        sections.push(("more", vec![Line::new().dim(more)]));
        sections
    }
}

/// How a module was made, by the source of the first method that has any: tracing leaves the stack
/// of the Python program there, where scripting leaves a function.
fn made_by(module: &Module) -> Option<&'static str> {
    /// Modules that are looked at.
    const MOST: usize = 32;
    let modules = module.named_modules().ok()?;
    let methods = modules.into_iter().take(MOST).flat_map(|(_, module)| module.methods());
    let source = methods
        .into_iter()
        .find_map(|method| module.original_source(&method.qualified_name).ok())?;
    let function = source.lines().any(|line| line.trim_start().starts_with("def "));
    Some(if function { "scripted" } else { "traced" })
}
