//! Schemas and types from their text: PyTorch's `parseSchema` and `SchemaTypeParser`.

use std::sync::Arc;

use thiserror::Error;

use super::{Alias, Argument, Schema};
use crate::{Constant, NamedRef, TensorType, Type, Unit};

/// How deep types may be nested in text.
const MAX_DEPTH: u32 = 64;

/// What a broadcasting list may be long (`int[2]`); bounds what a default may be repeated.
const MAX_FIXED_SIZE: u32 = 64;

/// A schema or type that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message} (at byte {offset} of the schema or type `{text}`)")]
pub struct SchemaError {
    /// What is wrong.
    pub message: String,
    /// Where, in bytes.
    pub offset: usize,
    /// The text.
    pub text: String,
}

/// Finds the type of a dotted name such as `__torch__.Foo`.
type Resolve<'a> = dyn Fn(&str) -> Option<Type> + 'a;

impl Schema {
    /// Reads a schema such as `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) ->
    /// Tensor`. Torchbind classes (`__torch__.torch.classes.…`) are known by name only
    /// ([`NamedRef::NOWHERE`]).
    ///
    /// # Errors
    /// When the text is none.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let mut parser = Parser::new(text, None);
        let schema = parser.schema()?;
        parser.skip_space();
        if parser.at < text.len() {
            return Err(parser.error("text is left after the schema"));
        }
        Ok(schema)
    }
}

impl Type {
    /// Reads a type as schemas and graphs print it from the start of a text, and gives it with the
    /// number of bytes it took. Dotted names are found by `resolve`.
    ///
    /// # Errors
    /// When the text does not start with a type.
    pub fn parse_prefix(
        text: &str,
        resolve: &dyn Fn(&str) -> Option<Self>,
    ) -> Result<(Self, usize), SchemaError> {
        let mut parser = Parser::new(text, Some(resolve));
        let parsed = parser.ty()?;
        Ok((parsed.real, parser.at))
    }
}

/// A type as it is read: what values have, what is written, and what it shares.
struct Parsed {
    ty: Type,
    real: Type,
    alias: Option<Alias>,
}

impl Parsed {
    fn plain(ty: Type) -> Self {
        Self { real: ty.clone(), ty, alias: None }
    }

