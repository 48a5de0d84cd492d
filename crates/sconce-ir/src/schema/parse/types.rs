//! Types and what they share. Graphs have their own reader, since they say more of tensors.

use std::sync::Arc;

use super::{MAX_DEPTH, Parser, SchemaError};
use crate::schema::Alias;
use crate::typing::MAX_UNION;
use crate::{NamedRef, Type, Unit};

/// A type as it is read: what values have, what is written, and what it shares.
pub(super) struct Parsed {
    pub(super) ty: Type,
    pub(super) real: Type,
    pub(super) alias: Option<Alias>,
}

impl Parsed {
    fn plain(ty: Type) -> Self {
        Self { real: ty.clone(), ty, alias: None }
    }

    pub(super) fn map(self, wrap: impl Fn(Type) -> Type) -> Self {
        Self { ty: wrap(self.ty), real: wrap(self.real), alias: self.alias }
    }
}

impl Parser<'_> {
    pub(super) fn ty(&mut self) -> Result<Parsed, SchemaError> {
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
    pub(super) fn contain(&mut self, list: Parsed) -> Result<Parsed, SchemaError> {
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
            "Future" | "RRef" | "Await" if self.takes("(") => {
                // What the value shares does not count.
                let of = Parsed { alias: None, ..self.ty()? };
                self.expect(")")?;
                return Ok(match word {
                    "Future" => of.map(Type::future),
                    "RRef" => of.map(|of| Type::RRef(Arc::new(of))),
                    _ => of.map(|of| Type::Await(Arc::new(of))),
                });
            }
            "Dict" if self.takes("(") => self.dict()?,
            "Union" if self.takes("(") => self.union()?,
            _ if self.sees(".") => self.class(start, word)?,
            _ => self.named(word, start)?,
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
            _ if word.starts_with(|c: char| c.is_ascii_lowercase()) => Type::Var(word.into()),
            _ => return Err(self.unknown(start)),
        };
        Ok(Parsed::plain(ty))
    }

    /// A torchbind class, the first part of whose name is read.
    fn class(&mut self, start: usize, first: &str) -> Result<Parsed, SchemaError> {
        let mut name = first.to_owned();
        while self.takes(".") {
            name.push('.');
            name.push_str(self.expect_identifier()?);
        }
        if name.starts_with("__torch__.torch.classes.") {
            return Ok(Parsed::plain(Type::Class(NamedRef::by_name(name))));
        }
        self.at = start;
        Err(self.error(format!("Unknown custom class type {name}")))
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
                members.extend(parser.ty()?.real.members());
            }
            if members.len() > MAX_UNION {
                return Err(parser.error("a union has too many members"));
            }
            Ok(())
        })?;
        if members.is_empty() {
            return Err(self.error("Cannot create an empty Union"));
        }
        Ok(Parsed::plain(Type::union(&members, &Unit::new())))
    }

    fn alias(&mut self) -> Result<Option<Alias>, SchemaError> {
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
            return Ok(Some(Alias { before: vec![set], is_write: true, ..Alias::default() }));
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
}

/// An int that schemas call otherwise.
fn int_written_as(real: Type) -> Parsed {
    Parsed { ty: Type::Int, real, alias: None }
}
