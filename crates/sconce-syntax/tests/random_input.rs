//! Random text, random tokens: never a panic, and ranges that stay inside.

use std::sync::Arc;

use proptest::prelude::*;
use sconce_syntax::ast::Item;
use sconce_syntax::sexpr::Node;
use sconce_syntax::{
    Lexer, Range, Source, SourceRange, TokenKind, parse_class, parse_def, parse_expression,
    parse_module, parse_statement, parse_type_comment,
};

/// Pieces that programs are made of.
const PIECES: &[&str] = &[
    "def ", "f", "x", "(", ")", "[", "]", "{", "}", ":", ",", "=", "\n", "\n  ", "\n    ",
    "return ", "if ", "else", "elif ", "for ", " in ", " not ", " is ", " and ", "while ", "with ",
    " as ", "class ", "A", "import ", "pass", "break", "del ", "global ", "assert ", "raise ", "1",
    "2.5", "-", "+", "*", "**", "/", "//", ".", "...", "->", "\"a\"", "'b'", "\"\"\"", "\\",
    "\\\n", "# type: ", "# said", "None", "True", "==", "<", "+=", "é", "\t", " ", "@", "~",
    "not in ", "0x1", "1e5", "3j", "\"\\n\"",
];

fn soup() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(PIECES), 0..60).prop_map(|it| it.concat()),
        any::<String>(),
    ]
}

/// Nothing of this may panic.
fn parse_all(text: &str) {
    let source = Arc::new(Source::new(text).with_filename("soup.py"));
    for error in [
        parse_module(&source).err(),
        parse_def(&source, true).err(),
        parse_class(&source).err(),
        parse_statement(&source).err(),
        parse_type_comment(&source).err(),
    ] {
        let _ = error.map(|it| it.to_string());
    }
    match parse_expression(&source) {
        Ok(expr) => assert!(!Node::expr(&expr, &source).to_string().is_empty()),
        Err(error) => assert!(!error.message().is_empty() && !error.to_string().is_empty()),
    }
    for item in parse_module(&source).unwrap_or_default() {
        match item {
            Item::Def(def) => drop(Node::def(&def, &source).to_string()),
            Item::Class(class) => drop(Node::class(&class, &source).to_string()),
            Item::Stmt(_) | Item::Import(_) => {}
        }
    }
}

/// Tokens come in order and within the text.
fn lex_all(text: &str) {
    let source = Arc::new(Source::new(text));
    let Ok(mut lexer) = Lexer::new(&source) else { return };
    let mut last = 0;
    while let Ok(token) = lexer.advance() {
        assert!(last <= token.range.start && token.range.end as usize <= text.len());
        if token.kind == TokenKind::Eof {
            break;
        }
        last = token.range.start;
    }
}

proptest! {
    #[test]
    fn soup_is_parsed_or_refused(text in soup()) {
        parse_all(&text);
        parse_all(&format!("def f(x):\n  {text}\n"));
        lex_all(&text);
    }

    #[test]
    fn any_range_can_be_shown(text in soup(), start in 0_u32..80, end in 0_u32..80, context in 0_usize..5) {
        let range = SourceRange::new(Arc::new(Source::new(text)), Range::new(start, end));
        let _ = range.highlight();
        let _ = range.with_context(context, start % 2 == 0, "f").to_string();
        let _ = range.file_line_column();
    }
}
