//! The verbs, a file each. A verb reads, prints to [`Out`] and gives back a verdict; it neither
//! exits nor touches the standard streams itself.

mod ast;
mod bench;
mod code;
mod compare;
mod completions;
mod convert;
mod diff;
mod diff_programs;
mod dis;
mod edit;
mod elements;
mod extract;
mod globals;
mod graph;
mod graph_dot;
mod graph_picture;
mod graph_svg;
mod identify;
mod info;
mod ls;
mod man;
mod merge;
mod ops;
mod program;
mod renamed;
mod resave;
mod resave_script;
mod result_json;
mod result_text;
mod rows;
mod run;
mod safe_globals;
mod safety;
mod scores;
mod script;
mod shard;
mod show;
mod stat;
mod streams;
mod trace;
mod tree;
mod verify;

use crate::cli::{Cli, Verb};
use crate::open::Say;
use crate::output::Out;
use crate::run::Verdict;

/// The version of every JSON document; fields are only ever added under one number.
pub const SCHEMA_VERSION: u32 = 1;

/// Does what the command line says.
pub fn run(cli: &Cli, out: &mut Out) -> Verdict {
    let say = Say { color: cli.global.color, quiet: cli.global.quiet };
    match &cli.verb {
        Verb::Info(args) => info::run(args, out, say),
        Verb::Identify(args) => identify::run(args, out, say),
        Verb::Ls(args) => ls::run(args, out, say),
        Verb::Tree(args) => tree::run(args, out, say),
        Verb::Show(args) => show::run(args, out, say),
        Verb::Stat(args) => stat::run(args, out, say),
        Verb::Diff(args) => diff::run(args, out, say),
        Verb::Convert(args) => convert::run(args, out, say),
        Verb::Edit(args) => edit::run(args, out, say),
        Verb::Shard(args) => shard::run(args, out, say),
        Verb::Merge(args) => merge::run(args, out, say),
        Verb::Code(args) => code::run(args, out),
        Verb::Graph(args) => graph::run(args, out),
        Verb::Ops(args) => ops::run(args, out),
        Verb::Run(args) => run::run(args, out, say),
        Verb::Bench(args) => bench::run(args, out, say),
        Verb::Compare(args) => compare::run(args, out, say),
        Verb::Script(args) => script::run(args, out, say),
        Verb::Ast(args) => ast::run(args, out),
        Verb::Resave(args) => resave_script::run(args, out, say),
        Verb::Extract(args) => extract::run(args, out),
        Verb::Verify(args) => verify::run(args, out, say),
        Verb::Dis(args) => dis::run(args, out),
        Verb::Trace(args) => trace::run(args, out),
        Verb::Globals(args) => globals::run(args, out, say),
        Verb::Completions(args) => completions::run(args, out),
        Verb::Man(args) => man::run(args, out),
    }
}
