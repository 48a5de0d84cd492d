//! The lines of Python after which `torch.load(weights_only=True)` takes a file.

use std::collections::BTreeSet;

use sconce::checkpoint::{AllowList, ErrorKind, GlobalUse, Policy};
use sconce::pickle::repr::is_dotted_name;
use sconce::scan::{Finding, Report, Rule, Verdict, why_dangerous};
use sconce::{Source, identify};

use crate::arguments::reading::Load;
use crate::read::open;

/// What `torch.load(weights_only=True)` needs to take a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Needed {
    /// These lines of Python first, as far as any help.
    Lines(String),
    /// Nothing that a list of names could give; why, for the person who asked.
    Nothing(&'static str),
    /// A list that would let the file run code or reach outside; what for, line by line.
    Refused(Vec<String>),
}

/// Classes that come to light one by one, at most: numpy has some twenty of dtypes.
const MOST_HIDDEN: usize = 32;

/// What a file that names `globals` needs. The policy is asked what it says of the file once they are
/// allowed: classes that a pickle does not name, such as those of numpy's dtypes, are refused only then,
/// and some things no list allows.
pub fn needed(report: &Report, source: &Source, load: &Load) -> Needed {
    if is_program(source) {
        return Needed::Nothing(
            "torch.load(weights_only=True) takes no TorchScript archives; torch.jit.load needs no list",
        );
    }
    let outside: Vec<&GlobalUse> = report.globals.iter().filter(|global| !global.allowed).collect();
    let refused = refused(report, &outside);
    if !refused.is_empty() {
        return Needed::Refused(refused);
    }
    if outside.is_empty() {
        return Needed::Nothing(
            "every global is allow-listed: torch.load(weights_only=True) needs nothing more",
        );
    }
    let mut names: Vec<String> = outside.iter().map(|global| global.full_name()).collect();
    let mut hidden: Vec<(&'static str, String)> = Vec::new();
    let refusal = loop {
        let allowed: Vec<&str> = names.iter().map(String::as_str).collect();
        let options = open::options(load).allow_list(AllowList::default().scoped(&allowed));
        let Err(error) = options.policy(Policy::WeightsOnly).open_source(source.clone()) else {
            break None;
        };
        if error.kind() != ErrorKind::Refused {
            break None;
        }
        let Some(name) = dtype_class(error.message()) else {
            break Some(error.message().to_owned());
        };
        let full = format!("{DTYPES}.{name}");
        if hidden.len() == MOST_HIDDEN || names.contains(&full) {
            break Some(error.message().to_owned());
        }
        hidden.push((DTYPES, name.to_owned()));
        names.push(full);
    };
    let named = outside.iter().map(|global| (global.module.as_str(), global.name.as_str()));
    let hidden = hidden.iter().map(|(module, name)| (*module, name.as_str()));
    Needed::Lines(lines(named.chain(hidden), refusal.as_deref()))
}

/// Why no list of names is right: what it would have to allow, and what no name stands for.
fn refused(report: &Report, outside: &[&GlobalUse]) -> Vec<String> {
    const MOST: usize = 10;
    let place = |record: &str, offset: u64| match record {
        "" => format!("@ {offset:#x}"),
        record => format!("{record} @ {offset:#x}"),
    };
    let mut lines = Vec::new();
    for global in outside {
        if let Some(reason) = why_dangerous(&global.module, &global.name) {
            let place = place(&global.record, global.offset);
            lines.push(format!("  {}: {reason} ({place})", global.full_name()));
        }
    }
    let said = |finding: &&Finding| {
        let named = matches!(finding.rule, Rule::DangerousCall | Rule::DangerousGlobal);
        let severe = finding.severity() == Verdict::Dangerous && !named;
        severe || matches!(finding.rule, Rule::Extension | Rule::ComputedCallable)
    };
    for finding in report.findings.iter().filter(said) {
        let what = finding.global.as_deref().or(finding.call.as_deref()).unwrap_or("a name");
        let place = place(&finding.entry, finding.offset.unwrap_or_default());
        lines.push(format!("  {what}: {} ({place})", finding.reason));
    }
    if lines.is_empty() {
        return lines;
    }
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!("  … {more} more"));
    }
    let first =
        "no list of names is right for this file, since it would have to allow what is not data:";
    lines.insert(0, first.to_owned());
    lines
}

