//! What a repository's `hubconf.py` offers and gives, without Python: for trying it, and for conformance.
//!
//! `cargo run -p sconce-script --example hub -- list FOLDER`
//! `cargo run -p sconce-script --example hub -- help FOLDER ENTRY`
//! `cargo run -p sconce-script --example hub -- dependencies FOLDER`
//! `cargo run -p sconce-script --example hub -- load FOLDER ENTRY OUTPUT [ARGUMENT…]`
//!
//! Options in front: `--path FOLDER` (also imported from), `--files FOLDER` (has the files of URLs by
//! their last part, and other repositories as `owner_name`), `--steps COUNT`. `load` writes `OUTPUT.pth`, and
//! `OUTPUT.pt` where the class compiles.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use std::error::Error;
use std::path::PathBuf;

use sconce_checkpoint::StateDict;
use sconce_script::ScriptLimits;
use sconce_script::hub::{
    self, Arguments, Environment, Loaded, LoadedObject, Options, RepositoryRequest, UrlRequest,
};
use sconce_torchscript::SaveOptions;

type AnyError = Box<dyn Error + Send + Sync>;

/// Has files in a folder instead of on servers.
struct Files {
    folder: Option<PathBuf>,
    printed: String,
}

impl Files {
    fn find(&self, name: &str) -> Result<PathBuf, AnyError> {
        let folder = self.folder.as_ref().ok_or("no folder of files was given: --files FOLDER")?;
        match folder.join(name) {
            path if path.exists() => Ok(path),
            path => Err(format!("there is no {}", path.display()).into()),
        }
    }
}

impl Environment for Files {
    fn load_state_dict_from_url(&mut self, request: &UrlRequest) -> Result<PathBuf, AnyError> {
        let path = request.url.split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        self.find(request.file_name.as_deref().unwrap_or(name))
    }

    fn repository(&mut self, request: &RepositoryRequest) -> Result<PathBuf, AnyError> {
        let name = request.repository.split(':').next().unwrap_or_default();
        self.find(&name.replace('/', "_"))
    }

    fn print(&mut self, text: &str) {
        self.printed.push_str(text);
    }
}

fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let mut options = Options::new();
    let mut files = Files { folder: None, printed: String::new() };
    let mut words = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--path" => options = options.path(value()?),
            "--files" => files.folder = Some(value()?.into()),
            "--steps" => {
                let steps = value()?.parse()?;
                options = options.limits(ScriptLimits { steps, ..ScriptLimits::default() });
            }
            _ => words.push(argument),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = run(&words, &options, &mut files);
    eprint!("{}", files.printed);
    done
}

fn run(words: &[&str], options: &Options, files: &mut Files) -> Result<(), AnyError> {
    let report = |error: sconce_script::Error| -> AnyError { error.report().into() };
    match words {
        ["list", folder] => {
            let listing = hub::list(folder, options, files).map_err(report)?;
            for entry in listing.entries {
                let own = if entry.is_own { " own" } else { "" };
                let guessed = if entry.is_guessed { " guessed" } else { "" };
                println!("{}{own}{guessed}", entry.name);
            }
            for error in listing.not_followed {
                eprintln!("not followed: {}", error.report());
            }
        }
        ["help", folder, entry] => {
            let help = hub::help(folder, entry, options, files).map_err(report)?;
            println!("{entry}{}", help.signature.unwrap_or_default());
            print!("{}", help.documentation.unwrap_or_default());
        }
        ["dependencies", folder] => {
            let missing = hub::missing_dependencies(folder, options, files).map_err(report)?;
            missing.iter().for_each(|name| println!("{name}"));
        }
        ["load", folder, entry, output, arguments @ ..] => {
            let arguments = Arguments::parse(arguments).map_err(report)?;
            let loaded = hub::load(folder, entry, &arguments, options, files).map_err(report)?;
            write(loaded, output)?;
        }
        _ => return Err("usage: hub list|help|dependencies|load FOLDER …".into()),
    }
    Ok(())
}

fn write(loaded: Loaded, output: &str) -> Result<(), AnyError> {
    match loaded.object {
        LoadedObject::Module(module) => {
            println!("class {}", module.qualified_class_name());
            println!("training {}", module.is_training());
            match module.script() {
                Ok(scripted) => {
                    let path = format!("{output}.pt");
                    let saved = SaveOptions::new().replace(true).save(scripted.module(), path);
                    match saved {
                        Ok(()) => println!("compiled"),
                        Err(error) => println!("not saved: {error}"),
                    }
                }
                Err(error) => println!("not compiled: {}", error.message()),
            }
            let dict = module.state_dict().map_err(|error| error.report())?;
            dict.save(format!("{output}.pth"))?;
        }
        LoadedObject::Archive(path) => {
            println!("archive");
            std::fs::copy(path, format!("{output}.pt"))?;
        }
        LoadedObject::StateDict(tensors) => {
            println!("state dict");
            let mut dict = StateDict::new();
            for (name, tensor) in tensors {
                dict.insert(name, tensor);
            }
            dict.save(format!("{output}.pth"))?;
        }
        _ => return Err("this is nothing that can be written".into()),
    }
    loaded.rest.iter().for_each(|what| println!("also {what}"));
    Ok(())
}
