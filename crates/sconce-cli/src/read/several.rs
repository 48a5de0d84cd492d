//! A verb over several files.

use sconce::identify;
use sconce::source::MapMode;

use super::open::{self, Say};
use super::paths;
use crate::arguments::reading::{Input, Inputs};
use crate::error::{Outcome, Verdict};
use crate::output::{Line, Out, Style};

/// Does the same with each file. What fails is said, and the others have their turn. With several files each has a
/// heading, unless `headed` says that the verb names it itself; JSON is one document after the other.
///
/// The exit code is the worst: 2 where a file could not be read, else 1 where something was found.
pub fn each(
    inputs: &Inputs,
    headed: bool,
    out: &mut Out,
    say: Say,
    mut verb: impl FnMut(&Input, &mut Out) -> Verdict,
) -> Verdict {
    let mut files = Vec::new();
    for path in &inputs.files {
        files.extend(paths::expand(path, inputs.recursive));
    }
    // What lies in a folder beside models is not meant.
    files.retain(|found| {
        found.named
            || open::source(&found.path, MapMode::Private, &open::limits(&inputs.load))
                .map_or(true, |source| identify(&source).kind.opens())
    });
    let input = |file| Input { file, load: inputs.load.clone() };
    if let [only] = &files[..] {
        return verb(&input(only.path.clone()), out);
    }
    let mut worst = Outcome::Clean;
    for (at, found) in files.into_iter().enumerate() {
        let input = input(found.path);
        if !headed {
            if at > 0 {
                out.line(&Line::new())?;
            }
            out.line(&Line::new().dim("── ").add(Style::Strong, open::name(&input.file)))?;
        }
        let outcome = match verb(&input, out) {
            Ok(outcome) => outcome,
            // Nobody reads any more.
            Err(failure) if failure.is_pipe_closed() => return Err(failure),
            Err(failure) => {
                out.flush()?;
                failure.in_file(open::name(&input.file)).print(say.color);
                Outcome::Incomplete
            }
        };
        worst = worst.max(outcome);
    }
    Ok(worst)
}
