//! From the command line to a verb to an exit code.

use std::env;
use std::ffi::{OsStr, OsString};
use std::panic::{self, PanicHookInfo};
use std::path::Path;
use std::process::ExitCode;

use clap::{ColorChoice as ClapColor, CommandFactory, FromArgMatches};

use crate::cli::{self, Cli};
use crate::error::Failure;
use crate::examples;

use crate::output::{ColorChoice, Out, OutOptions};
#[cfg(target_os = "linux")]
use crate::process::fault;
use crate::process::{exit, interrupt};
use crate::select::suggest;

const USAGE: u8 = 3;

/// How a verb is called by a program: plainly.
pub const OPTIONS_OF_A_CALL: OutOptions = OutOptions {
    color: ColorChoice::Never,
    no_pager: true,
    wide: true,
    exact_sizes: false,
    quiet: true,
};

/// Runs the program. Whatever happens inside, the exit code is 0 to 3, or 128 and the number of a signal.
pub fn main() -> ExitCode {
    ExitCode::from(main_from(env::args_os().collect()))
}

/// [`main`] for whoever reads the command line and ends the process: `args` begin with the name of the program. Sets
/// handlers of signals and a panic hook, so that nothing else is to run in this process.
pub fn main_from(args: Vec<OsString>) -> u8 {
    let color = early_color(&args);
    panic::set_hook(Box::new(move |info| end_after_panic(info, color)));
    interrupt::install();
    #[cfg(target_os = "linux")]
    fault::install();
    command(args, color)
}

/// Reports a panic, and ends the process from whichever thread it is in.
fn end_after_panic(info: &PanicHookInfo<'_>, color: ColorChoice) {
    let failure = Failure::unreadable("internal error, please report")
        .note(info.to_string())
        .help("say which command and, if you may, which file; sconce should never do this");
    exit::end(&failure, color)
}

fn command(args: Vec<OsString>, color: ColorChoice) -> u8 {
    let clap_color = match color {
        ColorChoice::Auto => ClapColor::Auto,
        ColorChoice::Always => ClapColor::Always,
        ColorChoice::Never => ClapColor::Never,
    };
    if let Some(failure) = mistyped_verb(&args) {
        failure.print(color);
        return failure.code();
    }
    let parser = examples::add(Cli::command()).color(clap_color);
    let parsed = parser.try_get_matches_from(with_verb(args));
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed standard stream is all that can fail here.
            drop(error.print());
            return if error.use_stderr() { USAGE } else { 0 };
        }
    };
    let options = OutOptions {
        color: cli.global.color,
        no_pager: cli.global.no_pager,
        wide: cli.global.wide,
        exact_sizes: cli.global.bytes,
        quiet: cli.global.quiet,
    };
    let mut out = Out::new(options);
    let result = cli::run(&cli, &mut out);
    // What was printed before an error must come out before it.
    let flushed = out.finish();
    match result.and_then(|outcome| flushed.map(|()| outcome)) {
        Ok(outcome) => outcome.code(),
        Err(failure) => {
            failure.print(cli.global.color);
            failure.code()
        }
    }
}

/// `--color` must be known before the command line is understood, for the parser's own messages.
fn early_color(args: &[OsString]) -> ColorChoice {
    let mut args = args.iter().skip(1).filter_map(|arg| arg.to_str());
    while let Some(arg) = args.next() {
        let value = match arg.strip_prefix("--color") {
            Some("") => args.next(),
            Some(value) => value.strip_prefix('='),
            None if arg == "--" => break,
            None => continue,
        };
        match value {
            Some("always") => return ColorChoice::Always,
            Some("never") => return ColorChoice::Never,
            _ => {}
        }
    }
    ColorChoice::Auto
}

/// Where the first word is that is no flag: a verb or a file. `None` where the flags ask for help or the version.
fn first_word(args: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(arg) = args.get(at) {
        match arg.to_str() {
            Some("--help" | "-h" | "--version" | "-V") => return None,
            Some("--color") => at += 1,
            Some("-" | "--") | None => break,
            Some(flag) if flag.starts_with('-') => {}
            Some(_) => break,
        }
        at += 1;
    }
    (at < args.len()).then_some(at)
}

