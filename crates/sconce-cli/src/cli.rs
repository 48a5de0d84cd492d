//! The command line: the verbs, and the flags that all of them take.

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::error::Verdict;
use crate::examples;
use crate::output::{ColorChoice, Out};
use crate::read::open::Say;
use crate::read::remote;
#[cfg(feature = "hub")]
use crate::verbs::hub;
use crate::verbs::{
    ast, bench, clean, code, compare, completions, convert, diff, dis, edit, extract, globals,
    graph, identify, info, ls, man, merge, ops, pickle, resave, run, scan, script, shard, show,
    stat, trace, tree, verify,
};

/// PyTorch's files at a shell, without PyTorch: look into any .pt, .pth, .bin or .ckpt, compare,
/// convert and verify it, run TorchScript programs. Only run, bench and compare execute anything: a
/// program that you name, in an interpreter without access to files, processes or the network.
///
/// `sconce FILE` shows a card of one screen. A file named like a verb is `./ls`.
#[derive(Debug, Parser)]
#[command(name = "sconce", version, arg_required_else_help = true, subcommand_required = true)]
#[command(
    after_long_help = "Exit codes: 0 fine, 1 a finding or a difference, 2 the file cannot be \
read, 3 wrong usage, 130 interrupted (143 by SIGTERM, 129 by SIGHUP).\n\nEnvironment: NO_COLOR, CLICOLOR_FORCE, SCONCE_PAGER (empty: \
none), PAGER, SCONCE_COLOR, SCONCE_NO_PAGER, SCONCE_BYTES, SCONCE_QUIET, SCONCE_NO_CACHE, SCONCE_CACHE_DIR."
)]
pub struct Cli {
    /// Flags of every verb.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Flags that every verb takes.
#[derive(Debug, Args)]
pub struct Global {
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    #[arg(env = "SCONCE_COLOR", hide_env = true, help_heading = "Global options")]
    pub color: ColorChoice,
    /// Do not send long output through a pager
    #[arg(short = 'P', long, global = true, env = "SCONCE_NO_PAGER", hide_env = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Global options")]
    pub no_pager: bool,
    /// Print sizes as exact numbers of bytes
    #[arg(long, global = true, env = "SCONCE_BYTES", hide_env = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Global options")]
    pub bytes: bool,
    /// Do not cut tables and lines to the terminal's width
    #[arg(short = 'W', long, global = true, env = "SCONCE_WIDE", hide_env = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Global options")]
    pub wide: bool,
    /// Suppress progress and notes
    #[arg(short, long, global = true, env = "SCONCE_QUIET", hide_env = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Global options")]
    pub quiet: bool,
    /// Keep nothing of addresses on disk, and use nothing that was kept
    #[arg(long, global = true, env = "SCONCE_NO_CACHE", hide_env = true, hide_short_help = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Global options")]
    pub no_cache: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show what a file is on one screen (also: sconce FILE)
    Info(info::InfoArgs),
    /// Say what files are, by their content
    Identify(identify::IdentifyArgs),
    /// List the tensors
    Ls(ls::LsArgs),
    /// Show the structure as a tree
    Tree(tree::TreeArgs),
    /// Show a tensor: values, statistics, histogram
    #[command(visible_alias = "cat")]
    Show(show::ShowArgs),
    /// Compute statistics of every tensor
    Stat(stat::StatArgs),
    /// Compare two files
    Diff(diff::DiffArgs),
    /// Convert between .pt, .safetensors, .npz and .npy, and between the versions of .pt
    Convert(convert::ConvertArgs),
    /// Change a checkpoint: set, rename, drop, keep, split, join, cast, transpose, clone views
    Edit(edit::EditArgs),
    /// Write what of a checkpoint can be proven harmless: tensors and plain values
    Clean(clean::CleanArgs),
    /// Split a state dict into files of limited size with an index, as Hugging Face's libraries do
    Shard(shard::ShardArgs),
    /// Put several state dicts into one
    Merge(merge::MergeArgs),
    /// Show the program of a TorchScript archive, or one class, function or method of it
    Code(code::CodeArgs),
    /// Show the graph of a TorchScript method, as PyTorch prints it
    Graph(graph::GraphArgs),
    /// List the operators that a TorchScript program uses
    Ops(ops::OpsArgs),
    /// Run a TorchScript program
    Run(run::RunArgs),
    /// Measure how long a TorchScript program takes, and where
    Bench(bench::BenchArgs),
    /// Run a TorchScript program on saved arguments and compare the result with a saved one
    Compare(compare::CompareArgs),
    /// Compile a Python function or nn.Module to TorchScript, as torch.jit.script does
    Script(script::ScriptArgs),
    /// Print the syntax tree of a file of TorchScript source or of a Python function
    Ast(ast::AstArgs),
    /// Load a TorchScript archive or a checkpoint and save it again, as PyTorch would
    Resave(resave::ResaveArgs),
    /// Take the raw records out of an archive
    Extract(extract::ExtractArgs),
    /// Check every byte of a file
    Verify(verify::VerifyArgs),
    /// Say what files would do when they are loaded: clean, unknown, broken or dangerous
    Scan(scan::ScanArgs),
    /// List the opcodes of a pickle, as python -m pickletools does
    Dis(dis::DisArgs),
    /// Show a pickle as the Python that would build its objects
    Pickle(pickle::PickleArgs),
    /// Run a pickle step by step on inert values
    Trace(trace::TraceArgs),
    /// List the classes and functions that a file names
    Globals(globals::GlobalsArgs),
    /// torch.hub: its cache, downloads and repositories
    #[cfg(feature = "hub")]
    Hub(hub::HubArgs),
    /// Print the completions of a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page
    Man(man::ManArgs),
}

/// Does what the command line says.
pub fn run(cli: &Cli, out: &mut Out) -> Verdict {
    let say = Say { color: cli.global.color, quiet: cli.global.quiet };
    remote::set_no_cache(cli.global.no_cache);
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
        Verb::Clean(args) => clean::run(args, out, say),
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
        Verb::Resave(args) => resave::run(args, out, say),
        Verb::Extract(args) => extract::run(args, out),
        Verb::Verify(args) => verify::run(args, out, say),
        Verb::Scan(args) => scan::run(args, out, say),
        Verb::Dis(args) => dis::run(args, out),
        Verb::Pickle(args) => pickle::run(args, out),
        Verb::Trace(args) => trace::run(args, out, say),
        Verb::Globals(args) => globals::run(args, out, say),
        #[cfg(feature = "hub")]
        Verb::Hub(args) => hub::run(args, out, say),
        Verb::Completions(args) => completions::run(args, Cli::command(), out),
        Verb::Man(args) => man::run(args, examples::add(Cli::command()), out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