/// Whether this is a TorchScript archive.
pub fn is_program(source: &Source) -> bool {
    identify(source).kind.is_torchscript()
}

const DTYPES: &str = "numpy.dtypes";

/// The class of numpy's dtypes that a refusal names.
fn dtype_class(message: &str) -> Option<&str> {
    let (_, class) = message.split_once("<class 'numpy.dtypes.")?;
    let (name, _) = class.split_once("'>")?;
    is_dotted_name(name).then_some(name)
}

/// The imports and the call that allow these, and what is refused even so. Names that are no Python
/// identifiers cannot be written so and are left as a comment.
fn lines<'a>(names: impl Iterator<Item = (&'a str, &'a str)>, refusal: Option<&str>) -> String {
    let mut imports = BTreeSet::from(["torch".to_owned()]);
    let mut odd = String::new();
    let mut listed: Vec<String> = Vec::new();
    for (module, name) in names {
        if !is_dotted_name(module) || !is_dotted_name(name) {
            odd.push_str(&format!("# no Python name: {:?}\n", format!("{module}.{name}")));
            continue;
        }
        let (home, full) = match module.strip_prefix("numpy.core.") {
            // numpy 2 moved it, and PyTorch goes by the name in the file.
            Some(rest) => {
                let home = format!("numpy._core.{rest}");
                let full = format!("({home}.{name}, '{module}.{name}')");
                (home, full)
            }
            None => {
                let home = if module == "__builtin__" { "builtins" } else { module };
                (home.to_owned(), format!("{home}.{name}"))
            }
        };
        imports.insert(home);
        listed.push(full);
    }
    let mut text: String = imports.iter().map(|module| format!("import {module}\n")).collect();
    text.push_str(&odd);
    text.push_str(&format!("\ntorch.serialization.add_safe_globals([{}])\n", listed.join(", ")));
    if let Some(refusal) = refusal {
        text.push_str("# No list is enough for this file. With these allowed it is refused for another reason:\n");
        for line in refusal.lines().map(str::trim).filter(|line| !line.is_empty()) {
            text.push_str(&format!("#   {line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_allow_what_is_missing() {
        let names = [("models.yolo", "Model"), ("argparse", "Namespace")];
        assert_eq!(
            lines(names.into_iter(), None),
            "import argparse\nimport models.yolo\nimport torch\n\n\
             torch.serialization.add_safe_globals([models.yolo.Model, argparse.Namespace])\n"
        );
    }

    #[test]
    fn what_numpy_moved_is_allowed_under_its_name_in_the_file() {
        assert_eq!(
            lines([("numpy.core.multiarray", "scalar")].into_iter(), None),
            "import numpy._core.multiarray\nimport torch\n\n\
             torch.serialization.add_safe_globals([\
             (numpy._core.multiarray.scalar, 'numpy.core.multiarray.scalar')])\n"
        );
    }

    #[test]
    fn what_no_list_allows_is_said() {
        let text =
            lines([("m", "Dict")].into_iter(), Some("Can only SETITEMS for dict\n\nbut got Dict"));
        let said = "# No list is enough for this file. With these allowed it is refused for another reason:\n\
                    #   Can only SETITEMS for dict\n#   but got Dict\n";
        assert!(text.ends_with(said), "{text}");
    }

    #[test]
    fn names_cannot_smuggle_code() {
        let names = [("os\nimport x", "y"), ("a", "b)]);f(")];
        assert_eq!(
            lines(names.into_iter(), None),
            "import torch\n# no Python name: \"os\\nimport x.y\"\n\
             # no Python name: \"a.b)]);f(\"\n\ntorch.serialization.add_safe_globals([])\n"
        );
    }
}