fn is_verb(word: &str) -> bool {
    word == "help" || Cli::command().find_subcommand(word).is_some()
}

/// Makes `sconce FILE` mean `sconce info FILE`.
pub fn with_verb(mut args: Vec<OsString>) -> Vec<OsString> {
    if let Some(at) = first_word(&args)
        && !args[at].to_str().is_some_and(is_verb)
    {
        // Flags of `info` may stand before the file too.
        let first_flag = (1..at).find(|&at| !is_global_flag(&args, at)).unwrap_or(at);
        args.insert(first_flag, OsString::from("info"));
    }
    args
}

fn is_global_flag(args: &[OsString], at: usize) -> bool {
    let is = |at: usize, text: &str| args.get(at).is_some_and(|arg| arg == OsStr::new(text));
    is(at, "--color") || (at > 1 && is(at - 1, "--color"))
}

/// What to say of a first word that is neither a verb nor a file, where it was meant as a verb: it is close to one, or
/// other words follow.
fn mistyped_verb(args: &[OsString]) -> Option<Failure> {
    let at = first_word(args)?;
    let word = args[at].to_str()?;
    let is_plain = |byte: u8| byte.is_ascii_alphabetic() || byte == b'-';
    let could_be_one = !word.starts_with('-') && word.bytes().all(is_plain);
    if !could_be_one || is_verb(word) || Path::new(word).exists() {
        return None;
    }
    let command = Cli::command();
    let verbs: Vec<&str> = command.get_subcommands().map(|verb| verb.get_name()).collect();
    match suggest::closest(word, verbs.iter().copied(), 1).first() {
        Some(verb) => Some(Failure::usage(format!("no verb '{word}'; did you mean '{verb}'?"))),
        None => {
            args.get(at + 1)?;
            let failure = Failure::usage(format!("no verb and no file '{word}'"));
            Some(failure.help("sconce --help lists the verbs"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_bare_file_means_info() {
        let cases = [
            ("sconce model.pt", "sconce info model.pt"),
            ("sconce -", "sconce info -"),
            ("sconce --color never model.pt", "sconce --color never info model.pt"),
            ("sconce --json model.pt", "sconce info --json model.pt"),
            ("sconce ./ls", "sconce info ./ls"),
            ("sconce ls", "sconce ls"),
            ("sconce --color never ls x", "sconce --color never ls x"),
            ("sconce -q ls x", "sconce -q ls x"),
            ("sconce --help", "sconce --help"),
            ("sconce help ls", "sconce help ls"),
            ("sconce", "sconce"),
            ("sconce -- ls", "sconce info -- ls"),
        ];
        for (line, want) in cases {
            assert_eq!(with_verb(words(line)), words(want), "{line}");
        }
    }

    #[test]
    fn a_mistyped_verb_suggests_the_right_one() {
        let said =
            |line: &str| mistyped_verb(&words(line)).map(|failure| failure.message().to_owned());
        let expected = "no verb 'convrt'; did you mean 'convert'?";
        assert_eq!(said("sconce convrt a.pt b.pt").as_deref(), Some(expected));
        assert_eq!(said("sconce -q sl").as_deref(), Some("no verb 'sl'; did you mean 'ls'?"));
        assert_eq!(
            said("sconce frobnicate a.pt").as_deref(),
            Some("no verb and no file 'frobnicate'")
        );
        // A file that is not there.
        assert_eq!(said("sconce frobnicate"), None);
        assert_eq!(said("sconce convrt.pt"), None);
        assert_eq!(said("sconce --color never ls x"), None);
    }

    #[test]
    fn colour_is_known_early() {
        assert_eq!(early_color(&words("sconce --color=never x")), ColorChoice::Never);
        assert_eq!(early_color(&words("sconce ls --color always")), ColorChoice::Always);
        assert_eq!(early_color(&words("sconce -- --color always")), ColorChoice::Auto);
    }
}
