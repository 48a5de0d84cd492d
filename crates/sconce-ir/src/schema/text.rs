//! Schemas in print: `operator<<` of `c10::FunctionSchema`, `Argument` and `AliasInfo`.

use std::fmt::{self, Display, Formatter, Write as _};

use super::{Alias, Argument, Schema};
use crate::types::separator;
use crate::{Constant, Type, quoted};

impl Display for Schema {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        if !self.overload.is_empty() {
            write!(out, ".{}", self.overload)?;
        }
        out.write_char('(')?;
        let mut kwarg_only = false;
        for (index, argument) in self.arguments.iter().enumerate() {
            out.write_str(separator(index))?;
            if argument.kwarg_only && !kwarg_only {
                out.write_str("*, ")?;
                kwarg_only = true;
            }
            write!(out, "{argument}")?;
        }
        if self.is_vararg {
            write!(out, "{}...", separator(self.arguments.len()))?;
        }
        out.write_str(") -> ")?;
        self.write_returns(out)
    }
}

impl Schema {
    fn write_returns(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match (self.returns.as_slice(), self.is_varret) {
            ([], true) => return out.write_str("..."),
            ([single], false) => {
                // A tuple, or a list of tuples, would read as several returns.
                let text = single.to_string();
                return if text.starts_with('(') {
                    write!(out, "({text})")
                } else {
                    out.write_str(&text)
                };
            }
            _ => {}
        }
        out.write_char('(')?;
        for (index, single) in self.returns.iter().enumerate() {
            write!(out, "{}{single}", separator(index))?;
        }
        if self.is_varret {
            write!(out, "{}...", separator(self.returns.len()))?;
        }
        out.write_char(')')
    }
}

impl Display for Argument {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (ty, is_optional) = match self.real_type() {
            Type::Optional(of) => (&**of, true),
            ty => (ty, false),
        };
        match ty {
            // The length is the argument's, and so are the sets of the elements.
            Type::List(element) => {
                write!(out, "{}", element.schema_text())?;
                if let Some(contained) = self.alias.as_ref().and_then(|a| a.contained.first()) {
                    write!(out, "{contained}")?;
                }
                match self.fixed_size {
                    Some(length) => write!(out, "[{length}]")?,
                    None => out.write_str("[]")?,
                }
            }
            ty => write!(out, "{}", ty.schema_text())?,
        }
        if let Some(alias) = self.alias.as_ref().filter(|alias| !alias.before.is_empty()) {
            write!(out, "{alias}")?;
        }
        if is_optional {
            out.write_char('?')?;
        }
        if !self.name.is_empty() {
            write!(out, " {}", self.name)?;
        }
        if let Some(default) = &self.default {
            write!(out, "={}", default_text(default, self.real_type(), ty))?;
        }
        Ok(())
    }
}

/// A default value: strings quoted, a list of equal ints as one of them.
fn default_text(default: &Constant, real_type: &Type, unoptional: &Type) -> String {
    match (default, real_type) {
        (Constant::Str(text), _) if *unoptional == Type::Str => quoted(text),
        (Constant::List(_, items), Type::List(element)) if **element == Type::Int => {
            match items.split_first() {
                Some((first, rest)) if !rest.is_empty() && rest.iter().all(|i| i == first) => {
                    first.stream_text()
                }
                _ => default.stream_text(),
            }
        }
        _ => default.stream_text(),
    }
}

impl Display for Alias {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "({}", self.before.join("|"))?;
        if self.is_write {
            out.write_char('!')?;
        }
        if self.before != self.after {
            write!(out, " -> {}", self.after.join("|"))?;
        }
        out.write_char(')')
    }
}
