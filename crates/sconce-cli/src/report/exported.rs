//! What `sconce info` says of a .pt2 file.

use sconce::Source;
use sconce::checkpoint::pt2::Layout;
use sconce::export_program::{Archive, Error, ExportedProgram};
use serde::Serialize;

use crate::arguments::reading::Load;
use crate::output::{Line, Out, Style, count};
use crate::read::open;

/// Inputs, outputs and files that are shown.
const MOST: usize = 6;

/// The facts of an archive, and of one of its programs.
#[derive(Debug, Serialize)]
pub struct Exported {
    /// `2.1 to 2.7`, `2.8` or `2.9 and later`: whose layout the archive has.
    layout: &'static str,
    models: Vec<String>,
    /// The one that is shown.
    model: Option<String>,
    program: Option<Program>,
    /// Models that were compiled to native code, which is never loaded here.
    compiled: Vec<String>,
    native_files: Vec<Named>,
    executorch_files: Vec<Named>,
    extra_files: Vec<Named>,
    /// Whether the archive has the inputs that the program was exported with, and they hold nothing but data.
    sample_inputs: bool,
}

/// What a program is.
#[derive(Debug, Serialize)]
struct Program {
    /// `TRAINING` as exported, `ATEN` when decomposed, ….
    verifiers: Vec<String>,
    schema_version: String,
    torch_version: String,
    nodes: usize,
    operators: usize,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    ranges: String,
    guards: Vec<String>,
    modules: usize,
}

#[derive(Debug, Serialize)]
struct Value {
    name: String,
    what: String,
}

#[derive(Debug, Serialize)]
struct Named {
    name: String,
    bytes: u64,
}

impl Exported {
    /// The facts, and what is wrong with the program where it cannot be read.
    ///
    /// # Errors
    /// When the archive itself cannot be read.
    pub fn read(source: &Source, load: &Load) -> Result<(Exported, Option<Error>), Error> {
        let archive = Archive::from_source(source.clone(), &open::options(load))?;
        let package = archive.package();
        let named = |files: Vec<(String, u64)>| {
            files.into_iter().map(|(name, bytes)| Named { name, bytes }).collect::<Vec<_>>()
        };
        let mut exported = Exported {
            layout: match package.layout() {
                Layout::Flat => "2.1 to 2.7",
                Layout::Pickled => "2.8",
                Layout::Raw => "2.9 and later",
            },
            models: archive.models().to_vec(),
            model: None,
            program: None,
            compiled: package.compiled(),
            native_files: named(package.below("data/aotinductor/")),
            executorch_files: named(package.executorch_files()),
            extra_files: named(package.extra_files()),
            sample_inputs: false,
        };
        let mut wrong = None;
        if let Ok(model) = archive.model(load.model.as_deref()) {
            exported.model = Some(model.to_owned());
            exported.sample_inputs = package.sample_inputs(model).is_some();
            match archive.program(model).and_then(|program| Program::new(&program)) {
                Ok(program) => exported.program = Some(program),
                Err(error) => wrong = Some(error),
            }
        }
        Ok((exported, wrong))
    }

    /// The lines of the card.
    pub fn sections(&self, out: &Out) -> Vec<(&'static str, Vec<Line>)> {
        let plain = |text: String| vec![Line::new().plain(text)];
        let mut sections = Vec::new();
        if self.models.len() > 1 {
            let shown = few(self.models.iter().map(String::as_str));
            let this =
                self.model.as_ref().map_or(String::new(), |model| format!("; this is {model}"));
            sections.push(("models", plain(format!("{shown}{this}   --model NAME for another"))));
        }
        if let Some(program) = &self.program {
            sections.push(("program", plain(program.line(self))));
            sections.push(("inputs", values(&program.inputs)));
            sections.push(("outputs", values(&program.outputs)));
            if !program.ranges.is_empty() {
                sections.push(("ranges", plain(program.ranges.clone())));
            }
        }
        let files = |files: &[Named]| {
            let shown: Vec<String> = files
                .iter()
                .map(|file| format!("{} {}", file.name, out.sizes().show(file.bytes)))
                .collect();
            few(shown.iter().map(String::as_str))
        };
        if !self.native_files.is_empty() {
            let shown = format!("{} · never loaded here", files(&self.native_files));
            sections.push(("native", plain(shown)));
        }
        if !self.executorch_files.is_empty() {
            sections.push(("pte", plain(files(&self.executorch_files))));
        }
        if !self.extra_files.is_empty() {
            sections.push(("extra", plain(files(&self.extra_files))));
        }
        sections
    }
}

impl Program {
    fn new(program: &ExportedProgram) -> Result<Program, Error> {
        let values = |values: Vec<(String, String)>| {
            values.into_iter().map(|(name, what)| Value { name, what }).collect::<Vec<_>>()
        };
        let targets = program.targets();
        let version = &program.schema_version;
        Ok(Program {
            verifiers: program.verifiers.clone(),
            schema_version: format!("{}.{}", version.major, version.minor),
            torch_version: program.torch_version.clone(),
            nodes: targets.iter().map(|(_, count)| count).sum(),
            operators: targets.len(),
            inputs: values(program.user_inputs()?),
            outputs: values(program.user_outputs()?),
            ranges: program.ranges_text()?,
            guards: program.guards_code.clone(),
            modules: program.graph_module.module_call_graph.len(),
        })
    }

    fn line(&self, of: &Exported) -> String {
        let dialect = match self.verifiers.first().map(String::as_str) {
            Some("TRAINING") => "as exported",
            Some("ATEN") | None => "decomposed",
            Some(other) => other,
        };
        let inputs = if of.sample_inputs { " · with sample inputs" } else { "" };
        format!(
            "{dialect} · {} of {} · {} · schema {} · torch {} · layout of {}{inputs}",
            count(self.nodes, "call"),
            count(self.operators, "operator"),
            count(self.modules, "module"),
            self.schema_version,
            self.torch_version,
            of.layout,
        )
    }
}

fn values(values: &[Value]) -> Vec<Line> {
    let mut lines: Vec<Line> = values
        .iter()
        .take(MOST)
        .map(|value| match value.name.as_str() {
            "" => Line::new().plain(&value.what),
            name => Line::new().add(Style::Name, name).plain(format!(": {}", value.what)),
        })
        .collect();
    if values.len() > MOST {
        lines.push(Line::new().dim(format!("… {} more", values.len() - MOST)));
    }
    if lines.is_empty() {
        lines.push(Line::new().plain("none"));
    }
    lines
}

fn few<'t>(texts: impl ExactSizeIterator<Item = &'t str>) -> String {
    let all = texts.len();
    let mut shown: Vec<String> = texts.take(MOST).map(str::to_owned).collect();
    if all > MOST {
        shown.push(format!("… {} more", all - MOST));
    }
    shown.join(" · ")
}
