//! Schemas from their text: PyTorch's `parseSchema` and `SchemaTypeParser`.

mod defaults;
mod types;

use std::sync::Arc;

use thiserror::Error;

use super::{Argument, Schema};
use crate::Type;

/// How deep types may be nested in text.
const MAX_DEPTH: u32 = 64;

/// What a broadcasting list may be long (`int[2]`); bounds what a default may be repeated.
const MAX_FIXED_SIZE: u32 = 64;

/// A schema that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message} (at byte {offset} of the schema `{text}`)")]
pub struct SchemaError {
    /// What is wrong.
    pub message: String,
    /// Where, in bytes.
    pub offset: usize,
    /// The text.
    pub text: String,
}

impl Schema {
    /// Reads a schema such as `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) ->
    /// Tensor`. Torchbind classes (`__torch__.torch.classes.…`) are known by name only
    /// ([`NamedRef::NOWHERE`](crate::NamedRef::NOWHERE)).
    ///
    /// # Errors
    /// When the text is none.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let mut parser = Parser::new(text);
        let schema = parser.schema()?;
        parser.skip_space();
        if parser.at < text.len() {
            return Err(parser.error("text is left after the schema"));
        }
        Ok(schema)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// Numbers the sets of `Tensor!`.
    anonymous: u32,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0, anonymous: 0 }
    }

    // --- tokens --------------------------------------------------------------------------------

    fn error(&self, message: impl Into<String>) -> SchemaError {
        let text = self.text.chars().take(200).collect();
        SchemaError { message: message.into(), offset: self.at, text }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// Whether the next token starts so.
    fn sees(&mut self, token: &str) -> bool {
        self.skip_space();
        self.rest().starts_with(token)
    }

    fn takes(&mut self, token: &str) -> bool {
        let found = self.sees(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), SchemaError> {
        if self.takes(token) { Ok(()) } else { Err(self.error(format!("expected '{token}'"))) }
    }

    fn identifier(&mut self) -> Option<&'a str> {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        Some(&rest[..end])
    }

    fn expect_identifier(&mut self) -> Result<&'a str, SchemaError> {
        self.identifier().ok_or_else(|| self.error("expected an identifier"))
    }

    /// A number without sign, as written, `j` of imaginary ones included.
    fn number(&mut self) -> Result<&'a str, SchemaError> {
        self.skip_space();
        let rest = self.rest();
        let mut end = 0;
        for (index, c) in rest.char_indices() {
            let after_exponent = rest[..index].ends_with(['e', 'E']);
            let goes_on = c.is_ascii_digit()
                || matches!(c, '.' | 'e' | 'E' | 'j')
                || (after_exponent && matches!(c, '+' | '-'));
            if !goes_on {
                break;
            }
            end = index + c.len_utf8();
        }
        if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') || end == 0 {
            return Err(self.error("expected a number"));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    fn separated(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<(), SchemaError>,
    ) -> Result<(), SchemaError> {
        if self.takes(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.takes(",") {
                return self.expect(close);
            }
        }
    }

    // --- schemas -------------------------------------------------------------------------------

    fn schema(&mut self) -> Result<Schema, SchemaError> {
        let mut name = self.expect_identifier()?.to_owned();
        if self.takes("::") {
            name = format!("{name}::{}", self.expect_identifier()?);
        }
        let mut overload = "";
        if self.takes(".") {
            overload = self.expect_identifier()?;
            if overload == "default" || overload.starts_with("__") {
                let message = "is not a legal overload name for aten operators";
                return Err(self.error(format!("{overload} {message}")));
            }
        }
        let mut schema = Schema {
            name: name.into(),
            overload: overload.into(),
            arguments: Vec::new(),
            returns: Vec::new(),
            is_vararg: false,
            is_varret: false,
        };
        self.arguments(&mut schema)?;
        self.expect("->")?;
        self.returns(&mut schema)?;
        Ok(schema)
    }

    fn arguments(&mut self, schema: &mut Schema) -> Result<(), SchemaError> {
        let mut kwarg_only = false;
        self.expect("(")?;
        self.separated(")", |parser| {
            if schema.is_vararg {
                return Err(parser.error("... must be the last element of the argument list"));
            }
            if parser.takes("*") {
                kwarg_only = true;
            } else if parser.takes("...") {
                schema.is_vararg = true;
            } else {
                schema.arguments.push(parser.argument(kwarg_only)?);
            }
            Ok(())
        })
    }

    fn returns(&mut self, schema: &mut Schema) -> Result<(), SchemaError> {
        if self.takes("...") {
            schema.is_varret = true;
            return Ok(());
        }
        if !self.takes("(") {
            schema.returns.push(self.returned()?);
            return Ok(());
        }
        self.separated(")", |parser| {
            if schema.is_varret {
                return Err(parser.error("... must be the last element of the return list"));
            }
            if parser.takes("...") {
                schema.is_varret = true;
            } else {
                schema.returns.push(parser.returned()?);
            }
            Ok(())
        })
    }

    fn argument(&mut self, kwarg_only: bool) -> Result<Argument, SchemaError> {
        let mut argument = self.typed()?;
        argument.name = self.expect_identifier()?.into();
        argument.kwarg_only = kwarg_only;
        if self.takes("=") {
            argument.default = Some(self.default(&argument)?);
        }
        Ok(argument)
    }

    fn returned(&mut self) -> Result<Argument, SchemaError> {
        let mut argument = self.typed()?;
        argument.name = self.identifier().unwrap_or_default().into();
        Ok(argument)
    }

    /// An argument's type, and its length if it is a broadcasting list, which only occurs here.
    fn typed(&mut self) -> Result<Argument, SchemaError> {
        let mut parsed = self.ty()?;
        let mut fixed_size = None;
        if self.takes("[") {
            let length: u32 =
                self.number()?.parse().map_err(|_| self.error("expected a length"))?;
            if length > MAX_FIXED_SIZE {
                return Err(self.error(format!("a list of fixed size is longer than {length}")));
            }
            self.expect("]")?;
            fixed_size = Some(length);
            parsed = self.contain(parsed.map(Type::list))?;
            if self.takes("?") {
                parsed = parsed.map(Type::optional);
            }
        }
        let mut argument = Argument::new("", parsed.ty);
        argument.real_type = (parsed.real != argument.ty).then_some(parsed.real);
        argument.fixed_size = fixed_size;
        argument.alias = parsed.alias.map(Arc::new);
        Ok(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Constant;

    #[test]
    fn arguments_say_what_values_are_and_what_is_written() {
        let schema = Schema::parse(
            "f(ScalarType? a, SymInt[2] b=1, *, Tensor(x!) out, Layout c=strided) -> ()",
        );
        let schema = schema.unwrap();
        let [a, b, out, c] = schema.arguments.as_slice() else { panic!("{schema}") };
        assert_eq!(a.ty.to_string(), "int?");
        assert_eq!(a.real_type().to_string(), "ScalarType?");
        assert_eq!(b.broadcasting_list(), Some((&Type::Int, 2)));
        let ones = Constant::List(Type::Int, [Constant::Int(1), Constant::Int(1)].into());
        assert_eq!(b.default, Some(ones));
        assert!(out.is_out() && schema.is_mutable());
        assert_eq!(c.default, Some(Constant::Int(0)));
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        let deep = format!("f({}int{} x) -> ()", "(".repeat(5000), ")".repeat(5000));
        let long = format!("f(int{} x) -> ()", "[]".repeat(5000));
        let union = format!("f(Union({}) x) -> ()", "int[], str[], ".repeat(5000));
        for (text, message) in [
            ("", "expected an identifier"),
            ("f", "expected '('"),
            ("f(int) -> ()", "expected an identifier"),
            ("f(int x", "expected ')'"),
            ("f(int x)", "expected '->'"),
            ("f(int x) -> () tail", "text is left after the schema"),
            ("aten::f.default(int x) -> ()", "default is not a legal overload name"),
            ("aten::f.__x(int x) -> ()", "__x is not a legal overload name"),
            ("f(Unknown x) -> ()", "unknown type specifier"),
            ("f(__torch__.Foo x) -> ()", "Unknown custom class type __torch__.Foo"),
            ("f(Dict(t, int) x) -> ()", "Cannot create dict for key type 't'"),
            ("f(Union() x) -> ()", "Cannot create an empty Union"),
            ("f(None? x) -> ()", "None cannot be optional"),
            ("f(..., int x) -> ()", "... must be the last element of the argument list"),
            ("f() -> (..., int)", "... must be the last element of the return list"),
            ("f(int x=nothing) -> ()", "invalid numeric default value"),
            ("f(int x=99999999999999999999) -> ()", "invalid number"),
            ("f(int[4000000000] x=1) -> ()", "a list of fixed size is longer"),
            ("f(str x=\"abc) -> ()", "expected the end of a string"),
            ("f(str x=\"\\q\") -> ()", "ill formed octal specifier"),
            (&deep, "types are nested too deep"),
            (&long, "types are nested too deep"),
            (&union, "a union has too many members"),
        ] {
            let error = Schema::parse(text).expect_err(text);
            assert!(error.message.starts_with(message), "{error}");
        }
    }

    #[test]
    fn no_part_of_a_schema_panics() {
        let text = "aten::f.o(Tensor(a! -> b|*)[](c)? x, Dict(str, (int, é)) y=\"\\001\", *, \
                    int[2] z=[1, -2], complex c=1.5e-3j, ...) -> (Union(int, str), Future(t)[])";
        for start in 0..text.len() {
            for end in start..=text.len() {
                if let Some(part) = text.get(start..end) {
                    let _ = Schema::parse(part);
                }
            }
        }
    }
}
