//! TorchScript code: which operators it names.
//!
//! Sources are read by the lexer that the compiler reads them with. Operators are names below `torch`
//! (`aten::`) and `ops` (`ops.image.read_file`); the two can be given other names by an assignment, so code
//! that uses them as values is taken for naming every operator whose last part it mentions.

use std::collections::BTreeMap;
use std::sync::Arc;

use sconce_ir::operators::{self, forbidden};
use sconce_syntax::{Lexer, Source, TokenKind};

use crate::report::{Finding, Rule, Sink, shortened};

/// What a source names.
#[derive(Default)]
struct Mentions {
    /// Symbols such as `aten::save`, with the first place and how often.
    operators: BTreeMap<String, (u64, usize)>,
    /// Attributes of anything, with the first place.
    attributes: BTreeMap<String, u64>,
    /// Where `torch` or `ops` stands for itself.
    namespace: Option<u64>,
}

/// Calls that the compiler has forms for, by their names as operators.
static FORMS: &[(&str, &str)] = &[
    ("rpc_async", "prim::rpc_async"),
    ("rpc_remote", "prim::rpc_remote"),
    ("rpc_sync", "prim::rpc_sync"),
];

/// Adds what a source names to `sink`. `certain` says that it is a source, and not something else that
/// might be one.
pub(crate) fn examine(text: &str, entry: &str, certain: bool, sink: &mut Sink) {
    let source = Arc::new(Source::new(text));
    let mentions = match mentions(&source) {
        Ok(mentions) => mentions,
        Err((mentions, message)) => {
            if certain {
                sink.add(Finding::new(Rule::BrokenCode, entry, message));
            }
            mentions
        }
    };
    for (symbol, &(at, count)) in &mentions.operators {
        if let Some(reason) = forbidden::reason(symbol) {
            add(Rule::ForbiddenOperator, symbol, reason, at, count, entry, sink);
        } else if !is_known(symbol) {
            let reason =
                "an operator of another library, without which PyTorch refuses the program";
            add(Rule::CustomOperator, symbol, reason, at, count, entry, sink);
        }
    }
    if mentions.namespace.is_some() {
        for (attribute, &at) in &mentions.attributes {
            if forbidden::has_member(attribute) {
                let reason = "the code gives the operators another name, and then mentions one that \
                              reaches outside";
                add(Rule::ForbiddenOperator, attribute, reason, at, 1, entry, sink);
            }
        }
    }
}

/// Adds the operators that a mobile program lists by name.
pub(crate) fn operator_name(symbol: &str, offset: u64, entry: &str, sink: &mut Sink) {
    if let Some(reason) = forbidden::reason(symbol) {
        add(Rule::ForbiddenOperator, symbol, reason, offset, 1, entry, sink);
    }
}

fn add(
    rule: Rule,
    operator: &str,
    reason: &str,
    at: u64,
    count: usize,
    entry: &str,
    sink: &mut Sink,
) {
    let mut finding = Finding::new(rule, entry, reason).global(shortened(operator)).at(at);
    finding.count = count;
    sink.add(finding);
}

/// Whether it is one of PyTorch's operators, or none at all but a type or constant below `torch`.
fn is_known(symbol: &str) -> bool {
    symbol.starts_with("aten::")
        || symbol.starts_with("prim::")
        || !operators::named(symbol).is_empty()
}

fn mentions(source: &Arc<Source>) -> Result<Mentions, (Mentions, String)> {
    let mut found = Mentions::default();
    let mut lexer = match Lexer::new(source) {
        Ok(lexer) => lexer,
        Err(error) => return Err((found, shortened(&error.to_string()))),
    };
    // Whether the token before was a dot: what follows is an attribute and no name of its own.
    let mut after_dot = false;
    while lexer.current().kind != TokenKind::Eof {
        let token = lexer.current();
        let (is_name, text) = (token.kind == TokenKind::Ident, lexer.text(token.range));
        let at = u64::from(token.range.start);
        if let Err(error) = lexer.advance() {
            return Err((found, shortened(&error.to_string())));
        }
        if !is_name {
            after_dot = token.kind == TokenKind::Dot;
            continue;
        }
        if after_dot {
            found.attribute(text, at);
            after_dot = false;
            continue;
        }
        if let Some((_, symbol)) = FORMS.iter().find(|(name, _)| *name == text)
            && lexer.current().kind == TokenKind::LeftParen
        {
            found.operator((*symbol).to_owned(), at);
        }
        if text != "torch" && text != "ops" {
            continue;
        }
        // The attributes that follow: `torch.save`, `ops.image.read_file`.
        let mut chain: Vec<&str> = Vec::new();
        while lexer.current().kind == TokenKind::Dot && chain.len() < 8 {
            if let Err(error) = lexer.advance() {
                return Err((found, shortened(&error.to_string())));
            }
            let token = lexer.current();
            if token.kind != TokenKind::Ident {
                break;
            }
            chain.push(lexer.text(token.range));
            found.attribute(lexer.text(token.range), u64::from(token.range.start));
            if let Err(error) = lexer.advance() {
                return Err((found, shortened(&error.to_string())));
            }
        }
        match (text, &chain[..]) {
            ("torch", []) | ("ops", [] | [_]) => {
                // A keyword argument or a parameter of that name is none of them.
                if !matches!(lexer.current().kind, TokenKind::Equal | TokenKind::Colon) {
                    found.namespace.get_or_insert(at);
                }
            }
            ("torch", chain) => {
                // `torch.autograd.save` is `aten::save`, too.
                let last = if let ["autograd", name, ..] = chain { name } else { chain[0] };
                found.operator(format!("aten::{last}"), at);
                if let ["ops", namespace, name, ..] = chain {
                    found.operator(format!("{namespace}::{name}"), at);
                }
            }
            (_, chain) => found.operator(format!("{}::{}", chain[0], chain[1]), at),
        }
    }
    Ok(found)
}

