//! Types as graphs write them.

use std::sync::Arc;

use crate::scalar_type::cpp_name;
use crate::text::error::ParseError;
use crate::text::lexer::{Lexer, Token};
use crate::typing::MAX_UNION;
use crate::{Constant, EnumType, NamedRef, NamedTuple, TensorType, TupleType, Type, Unit};

/// How deep types may nest.
const MAX_DEPTH: usize = 64;

/// Types that are one word.
const WORDS: &[(&str, Type)] = &[
    ("Tensor", Type::Tensor),
    ("int", Type::Int),
    ("float", Type::Float),
    ("bool", Type::Bool),
    ("complex", Type::Complex),
    ("str", Type::Str),
    ("Scalar", Type::Number),
    ("number", Type::Number),
    ("NoneType", Type::None),
    ("None", Type::None),
    ("Any", Type::Any),
    ("Device", Type::Device),
    ("Stream", Type::Stream),
    ("Generator", Type::Generator),
    ("Storage", Type::Storage),
    ("Capsule", Type::Capsule),
    ("PyObject", Type::PyObject),
    ("Quantizer", Type::Quantizer),
    ("QScheme", Type::QScheme),
    ("ScalarType", Type::ScalarType),
    ("Layout", Type::Layout),
    ("MemoryFormat", Type::MemoryFormat),
    ("SymInt", Type::SymInt),
    ("SymFloat", Type::SymFloat),
    ("SymBool", Type::SymBool),
    ("list", Type::AnyList),
    ("AnyListType", Type::AnyList),
    ("tuple", Type::AnyTuple),
    ("AnyTupleType", Type::AnyTuple),
    ("AnyClassType", Type::AnyClass),
    ("AnyEnumType", Type::AnyEnum),
];

/// Reads a type.
pub(in crate::text) fn read(
    lexer: &mut Lexer<'_>,
    unit: Option<&Unit>,
) -> Result<Type, ParseError> {
    Reader { lexer, unit, depth: 0 }.ty()
}

struct Reader<'l, 'a> {
    lexer: &'l mut Lexer<'a>,
    unit: Option<&'l Unit>,
    depth: usize,
}

impl Reader<'_, '_> {
    fn ty(&mut self) -> Result<Type, ParseError> {
        if self.depth == MAX_DEPTH {
            return Err(self.lexer.error("the type nests too deeply"));
        }
        self.depth += 1;
        let mut ty = self.base()?;
        for suffixes in 0.. {
            if suffixes == MAX_DEPTH {
                return Err(self.lexer.error("the type nests too deeply"));
            }
            if self.lexer.peek() == Token::Sign('[') && self.lexer.after().starts_with(']') {
                self.lexer.next();
                self.lexer.next();
                ty = Type::list(ty);
            } else if self.lexer.accept('?') {
                ty = Type::optional(ty);
            } else {
                break;
            }
        }
        self.depth -= 1;
        Ok(ty)
    }

    fn base(&mut self) -> Result<Type, ParseError> {
        if self.lexer.accept('(') {
            return Ok(Type::tuple(self.types(')')?));
        }
        let word = self.lexer.expect_word()?;
        if word == "Tensor" {
            return self.tensor(None, false);
        }
        if let Some((_, ty)) = WORDS.iter().find(|(name, _)| *name == word) {
            return Ok(ty.clone());
        }
        match word {
            "Future" => return self.wrapped(Type::future),
            "RRef" => return self.wrapped(|ty| Type::RRef(Arc::new(ty))),
            "Await" => return self.wrapped(|ty| Type::Await(Arc::new(ty))),
            "Optional" => return self.wrapped(Type::optional),
            "List" => return self.wrapped(Type::list),
            "Tuple" => {
                self.lexer.expect('[')?;
                return Ok(Type::tuple(self.types(']')?));
            }
            "Dict" => return self.dict(),
            "Union" => {
                let close = self.open()?;
                // PyTorch prints `Union(, bool, Scalar)`.
                self.lexer.accept(',');
                let members = self.types(close)?;
                if members.is_empty() || members.len() > MAX_UNION {
                    let what = if members.is_empty() { "no member" } else { "too many members" };
                    return Err(self.lexer.error(format!("a union of {what}")));
                }
                // In canonical order, or the one type that holds the others: a union with `Any` is `Any`.
                let own = Unit::new();
                return Ok(Type::union(&members, self.unit.unwrap_or(&own)));
            }
            "NamedTuple" => return self.named_tuple(),
            "Function" => {
                return Ok(Type::Function(NamedRef::by_name("")));
            }
            "InterfaceType" => return self.angled(Type::Interface),
            "Enum" => return self.enumeration(),
            _ => {}
        }
        if let Some(dtype) = cpp_name(word) {
            return self.tensor(Some(dtype), true);
        }
        if let Some(dtype) = word.strip_suffix("Tensor").and_then(cpp_name) {
            return self.tensor(Some(dtype), false);
        }
        if word.starts_with("__torch__.") {
            return Ok(self.named(word, Type::Class));
        }
        if word.starts_with(|first: char| first.is_ascii_lowercase()) && !word.contains(['.', ':'])
        {
            return Ok(Type::Var(word.into()));
        }
        Err(self.lexer.error(format!("unknown type `{word}`")))
    }

