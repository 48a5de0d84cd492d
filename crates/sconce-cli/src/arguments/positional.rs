//! The arguments of a call by position: `--input` and `--shape`, in the order in which they stand.

use std::ffi::OsString;

use clap::builder::ValueParser;
use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// `--input`: a literal, a call that makes a tensor, or a file.
    Value(OsString),
    /// `--shape`: a float32 tensor of this size with numbers between 0 and 1.
    Shape(Vec<i64>),
}

/// All of them, in the order of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positional(pub Vec<Argument>);

const INPUT: &str = "input";
const SHAPE: &str = "shape";

/// The flags, for those that cannot stand beside them.
pub const FLAGS: [&str; 2] = [INPUT, SHAPE];

impl Args for Positional {
    fn augment_args(command: Command) -> Command {
        command
            .arg(
                Arg::new(INPUT)
                    .short('i')
                    .long(INPUT)
                    .value_name("VALUE")
                    .action(ArgAction::Append)
                    .allow_hyphen_values(true)
                    .value_parser(ValueParser::os_string())
                    .help(
                        "An argument: a Python literal, zeros(1,3), rand(2,2,dtype=float64), arange(9) or \
                         tensor([[1.5]]), a file (.pt, .npy, .npz, .safetensors, .png, .jpg, .wav), or - for a \
                         file on standard input (repeatable)",
                    ),
            )
            .arg(
                Arg::new(SHAPE)
                    .long(SHAPE)
                    .value_name("1x3x224x224")
                    .action(ArgAction::Append)
                    .value_parser(shape)
                    .help(
                        "An argument: a float32 tensor of this size with numbers between 0 and 1, as \
                         --input 'rand(1,3,224,224)' makes it (repeatable; in order with --input)",
                    ),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Positional::augment_args(command)
    }
}

impl FromArgMatches for Positional {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut all: Vec<(usize, Argument)> = Vec::new();
        let places = |id| matches.indices_of(id).into_iter().flatten();
        let values = matches.get_many::<OsString>(INPUT).into_iter().flatten();
        all.extend(places(INPUT).zip(values.cloned().map(Argument::Value)));
        let shapes = matches.get_many::<Vec<i64>>(SHAPE).into_iter().flatten();
        all.extend(places(SHAPE).zip(shapes.cloned().map(Argument::Shape)));
        all.sort_by_key(|(place, _)| *place);
        Ok(Positional(all.into_iter().map(|(_, argument)| argument).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Positional::from_arg_matches(matches)?;
        Ok(())
    }
}

/// `1x3x224x224`; nothing for a tensor without dimensions.
fn shape(text: &str) -> Result<Vec<i64>, String> {
    let sizes = text.split('x').filter(|size| !size.is_empty());
    let sizes: Option<Vec<i64>> =
        sizes.map(|size| size.parse().ok().filter(|size| *size >= 0)).collect();
    sizes.ok_or_else(|| "sizes with an x between them, such as 1x3x224x224".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_the_order_of_the_command_line() {
        let command = Positional::augment_args(Command::new("run"));
        let line = ["run", "--shape", "1x3", "-i", "-3", "--input=x.npy", "--shape="];
        let matches = command.try_get_matches_from(line).unwrap();
        let found = Positional::from_arg_matches(&matches).unwrap();
        let value = |text: &str| Argument::Value(text.into());
        let want =
            [Argument::Shape(vec![1, 3]), value("-3"), value("x.npy"), Argument::Shape(vec![])];
        assert_eq!(found.0, want);
        assert!(shape("1x-3").is_err() && shape("1xb").is_err());
    }
}