    fn map(self, wrap: impl Fn(Type) -> Type) -> Self {
        Self { ty: wrap(self.ty), real: wrap(self.real), alias: self.alias }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// Numbers the sets of `Tensor!`.
    anonymous: u32,
    /// Set for graphs, where tensor types are complete and nothing is said of memory.
    resolve: Option<&'a Resolve<'a>>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, resolve: Option<&'a Resolve<'a>>) -> Self {
        Self { text, at: 0, depth: 0, anonymous: 0, resolve }
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

    // --- types ---------------------------------------------------------------------------------

    fn ty(&mut self) -> Result<Parsed, SchemaError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error("types are nested too deep"));
        }
        self.depth += 1;
        let base = self.base();
        self.depth -= 1;
        let mut parsed = base?;
        let mut wraps = 0;
        loop {
            let start = self.at;
            if self.takes("[") {
                if !self.takes("]") {
                    // A length, which is the argument's to read.
                    self.at = start;
                    return Ok(parsed);
                }
                parsed = self.contain(parsed.map(Type::list))?;
            } else if self.takes("?") {
                if parsed.ty == Type::None {
                    return Err(self.error("None cannot be optional"));
                }
                parsed = parsed.map(Type::optional);
            } else {
                return Ok(parsed);
            }
            wraps += 1;
            if wraps > MAX_DEPTH {
                return Err(self.error("types are nested too deep"));
            }
        }
    }

    /// Gives a list the annotation that follows it, with that of its elements within.
    fn contain(&mut self, list: Parsed) -> Result<Parsed, SchemaError> {
        let mut alias = self.alias()?;
        if let Some(of_elements) = list.alias {
            let container = alias.get_or_insert_with(|| Alias {
                is_write: of_elements.is_write,
                ..Alias::default()
            });
            container.contained.push(of_elements);
        }
        Ok(Parsed { alias, ..list })
    }

    fn base(&mut self) -> Result<Parsed, SchemaError> {
        if self.takes("(") {
            return self.tuple();
        }
        let start = self.at;
        let Some(word) = self.identifier() else { return Err(self.unknown(start)) };
        let parsed = match word {
            "Future" | "RRef" | "Await" if self.sees("(") || self.sees("[") => {
                let of = self.bracketed()?;
                return Ok(match word {
                    "Future" => of.map(Type::future),
                    "RRef" => of.map(|of| Type::RRef(Arc::new(of))),
                    _ => of.map(|of| Type::Await(Arc::new(of))),
                });
            }
            "Dict" if self.takes("(") => self.dict()?,
            "Union" if self.takes("(") => self.union()?,
            "Enum" if self.resolve.is_some() && self.takes("<") => {
                let named = self.dotted(start, "")?;
                self.expect(">")?;
                named
            }
            _ if self.sees(".") => self.dotted(start, word)?,
            _ => match self.resolve.and_then(|_| tensor_dtype(word)) {
                Some(dtype) => return self.refined_tensor(word, dtype),
                None => self.named(word, start)?,
            },
        };
        let alias = self.alias()?;
        Ok(Parsed { alias: alias.or(parsed.alias), ..parsed })
    }

    fn unknown(&mut self, start: usize) -> SchemaError {
        self.at = start;
        self.error(
            "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, \
             bool, Scalar",
        )
    }

    /// A type without parts, or a type variable.
    fn named(&mut self, word: &str, start: usize) -> Result<Parsed, SchemaError> {
        let ty = match word {
            // What is written is kept beside what values are.
            "ScalarType" => return Ok(int_written_as(Type::ScalarType)),
            "Layout" => return Ok(int_written_as(Type::Layout)),
            "MemoryFormat" => return Ok(int_written_as(Type::MemoryFormat)),
            "SymInt" => return Ok(int_written_as(Type::SymInt)),
            "Tensor" => Type::Tensor,
            "int" | "DeviceIndex" => Type::Int,
            "float" => Type::Float,
            "complex" => Type::Complex,
            "bool" => Type::Bool,
            "SymBool" => Type::SymBool,
            "str" => Type::Str,
            "Scalar" => Type::Number,
            "Device" => Type::Device,
            "Generator" => Type::Generator,
            "Storage" => Type::Storage,
            "Stream" => Type::Stream,
            "QScheme" => Type::QScheme,
            "Quantizer" | "ConstQuantizerPtr" => Type::Quantizer,
            "Any" => Type::Any,
            "AnyClassType" => Type::AnyClass,
            "AnyEnumType" => Type::AnyEnum,
            "Capsule" => Type::Capsule,
            "None" | "NoneType" => Type::None,
            // PyTorch's own parser does not know this one; operators of Python have it.
            "PyObject" => Type::PyObject,
            "SymFloat" if self.resolve.is_some() => Type::SymFloat,
            "list" if self.resolve.is_some() => Type::AnyList,
            "tuple" if self.resolve.is_some() => Type::AnyTuple,
            _ => match self.resolve.and_then(|resolve| resolve(word)) {
                Some(ty) => ty,
                None if word.starts_with(|c: char| c.is_ascii_lowercase()) => {
                    Type::Var(word.into())
                }
                None => return Err(self.unknown(start)),
            },
        };
        Ok(Parsed::plain(ty))
    }

    /// A dotted name whose first part is read.
    fn dotted(&mut self, start: usize, first: &str) -> Result<Parsed, SchemaError> {
        let mut name = first.to_owned();
        if name.is_empty() {
            name = self.expect_identifier()?.to_owned();
        }
        while self.takes(".") {
            name.push('.');
            name.push_str(self.expect_identifier()?);
        }
        let class = match self.resolve {
            Some(resolve) => resolve(&name),
            None => name
                .starts_with("__torch__.torch.classes.")
                .then(|| Type::Class(NamedRef::by_name(name.as_str()))),
        };
        match class {
            Some(class) => Ok(Parsed::plain(class)),
            None => {
                self.at = start;
                Err(self.error(format!("Unknown custom class type {name}")))
            }
        }
    }

    /// The one type in `(…)` or `[…]`; what it shares does not count.
    fn bracketed(&mut self) -> Result<Parsed, SchemaError> {
        let close = if self.takes("[") { "]" } else { ")" };
        if close == ")" {
            self.expect("(")?;
        }
        let parsed = self.ty()?;
        self.expect(close)?;
        Ok(Parsed { alias: None, ..parsed })
    }

    fn tuple(&mut self) -> Result<Parsed, SchemaError> {
        let (mut types, mut real, mut contained) = (Vec::new(), Vec::new(), Vec::new());
        self.separated(")", |parser| {
            let element = parser.ty()?;
            types.push(element.ty);
            real.push(element.real);
            contained.extend(element.alias);
            Ok(())
        })?;
        let mut alias = self.alias()?;
        if let Some(alias) = &mut alias {
            alias.contained = contained;
        }
        Ok(Parsed { ty: Type::tuple(types), real: Type::tuple(real), alias })
    }

    fn dict(&mut self) -> Result<Parsed, SchemaError> {
        let key = self.ty()?.real;
        if !matches!(
            key,
            Type::Int
                | Type::Float
                | Type::Complex
                | Type::Bool
                | Type::Str
                | Type::Device
                | Type::Tensor
                | Type::TensorOf(_)
        ) {
            return Err(self.error(format!(
                "Cannot create dict for key type '{}', only int, float, complex, Tensor, device and \
                 string keys are supported",
                key.schema_text()
            )));
        }
        self.expect(",")?;
        let value = self.ty()?.real;
        self.expect(")")?;
        Ok(Parsed::plain(Type::dict(key, value)))
    }

    fn union(&mut self) -> Result<Parsed, SchemaError> {
        let mut members = Vec::new();
        self.separated(")", |parser| {
            // PyTorch prints `Union(, bool, Scalar)`.
            if !parser.sees(",") {
                members.push(parser.ty()?.real);
            }
            Ok(())
        })?;
        if members.is_empty() {
            return Err(self.error("Cannot create an empty Union"));
        }
        Ok(Parsed::plain(Type::union(&members, &Unit::new())))
    }

    /// A tensor type of a graph after its first word, such as `Float(2, 3, strides=[3, 1],
    /// requires_grad=0, device=cpu)`, `FloatTensor` or `Tensor(2, *)`.
    fn refined_tensor(
        &mut self,
        word: &str,
        dtype: Option<&'static str>,
    ) -> Result<Parsed, SchemaError> {
        let has_sizes = !word.ends_with("Tensor");
        let mut tensor = TensorType { dtype: dtype.map(Arc::from), ..TensorType::default() };
        if has_sizes {
            tensor.sizes = Some(Vec::new());
        }
        if self.takes("(") {
            self.separated(")", |parser| parser.tensor_part(&mut tensor))?;
        }
        if self.takes("[Undefined]") {
            tensor.undefined = Some(true);
        }
        Ok(Parsed::plain(Type::tensor_of(tensor)))
    }

    fn tensor_part(&mut self, tensor: &mut TensorType) -> Result<(), SchemaError> {
        if self.takes("*") {
            tensor.sizes.get_or_insert_default().push(None);
            return Ok(());
        }
        let Some(word) = self.identifier() else {
            let size = self.integer()?;
            tensor.sizes.get_or_insert_default().push(Some(size));
            return Ok(());
        };
        self.expect("=")?;
        match word {
            "strides" => {
                let mut strides = Vec::new();
                self.expect("[")?;
                self.separated("]", |parser| {
                    strides.push(Some(parser.integer()?));
                    Ok(())
                })?;
                tensor.strides = Some(strides);
            }
            "requires_grad" => tensor.requires_grad = Some(self.integer()? != 0),
            "device" => {
                let mut device = self.expect_identifier()?.to_owned();
                if self.takes(":") {
                    device = format!("{device}:{}", self.integer()?);
                }
                tensor.device = Some(device.into());
            }
            _ => return Err(self.error(format!("Unexpected property of a tensor type: {word}"))),
        }
        Ok(())
    }

    fn integer(&mut self) -> Result<i64, SchemaError> {
        let sign = if self.takes("-") { "-" } else { "" };
        let digits = self.number()?;
        format!("{sign}{digits}").parse().map_err(|_| self.error("expected an integer"))
    }

    // --- aliases -------------------------------------------------------------------------------

    fn alias(&mut self) -> Result<Option<Alias>, SchemaError> {
        if self.resolve.is_some() {
            return Ok(None);
        }
        if self.takes("(") {
            let before = self.alias_sets()?;
            let is_write = self.takes("!");
            let after = if self.takes("->") { self.alias_sets()? } else { before.clone() };
            self.expect(")")?;
            return Ok(Some(Alias { before, after, is_write, contained: Vec::new() }));
        }
        if self.takes("!") {
            let set: Arc<str> = format!("${}", self.anonymous).into();
            self.anonymous += 1;
            let (before, after) = (vec![Arc::clone(&set)], vec![set]);
            return Ok(Some(Alias { before, after, is_write: true, contained: Vec::new() }));
        }
        Ok(None)
    }

    /// Names of sets; what comes after a wildcard says no more.
    fn alias_sets(&mut self) -> Result<Vec<Arc<str>>, SchemaError> {
        let mut sets: Vec<Arc<str>> = Vec::new();
        loop {
            let set = if self.takes("*") { "*" } else { self.expect_identifier()? };
            let is_known = sets.iter().any(|known| &**known == set || &**known == "*");
            if !is_known {
                sets.push(set.into());
            }
            if !self.takes("|") {
                return Ok(sets);
            }
        }
    }

    // --- defaults ------------------------------------------------------------------------------

    fn default(&mut self, argument: &Argument) -> Result<Constant, SchemaError> {
        let real = argument.real_type();
        match &argument.ty {
            Type::Tensor | Type::Generator | Type::Quantizer => self.none(),
            Type::List(element) if self.sees("[") => self.list(element),
            Type::List(_) if self.sees("N") => self.none(),
            Type::List(element) => match argument.fixed_size {
                Some(length) => {
                    let value = self.single(element, element)?;
                    let items = vec![value; length as usize];
                    Ok(Constant::List((**element).clone(), items.into()))
                }
                None => Err(self.error("expected '['")),
            },
            Type::Optional(of) => match &**of {
                Type::List(element) if self.sees("[") => self.list(element),
                // A number is what it looks like here: `float? x=1` is an int.
                _ => match real {
                    Type::Optional(real) => self.single(&argument.ty, real),
                    real => self.single(&argument.ty, real),
                },
            },
            Type::Device => Ok(match self.single(&Type::Device, real)? {
                Constant::Str(text) => Constant::Device(text),
                other => other,
            }),
            Type::Str
            | Type::Number
            | Type::Int
            | Type::Bool
            | Type::SymBool
            | Type::Float
            | Type::Complex => self.single(&argument.ty, real),
            _ => Err(self.error("a value of this type cannot be a default")),
        }
    }

    fn none(&mut self) -> Result<Constant, SchemaError> {
        match self.identifier() {
            Some("None") => Ok(Constant::None),
            _ => Err(self.error("expected None")),
        }
    }

    fn list(&mut self, element: &Type) -> Result<Constant, SchemaError> {
        let mut items = Vec::new();
        self.expect("[")?;
        self.separated("]", |parser| {
            items.push(parser.single(element, element)?);
            Ok(())
        })?;
        Ok(Constant::List(element.clone(), items.into()))
    }

    fn single(&mut self, ty: &Type, real: &Type) -> Result<Constant, SchemaError> {
        if self.sees("\"") || self.sees("'") {
            return self.string();
        }
        let start = self.at;
        if let Some(word) = self.identifier() {
            return named_default(word, real).ok_or_else(|| {
                self.at = start;
                self.error("invalid numeric default value")
            });
        }
        let sign = if self.takes("-") { "-" } else { "" };
        let number = format!("{sign}{}", self.number()?);
        let parsed = if let Some(imaginary) = number.strip_suffix('j') {
            imaginary.parse().ok().map(|imaginary| Constant::Complex(0.0, imaginary))
        } else if *ty == Type::Complex {
            number.parse().ok().map(|real| Constant::Complex(real, 0.0))
        } else if *ty == Type::Float || number.contains(['.', 'e']) {
            number.parse().ok().map(Constant::Float)
        } else {
            number.parse().ok().map(Constant::Int)
        };
        parsed.ok_or_else(|| self.error("invalid number"))
    }

    /// A string in quotes with C's escapes.
    fn string(&mut self) -> Result<Constant, SchemaError> {
        let rest = self.rest();
        let quote = if rest.starts_with('"') { '"' } else { '\'' };
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((index, c)) = chars.next() {
            if c == quote {
                self.at += index + 1;
                return Ok(Constant::Str(text.into()));
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            let Some((_, escaped)) = chars.next() else { break };
            text.push(match escaped {
                '\\' | '\'' | '"' => escaped,
                'a' => '\x07',
                'b' => '\x08',
                'f' => '\x0c',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\x0b',
                '0'..='3' => {
                    let mut digits = String::from(escaped);
                    digits.extend(chars.by_ref().take(2).map(|(_, c)| c));
                    let code = u8::from_str_radix(&digits, 8).ok().filter(u8::is_ascii);
                    code.ok_or_else(|| self.error("ill formed octal specifier"))?.into()
                }
                _ => return Err(self.error("ill formed octal specifier")),
            });
        }
        Err(self.error("expected the end of a string"))
    }
}

