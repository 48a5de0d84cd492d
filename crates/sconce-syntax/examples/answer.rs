//! Answers the questions that `tests/golden/oracle.cpp` answers, in the same words, so that a script
//! can put both beside each other. A node without a range of its own has `-` for its places.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use sconce_syntax::ast::Item;
use sconce_syntax::sexpr::Node;
use sconce_syntax::{
    Range, Source, SourceRange, parse_class, parse_def, parse_expression, parse_module,
    parse_type_comment,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut request = String::new();
    while input.read_line(&mut request)? > 0 {
        let (mode, length) = request.trim_end().rsplit_once(' ').ok_or("MODE LENGTH")?;
        let mut text = vec![0; length.parse()?];
        input.read_exact(&mut text)?;
        let (verdict, said) = match answer(mode, String::from_utf8(text)?) {
            Ok(said) => ("ok", said),
            Err(error) => ("error", error.to_string()),
        };
        write!(output, "{verdict} {}\n{said}", said.len())?;
        output.flush()?;
        request.clear();
    }
    Ok(())
}

fn answer(mode: &str, text: String) -> Result<String, Box<dyn Error>> {
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

fn highlight(place: &str, text: String) -> Result<String, Box<dyn Error>> {
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
