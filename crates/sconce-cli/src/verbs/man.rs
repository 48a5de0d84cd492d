//! `sconce man`: the manual, as roff.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::error::{Failure, Outcome, Verdict};
use crate::output::Out;

/// `sconce man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write the page of every verb into this directory
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

pub fn run(args: &ManArgs, mut command: Command, out: &mut Out) -> Verdict {
    command.build();
    match &args.dir {
        None => out.raw(&page(command)?)?,
        Some(dir) => {
            let verbs: Vec<Command> = command
                .get_subcommands()
                .filter(|verb| verb.get_name() != "help")
                .cloned()
                .collect();
            write(dir, "sconce", command)?;
            for verb in verbs {
                let name = format!("sconce-{}", verb.get_name());
                write(dir, &name, verb.name(name.clone()))?;
            }
        }
    }
    Ok(Outcome::Clean)
}

fn page(command: Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let rendered = Man::new(command).render(&mut page);
    rendered.map_err(|error| Failure::unreadable(error.to_string()))?;
    Ok(page)
}

fn write(dir: &Path, name: &str, command: Command) -> Result<(), Failure> {
    let path = dir.join(format!("{name}.1"));
    let written = fs::create_dir_all(dir).and_then(|()| {
        let page =
            page(command).map_err(|failure| std::io::Error::other(failure.message().to_owned()))?;
        fs::write(&path, page)
    });
    written.map_err(|error| {
        Failure::unreadable(format!("cannot write: {error}")).in_file(path.to_string_lossy())
    })
}