/// An int that schemas call otherwise.
fn int_written_as(real: Type) -> Parsed {
    Parsed { ty: Type::Int, real, alias: None }
}

/// A default that is a word: a bool, `None`, or the int that PyTorch's headers call so.
fn named_default(word: &str, real: &Type) -> Option<Constant> {
    Some(match word {
        "True" => Constant::Bool(true),
        "False" => Constant::Bool(false),
        "None" => Constant::None,
        "strided" | "contiguous_format" => Constant::Int(0),
        "Mean" => Constant::Int(1),
        "long" => Constant::Int(4),
        "float" => Constant::Int(6),
        "complex" => Constant::Int(9),
        _ if *real == Type::ScalarType => Constant::Int(dtype_code(word)?),
        _ => return None,
    })
}

/// The dtypes by their names in Python, with PyTorch's `ScalarType` numbers.
fn dtype_code(name: &str) -> Option<i64> {
    const NAMES: &[(&str, i64)] = &[
        ("uint8", 0),
        ("int8", 1),
        ("int16", 2),
        ("short", 2),
        ("int32", 3),
        ("int", 3),
        ("int64", 4),
        ("float16", 5),
        ("half", 5),
        ("float32", 6),
        ("float64", 7),
        ("double", 7),
        ("complex32", 8),
        ("chalf", 8),
        ("complex64", 9),
        ("cfloat", 9),
        ("complex128", 10),
        ("cdouble", 10),
        ("bool", 11),
        ("qint8", 12),
        ("quint8", 13),
        ("qint32", 14),
        ("bfloat16", 15),
        ("quint4x2", 16),
        ("quint2x4", 17),
    ];
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code)
}

