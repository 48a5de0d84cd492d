//! What the parser says of a text, in the words of `golden/oracle.cpp`.

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;

use sconce_syntax::ast::Item;
use sconce_syntax::sexpr::Node;
use sconce_syntax::{
    Range, Source, SourceRange, parse_class, parse_def, parse_expression, parse_module,
    parse_type_comment,
};

/// The tree, a line `--`, and kind, start and end of each node; a node without a range of its own has
/// `-` for both. Or, for the mode `highlight:START:END[:FILE:LINE]`, the text around a range.
pub(crate) fn answer(mode: &str, text: &str) -> Result<String, Box<dyn Error>> {
    if let Some(place) = mode.strip_prefix("highlight:") {
        return highlight(place, text);
    }
    let source = Arc::new(Source::new(text));
    let mut answer = (String::new(), String::new());
    match mode {
        "module" => {
            for item in parse_module(&source)? {
                match item {
                    Item::Def(def) => show(&Node::def(&def, &source), &mut answer)?,
                    Item::Class(class) => show(&Node::class(&class, &source), &mut answer)?,
                    Item::Stmt(_) | Item::Import(_) => {}
                }
            }
        }
        "def" | "method" => {
            let def = parse_def(&source, mode == "method")?;
            show(&Node::def(&def, &source), &mut answer)?;
        }
        "class" => show(&Node::class(&parse_class(&source)?, &source), &mut answer)?,
        "exp" => show(&Node::expr(&parse_expression(&source)?, &source), &mut answer)?,
        "type" => show(&Node::decl(&parse_type_comment(&source)?, &source), &mut answer)?,
        _ => return Err(format!("unknown mode {mode}").into()),
    }
    Ok(format!("{}--\n{}", answer.0, answer.1))
}

fn highlight(place: &str, text: &str) -> Result<String, Box<dyn Error>> {
    let mut fields = place.split(':');
    let mut field = || fields.next().unwrap_or("");
    let range = Range::new(field().parse()?, field().parse()?);
    let (file, line) = (field(), field());
    let mut source = Source::new(text);
    if !file.is_empty() {
        source = source.with_filename(file).with_starting_line(line.parse()?);
    }
    Ok(SourceRange::new(Arc::new(source), range).highlight())
}

fn show(node: &Node<'_>, (trees, places): &mut (String, String)) -> Result<(), Box<dyn Error>> {
    writeln!(trees, "{node}")?;
    show_places(node, places)
}

fn show_places(node: &Node<'_>, places: &mut String) -> Result<(), Box<dyn Error>> {
    if let Node::Compound { kind, range, children } = node {
        match range {
            Some(range) => writeln!(places, "{kind}\t{}\t{}", range.start, range.end)?,
            None => writeln!(places, "{kind}\t-\t-")?,
        }
        children.iter().try_for_each(|child| show_places(child, places))?;
    }
    Ok(())
}