    /// A class, interface or enum of the unit, or one that is known by its name alone.
    fn named(&self, name: &str, make: impl FnOnce(NamedRef) -> Type) -> Type {
        let known = self.unit.and_then(|unit| unit.find_type(name)).cloned();
        known.unwrap_or_else(|| make(NamedRef::by_name(name)))
    }

    fn angled(&mut self, make: impl FnOnce(NamedRef) -> Type) -> Result<Type, ParseError> {
        self.lexer.expect('<')?;
        let name = self.lexer.expect_word()?;
        self.lexer.expect('>')?;
        Ok(self.named(name, make))
    }

    fn enumeration(&mut self) -> Result<Type, ParseError> {
        self.angled(|name| {
            let ty = EnumType { name: name.name, value: Type::Int, members: Vec::new() };
            Type::Enum(Arc::new(ty))
        })
    }

    /// Goes past an opening bracket, and gives the closing one.
    fn open(&mut self) -> Result<char, ParseError> {
        if self.lexer.accept('[') {
            return Ok(']');
        }
        self.lexer.expect('(')?;
        Ok(')')
    }

    fn wrapped(&mut self, make: impl FnOnce(Type) -> Type) -> Result<Type, ParseError> {
        let close = self.open()?;
        let ty = self.ty()?;
        self.lexer.expect(close)?;
        Ok(make(ty))
    }

    fn dict(&mut self) -> Result<Type, ParseError> {
        let close = self.open()?;
        let key = self.ty()?;
        self.lexer.expect(',')?;
        let value = self.ty()?;
        self.lexer.expect(close)?;
        Ok(Type::dict(key, value))
    }

    fn types(&mut self, close: char) -> Result<Vec<Type>, ParseError> {
        let mut types = Vec::new();
        while !self.lexer.accept(close) {
            if !types.is_empty() {
                self.lexer.expect(',')?;
            }
            types.push(self.ty()?);
        }
        Ok(types)
    }

    fn named_tuple(&mut self) -> Result<Type, ParseError> {
        self.lexer.expect('(')?;
        let (mut fields, mut elements) = (Vec::new(), Vec::new());
        let mut defaults: Vec<Constant> = Vec::new();
        while !self.lexer.accept(')') {
            if !elements.is_empty() {
                self.lexer.expect(',')?;
            }
            fields.push(self.lexer.expect_word()?.into());
            self.lexer.expect(':')?;
            let ty = self.ty()?;
            if self.lexer.accept('=') {
                defaults.push(super::read_constant(self.lexer, &ty)?);
            }
            elements.push(ty);
        }
        let named = Some(NamedTuple { name: "NamedTuple".into(), fields, defaults });
        Ok(Type::Tuple(Arc::new(TupleType { elements, named })))
    }

    /// What stands after a tensor's dtype: sizes, strides, and the rest. Sizes are there exactly
    /// when `ranked`.
    fn tensor(&mut self, dtype: Option<&str>, ranked: bool) -> Result<Type, ParseError> {
        let mut tensor = TensorType { dtype: dtype.map(Arc::from), ..TensorType::default() };
        let mut sizes = ranked.then(Vec::new);
        if self.lexer.accept('(') {
            let mut first = true;
            while !self.lexer.accept(')') {
                if !first {
                    self.lexer.expect(',')?;
                }
                first = false;
                match self.lexer.peek() {
                    Token::Word(_) => self.tensor_field(&mut tensor)?,
                    _ => sizes.get_or_insert_default().push(self.dimension()?),
                }
            }
        }
        if self.lexer.peek() == Token::Sign('[') && self.lexer.after().starts_with("Undefined]") {
            for _ in 0..3 {
                self.lexer.next();
            }
            tensor.undefined = Some(true);
        }
        tensor.sizes = sizes;
        let plain = tensor == TensorType::default();
        Ok(if plain { Type::Tensor } else { Type::TensorOf(Arc::new(tensor)) })
    }

    fn tensor_field(&mut self, tensor: &mut TensorType) -> Result<(), ParseError> {
        let name = self.lexer.expect_word()?;
        self.lexer.expect('=')?;
        match name {
            "strides" => {
                self.lexer.expect('[')?;
                let mut strides = Vec::new();
                while !self.lexer.accept(']') {
                    if !strides.is_empty() {
                        self.lexer.expect(',')?;
                    }
                    strides.push(self.dimension()?);
                }
                tensor.strides = Some(strides);
            }
            "requires_grad" => tensor.requires_grad = Some(self.dimension()? == Some(1)),
            "device" => {
                let mut device = self.lexer.expect_word()?.to_owned();
                if self.lexer.accept(':')
                    && let Some(index) = self.dimension()?
                {
                    device.push_str(&format!(":{index}"));
                }
                tensor.device = Some(device.into());
            }
            _ => return Err(self.lexer.error(format!("`{name}` is nothing a tensor has"))),
        }
        Ok(())
    }

    fn dimension(&mut self) -> Result<Option<i64>, ParseError> {
        if self.lexer.accept('*') {
            return Ok(None);
        }
        match self.lexer.peek() {
            Token::Number(text) => {
                let size = text.parse().map_err(|_| self.lexer.error("not an integer"))?;
                self.lexer.next();
                Ok(Some(size))
            }
            _ => Err(self.lexer.unexpected("a number")),
        }
    }
}