/// The dtype with which a tensor type of a graph starts, `None` within for `Tensor` alone.
fn tensor_dtype(word: &str) -> Option<Option<&'static str>> {
    const DTYPES: &[&str] = &[
        "Byte",
        "Char",
        "Short",
        "Int",
        "Long",
        "Half",
        "Float",
        "Double",
        "ComplexHalf",
        "ComplexFloat",
        "ComplexDouble",
        "Bool",
        "QInt8",
        "QUInt8",
        "QInt32",
        "BFloat16",
        "QUInt4x2",
        "QUInt2x4",
        "Bits1x8",
        "Bits2x4",
        "Bits4x2",
        "Bits8",
        "Bits16",
        "Float8_e5m2",
        "Float8_e4m3fn",
        "Float8_e5m2fnuz",
        "Float8_e4m3fnuz",
        "Float8_e8m0fnu",
        "Float4_e2m1fn_x2",
        "UInt16",
        "UInt32",
        "UInt64",
        "UInt1",
        "UInt2",
        "UInt3",
        "UInt4",
        "UInt5",
        "UInt6",
        "UInt7",
        "Int1",
        "Int2",
        "Int3",
        "Int4",
        "Int5",
        "Int6",
        "Int7",
        "Undefined",
    ];
    if word == "Tensor" {
        return Some(None);
    }
    let dtype = word.strip_suffix("Tensor").unwrap_or(word);
    DTYPES.iter().find(|known| **known == dtype).copied().map(Some)
}
