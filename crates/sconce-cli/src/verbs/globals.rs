//! `sconce globals`: what classes and functions a file names, and what PyTorch says to them.

use std::collections::{BTreeSet, HashMap};

use sconce::checkpoint::{AllowList, ErrorKind, GlobalUse, Policy};
use sconce::pickle::{AllowAll, Machine, Node};
use serde::Serialize;

use super::SCHEMA_VERSION;
use super::streams::{self, Stream};
use crate::cli::{GlobalsArgs, PolicyChoice};
use crate::error::{Failure, Outcome};
use crate::open::{self, Say};
use crate::output::{Align, Line, Out, Style, Table, count};
use crate::run::Verdict;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    /// Whether the file was read to its end.
    complete: bool,
    globals: Vec<Row<'a>>,
    weights_only: Verdicts,
}

#[derive(Serialize)]
struct Row<'a> {
    /// `module.name`.
    name: String,
    module: &'a str,
    attribute: &'a str,
    allowed: bool,
    count: usize,
    record: &'a str,
    offset: u64,
}

#[derive(Serialize)]
struct Verdicts {
    accepted: bool,
    message: Option<String>,
}

/// Exit code 1 when the file breaks off before its end.
pub fn run(args: &GlobalsArgs, out: &mut Out, say: Say) -> Verdict {
    let load = &args.input.load;
    let source = open::source(&args.input.file, open::map_mode(load), &open::limits(load))?;
    let file = open::name(&args.input.file);
    // The question is what the file names, so a policy or a damaged tensor must not end the reading.
    let mut inspect = load.clone();
    inspect.policy = PolicyChoice::Inspect;
    inspect.keep_going = true;
    let opened = open::options(&inspect).open_source(source.clone());
    let (globals, broken) = match opened {
        Ok(checkpoint) => (checkpoint.globals().to_vec(), None),
        Err(error) => {
            let failure = Failure::from(error).in_file(&file);
            // What a pickle names before it breaks off is worth knowing all the more.
            let Ok(streams) = streams::streams(&args.input.file, None) else { return Err(failure) };
            let globals: Vec<GlobalUse> = streams.iter().flat_map(before_the_break).collect();
            if globals.is_empty() {
                return Err(failure);
            }
            (globals, Some(failure))
        }
    };
    let globals = &globals[..];
    let outcome = Outcome::found(broken.is_some());
    if let Some(failure) = &broken {
        failure.print(say.color);
    }
    if args.python {
        if let Some(python) = python(globals) {
            out.text(&python)?;
        } else if !say.quiet {
            let text =
                "every global is allow-listed: torch.load(weights_only=True) needs nothing more";
            crate::error::remark(say.color, &Line::new().plain(text));
        }
        return Ok(outcome);
    }
    let verdict = open::options(load).policy(Policy::WeightsOnly).open_source(source);
    let verdict = Verdicts {
        accepted: verdict.is_ok(),
        message: verdict.err().map(|error| match error.kind() {
            ErrorKind::Refused => error.message().to_owned(),
            _ => error.to_string(),
        }),
    };
    if args.json {
        let globals = globals.iter().map(row).collect();
        let (schema_version, weights_only, complete) = (SCHEMA_VERSION, verdict, broken.is_none());
        out.json(&Document { schema_version, file: &file, complete, globals, weights_only })?;
        return Ok(outcome);
    }
    out.use_pager();
    let mut table = Table::new(!args.no_header)
        .column("global", Align::Left, Style::Name)
        .column("allowed", Align::Left, Style::Plain)
        .column("calls", Align::Right, Style::Number)
        .column("first", Align::Left, Style::Dim);
    for global in globals {
        table.row([
            global.full_name(),
            if global.allowed { "yes" } else { "NO" }.to_owned(),
            global.count.to_string(),
            format!("{} @ {:#x}", global.record, global.offset),
        ]);
    }
    if !globals.is_empty() {
        out.table(&table)?;
    }
    if !args.no_header {
        summary(globals, &verdict, &file, out)?;
    }
    Ok(outcome)
}

/// The globals of a pickle up to where it ends or breaks off.
fn before_the_break(stream: &Stream) -> Vec<GlobalUse> {
    let limits = sconce::pickle::Limits::default();
    let mut machine = Machine::new(&stream.bytes[stream.start..], &limits);
    while let Ok(None) = machine.step(&mut AllowAll) {}
    let arena = machine.arena();
    let mut out: Vec<GlobalUse> = Vec::new();
    let mut places: HashMap<(&str, &str), usize> = HashMap::new();
    for value in arena.values() {
        let called = match arena.node(value) {
            Node::Global(_) => value,
            Node::Call(call) => call.callable,
            _ => continue,
        };
        let Some((module, name)) = arena.global(called) else { continue };
        let at = *places.entry((module, name)).or_insert_with(|| {
            out.push(GlobalUse {
                module: module.to_owned(),
                name: name.to_owned(),
                offset: arena.offset(called) + stream.start as u64,
                record: stream.name.clone(),
                count: 0,
                allowed: AllowList::contains_by_default(&format!("{module}.{name}")),
            });
            out.len() - 1
        });
        out[at].count += usize::from(called != value);
    }
    out
}

