//! `sconce globals`: what classes and functions a file names, and what PyTorch says to them.

use std::collections::HashMap;

use sconce::checkpoint::{AllowList, ErrorKind, GlobalUse, Policy};
use sconce::pickle::{AllowAll, Machine, Node};
use serde::Serialize;

use super::SCHEMA_VERSION;
use super::safe_globals::{self, Needed};
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
            let Ok(streams) = streams::streams(&args.input.file, None, &open::limits(load)) else {
                return Err(failure);
            };
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
        match safe_globals::needed(globals, &source, load) {
            Needed::Lines(lines) => out.text(&lines)?,
            Needed::Nothing(why) if !say.quiet => {
                crate::error::remark(say.color, &Line::new().plain(why));
            }
            Needed::Nothing(_) => {}
        }
        return Ok(outcome);
    }
    let program = safe_globals::is_program(&source);
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
        summary(globals, &verdict, &file, program, out)?;
    }
    Ok(outcome)
}

/// The globals of a pickle up to where it ends or breaks off.
fn before_the_break(stream: &Stream) -> Vec<GlobalUse> {
    let mut machine = Machine::new(&stream.bytes[stream.start..], &stream.limits);
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
    program: bool,
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
            if outside > 0 && !program {
                let text = format!("  if you trust its author: sconce globals --python {file}");
                out.line(&Line::new().dim(text))?;
            }
            Ok(())
        }
    }
}