impl Mentions {
    fn operator(&mut self, symbol: String, at: u64) {
        self.operators.entry(symbol).or_insert((at, 0)).1 += 1;
    }

    fn attribute(&mut self, name: &str, at: u64) {
        if !self.attributes.contains_key(name) {
            self.attributes.insert(name.to_owned(), at);
        }
    }
}

#[cfg(test)]
mod tests {
    use sconce_checkpoint::FileKind;

    use super::*;
    use crate::Verdict;

    fn found(text: &str) -> Vec<(Rule, String)> {
        let mut sink = Sink::default();
        examine(text, "code/a.py", true, &mut sink);
        let report = sink.finish(FileKind::TorchScript);
        let only_remarks =
            report.findings.iter().all(|finding| finding.rule == Rule::CustomOperator);
        assert_eq!(report.verdict == Verdict::Clean, only_remarks);
        let pairs = report.findings.into_iter();
        pairs.map(|finding| (finding.rule, finding.global.unwrap_or_default())).collect()
    }

    #[test]
    fn forbidden_operators() {
        let cases = [
            ("def f(x):\n  torch.save(x, \"f\")\n", "aten::save"),
            ("def f():\n  return torch.from_file(\"f\")\n", "aten::from_file"),
            ("def f():\n  return ops.image.read_file(\"f\")\n", "image::read_file"),
            ("def f():\n  return ops.aten.from_file(\"f\")\n", "aten::from_file"),
            ("def f():\n  return torch.autograd.save(1, \"f\")\n", "aten::save"),
            ("def f():\n  return rpc_sync(\"to\", g, (1,))\n", "prim::rpc_sync"),
            ("def f(x):\n  return ops.c10d.allreduce_(x)\n", "c10d::allreduce_"),
            // Under another name.
            ("def f(x):\n  t = torch\n  t.save(x, \"f\")\n", "save"),
            ("def f(x):\n  return (torch).save(x, \"f\")\n", "save"),
            ("def f():\n  o = ops.image\n  return o.write_file(\"f\")\n", "write_file"),
            ("def f(x):\n  g = torch.save\n  g(x, \"f\")\n", "aten::save"),
        ];
        for (text, operator) in cases {
            let want = (Rule::ForbiddenOperator, operator.to_owned());
            assert!(found(text).contains(&want), "{text}: {:?}", found(text));
        }
    }

    #[test]
    fn ordinary_code_is_clean() {
        let cases = [
            "def forward(self, x: Tensor) -> Tensor:\n  y = torch.conv2d(x, self.w, None, [1, 1])\n  return y\n",
            "def f(self):\n  self.save(\"f\")\n  return self.torch.save\n",
            "def f(ops: List[int], torch: int=3):\n  return g(ops=1, torch=2)\n",
            "def f(x):\n  # torch.save(x)\n  print(\"torch.save(x)\")\n  return ops.torchvision.nms(x, x, 1)\n",
            "def f(x):\n  return __torch__.torch.save(x)\n",
        ];
        for text in cases {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn operators_of_other_libraries_are_remarked() {
        let custom = found("def f(x):\n  return ops.mylib.launch(x)\n");
        assert_eq!(custom, [(Rule::CustomOperator, "mylib::launch".to_owned())]);
        assert!(
            found("def f(x):\n  return 'open\n").iter().any(|(rule, _)| *rule == Rule::BrokenCode)
        );
        // What stands before the break counts all the same.
        let both = found("def f(x):\n  torch.save(x, 'f')\n  return 'open\n");
        assert!(both.iter().any(|(rule, _)| *rule == Rule::ForbiddenOperator), "{both:?}");
    }
}
