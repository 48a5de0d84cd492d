//! Signatures in comments: `# type: (int, Tensor) -> Tensor`.

use std::sync::Arc;

use sconce_compiler::Error;
use sconce_syntax::ast::Decl;
use sconce_syntax::{Range, Source, SourceRange, parse_type_comment};

const PREFIX: &str = "# type:";

/// The type comment of a function, if it has one.
fn type_line(text: &str) -> Result<Option<String>, String> {
    let lines: Vec<&str> =
        text.split('\n').filter(|line| line.contains(PREFIX) && !is_ignore(line)).collect();
    match lines.as_slice() {
        [] => match text.split('\n').position(is_misspelt) {
            Some(line) => Err(format!(
                "The annotation prefix in line {line} is probably invalid.\nIt must be '# type:'\n\
                 See PEP 484 (https://www.python.org/dev/peps/pep-0484/#suggested-syntax-for-\
                 python-2-7-and-straddling-code)\nfor examples"
            )),
            None => Ok(None),
        },
        [only] => Ok(Some(only.trim().to_owned())),
        lines => {
            let returns = lines.iter().position(|line| line.contains("# type: (...) -> "));
            let Some(returns) = returns else {
                return Err(format!(
                    "Return type line '# type: (...) -> ...' not found on multiline type \
                     annotation\nfor type lines:\n{}\n(See PEP 484 \
                     https://www.python.org/dev/peps/pep-0484/#suggested-syntax-for-python-2-7-\
                     and-straddling-code)",
                    lines.join("\n")
                ));
            };
            let types = lines[..returns].iter().filter_map(|line| line.split_once(PREFIX));
            let types: Vec<&str> = types.map(|(_, ty)| ty.trim()).collect();
            Ok(Some(lines[returns].replace("...", &types.join(", "))))
        }
    }
}

/// `# type: ignore` or `# type: ignore[code]` at the end of a line.
fn is_ignore(line: &str) -> bool {
    let Some((_, rest)) = line.rsplit_once("# type: ignore") else { return false };
    let code = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    rest.is_empty()
        || code.is_some_and(|code| {
            !code.is_empty() && code.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
        })
}

/// A comment that begins as a type comment does but for its spaces.
fn is_misspelt(line: &str) -> bool {
    line.match_indices('#').any(|(at, _)| {
        let rest = line[at + 1..].trim_start_matches([' ', '\t']);
        let Some(rest) = rest.strip_prefix("type") else { return false };
        let colon = rest.trim_start_matches([' ', '\t']);
        let Some(after) = colon.strip_prefix(':') else { return false };
        !(after == " ignore" || (after.starts_with(" ignore[") && after.ends_with(']')))
    })
}

/// Gives a signature the types of its comment.
pub(super) fn merge(
    mut decl: Decl,
    text: &str,
    source: &Arc<Source>,
    is_method: bool,
) -> Result<Decl, Error> {
    let error =
        |message: String, at: Range| Error::new(message, SourceRange::new(Arc::clone(source), at));
    let Some(line) = type_line(text).map_err(|message| error(message, decl.range))? else {
        return Ok(decl);
    };
    // The line is parsed for itself; its places are looked for in the function's text.
    let comment = parse_type_comment(&Arc::new(Source::new(line.trim())))?;
    let skipped = usize::from(is_method);
    let expected = decl.params.len().saturating_sub(skipped);
    if expected != comment.params.len() {
        let found = comment.params.len();
        let kind = if is_method { "method" } else { "function" };
        let message = format!(
            "Number of type annotations ({found}) did not match the number of {kind} parameters \
             ({expected})"
        );
        return Err(error(message, decl.range));
    }
    for (param, typed) in decl.params.iter_mut().skip(skipped).zip(comment.params) {
        param.annotation = typed.annotation;
    }
    decl.returns = comment.returns;
    Ok(decl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_or_a_line_for_each_parameter() {
        let line = |text: &str| type_line(text).map(Option::unwrap_or_default);
        let cases = [
            ("def f(x):\n    # type: (int) -> int\n", "# type: (int) -> int"),
            ("def f(x):  # type: ignore\n    pass", ""),
            ("def f(x):  # type: ignore[no-any]\n    pass", ""),
            (
                "def f(x,  # type: int\n      y  # type: Tensor\n      ):\n    # type: (...) -> int",
                "    # type: (int, Tensor) -> int",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(line(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(type_line("def f(x):\n    #type: (int) -> int").is_err());
        assert!(type_line("x # type: int\ny # type: int").is_err());
    }
}