fn row(global: &GlobalUse) -> Row<'_> {
    Row {
        name: global.full_name(),
        module: &global.module,
        attribute: &global.name,
        allowed: global.allowed,
        count: global.count,
        record: &global.record,
        offset: global.offset,
    }
}

fn summary(
    globals: &[GlobalUse],
    verdict: &Verdicts,
    file: &str,
    out: &mut Out,
) -> Result<(), Failure> {
    let outside = globals.iter().filter(|global| !global.allowed).count();
    let line = Line::new().add(Style::Strong, count(globals.len(), "global"));
    let line = match outside {
        0 => line.dim(" · ").add(Style::Good, "all allow-listed"),
        n => line.dim(" · ").add(Style::Warn, format!("{n} not allow-listed")),
    };
    out.line(&line)?;
    match &verdict.message {
        None => out.line(
            &Line::new()
                .add(Style::Good, "✓")
                .plain(" torch.load(weights_only=True) accepts the file"),
        ),
        Some(message) => {
            let mut lines = message.lines().filter(|line| !line.trim().is_empty());
            let first = lines.next().unwrap_or_default().trim();
            let line = Line::new()
                .add(Style::Bad, "✗")
                .plain(" torch.load(weights_only=True) refuses it: ");
            out.line(&line.plain(first))?;
            for rest in lines {
                out.line(&Line::new().plain("  ").plain(rest.trim()))?;
            }
            if outside > 0 {
                let text = format!("  if you trust its author: sconce globals --python {file}");
                out.line(&Line::new().dim(text))?;
            }
            Ok(())
        }
    }
}

/// The imports and the call that allow what is not allowed yet; `None` where nothing is missing.
/// Names that are no Python identifiers cannot be written so and are left as a comment.
fn python(globals: &[GlobalUse]) -> Option<String> {
    let outside: Vec<&GlobalUse> = globals.iter().filter(|global| !global.allowed).collect();
    if outside.is_empty() {
        return None;
    }
    let (sound, odd): (Vec<_>, Vec<_>) = outside
        .into_iter()
        .partition(|global| is_dotted(&global.module) && is_dotted(&global.name));
    let mut imports: BTreeSet<&str> = sound
        .iter()
        .map(
            |global| {
                if global.module == "__builtin__" { "builtins" } else { global.module.as_str() }
            },
        )
        .collect();
    imports.insert("torch");
    let mut text: String = imports.iter().map(|module| format!("import {module}\n")).collect();
    for global in odd {
        text.push_str(&format!("# no Python name: {:?}\n", global.full_name()));
    }
    let names: Vec<String> = sound.iter().map(|global| global.full_name()).collect();
    text.push_str(&format!("\ntorch.serialization.add_safe_globals([{}])\n", names.join(", ")));
    Some(text)
}

fn is_dotted(name: &str) -> bool {
    const KEYWORDS: [&str; 35] = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
        "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
        "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
        "try", "while", "with", "yield",
    ];
    let part = |part: &str| {
        let mut chars = part.chars();
        let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') && !KEYWORDS.contains(&part)
    };
    name.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn global(module: &str, name: &str, allowed: bool) -> GlobalUse {
        let (module, name, record) = (module.to_owned(), name.to_owned(), "data.pkl".to_owned());
        GlobalUse { module, name, offset: 0, record, count: 1, allowed }
    }

    #[test]
    fn python_that_allows_what_is_missing() {
        let globals = [
            global("torch", "FloatStorage", true),
            global("models.yolo", "Model", false),
            global("argparse", "Namespace", false),
        ];
        assert_eq!(
            python(&globals).unwrap(),
            "import argparse\nimport models.yolo\nimport torch\n\n\
             torch.serialization.add_safe_globals([models.yolo.Model, argparse.Namespace])\n"
        );
        assert_eq!(python(&globals[..1]), None);
    }

    #[test]
    fn names_cannot_smuggle_code() {
        let globals = [global("os\nimport x", "y", false), global("a", "b)]);f(", false)];
        let text = python(&globals).unwrap();
        assert_eq!(
            text,
            "import torch\n# no Python name: \"os\\nimport x.y\"\n\
             # no Python name: \"a.b)]);f(\"\n\ntorch.serialization.add_safe_globals([])\n"
        );
    }
}
