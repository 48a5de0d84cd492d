//! Type variables of schemas (`t` in `t[]`) and what they stand for in a call:
//! `matchTypeVariables` and `tryEvalTypeVariables`.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{Type, Unit};

/// What each type variable of a schema stands for.
pub type TypeVariables = FxHashMap<Arc<str>, Type>;

impl Type {
    /// Finds what the variables of a schema's type stand for, given the type of what is passed, and
    /// gives the type with them filled in. What a variable stands for stays what it first was.
    ///
    /// # Errors
    /// PyTorch's text on why the two do not match.
    pub fn match_type_variables(
        &self,
        actual: &Self,
        variables: &mut TypeVariables,
        unit: &Unit,
    ) -> Result<Self, String> {
        if !self.has_variables() {
            return Ok(self.clone());
        }
        let mut inner =
            |formal: &Self, actual: &Self| formal.match_type_variables(actual, variables, unit);
        match (self, actual) {
            (Self::Var(name), _) => bind(name, actual, variables, unit),
            (Self::List(formal), Self::List(actual)) => Ok(Self::list(inner(formal, actual)?)),
            (Self::List(formal), Self::Tuple(tuple)) => {
                match Self::unify_all(&tuple.elements, false, None, unit) {
                    Ok(element) => Ok(Self::list(inner(formal, &element)?)),
                    Err(_) => Err(mismatch(self, actual)),
                }
            }
            (Self::List(_), _) => Err(mismatch(self, actual)),
            (Self::Tuple(formal), Self::Tuple(actual)) => {
                if formal.elements.len() != actual.elements.len() {
                    return Err("Cannot match tuples of mismatched size".into());
                }
                let pairs = formal.elements.iter().zip(&actual.elements);
                let elements = pairs.map(|(formal, actual)| inner(formal, actual));
                Ok(Self::tuple(elements.collect::<Result<_, _>>()?))
            }
            (Self::Tuple(_), _) => Err(cannot("a tuple", actual)),
            (Self::Future(formal), Self::Future(actual)) => {
                Ok(Self::future(inner(formal, actual)?))
            }
            (Self::Future(_), _) => Err(cannot("a future", actual)),
            (Self::Await(formal), Self::Await(actual)) => {
                Ok(Self::Await(Arc::new(inner(formal, actual)?)))
            }
            (Self::Await(_), _) => Err(cannot("an await", actual)),
            (Self::RRef(formal), Self::RRef(actual)) => {
                Ok(Self::RRef(Arc::new(inner(formal, actual)?)))
            }
            (Self::RRef(_), _) => Err(cannot("a rref", actual)),
            (Self::Optional(formal), Self::Optional(actual)) => {
                Ok(Self::optional(inner(formal, actual)?))
            }
            // `None` fits and says nothing of the variable; that it has no value shows when the
            // type is evaluated.
            (Self::Optional(_), Self::None) => Ok(self.clone()),
            (Self::Optional(formal), _) => inner(formal, actual),
            (Self::Dict(formal), Self::Dict(actual)) => {
                let key = inner(&formal.0, &actual.0)?;
                Ok(Self::dict(key, inner(&formal.1, &actual.1)?))
            }
            (Self::Dict(_), _) => Err(cannot("a dict", actual)),
            _ => Err(format!("Unhandled free variable container: {}", self.message_text())),
        }
    }

    /// The type with its variables filled in; `None` when one of them stands for nothing yet.
    pub fn evaluate_type_variables(&self, variables: &TypeVariables, unit: &Unit) -> Option<Self> {
        if let Self::Var(name) = self {
            return variables.get(name).cloned();
        }
        if !self.has_variables() {
            return Some(self.clone());
        }
        let parts = self.contained().into_iter();
        let parts = parts.map(|part| part.evaluate_type_variables(variables, unit));
        Some(self.with_contained(parts.collect::<Option<_>>()?, unit))
    }
}

fn bind(
    name: &Arc<str>,
    actual: &Type,
    variables: &mut TypeVariables,
    unit: &Unit,
) -> Result<Type, String> {
    let Some(bound) = variables.get(name) else {
        variables.insert(Arc::clone(name), actual.clone());
        return Ok(actual.clone());
    };
    if Type::unify(bound, actual, false, None, unit).is_some() {
        // Whether `actual` fits what is bound is for the caller to check.
        return Ok(bound.clone());
    }
    Err(format!(
        "Type variable '{name}' previously matched to type {} is matched to type {}",
        bound.message_text(),
        actual.message_text()
    ))
}

fn mismatch(formal: &Type, actual: &Type) -> String {
    format!("Cannot match {} to {}", formal.message_text(), actual.message_text())
}

fn cannot(formal: &str, actual: &Type) -> String {
    format!("Cannot match {formal} to {}", actual.message_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Type {
        let schema = crate::Schema::parse(&format!("f({text} x) -> ()")).unwrap();
        schema.arguments[0].ty.clone()
    }

    #[test]
    fn variables_stand_for_what_they_are_first_matched_with() {
        let unit = Unit::new();
        /// Formal and actual types in order, and what comes of the last.
        type Case = (&'static [(&'static str, &'static str)], Result<&'static str, &'static str>);
        let cases: &[Case] = &[
            (&[("t[]", "int[]"), ("t", "int")], Ok("int")),
            (&[("t[]", "int[]"), ("t[]", "(int, int)")], Ok("int[]")),
            (&[("t[]", "(int, str)")], Err("Cannot match List[t] to Tuple[int, str]")),
            (&[("t[]", "str")], Err("Cannot match List[t] to str")),
            (&[("Dict(str, t)", "Dict(str, float?)")], Ok("Dict(str, float?)")),
            (&[("Dict(str, t)", "int")], Err("Cannot match a dict to int")),
            (&[("t?", "int?")], Ok("int?")),
            (&[("t?", "int")], Ok("int")),
            (&[("t?", "NoneType")], Ok("t?")),
            (&[("(t, t1)", "(int, str)"), ("(t1, t)", "(str, int)")], Ok("(str, int)")),
            (&[("(t, t)", "(int)")], Err("Cannot match tuples of mismatched size")),
            (&[("(t, t)", "int")], Err("Cannot match a tuple to int")),
            (&[("Future(t)", "Future(int)")], Ok("Future[int]")),
            (&[("Future(t)", "int")], Err("Cannot match a future to int")),
            (&[("RRef(t)", "int")], Err("Cannot match a rref to int")),
            (&[("Await(t)", "int")], Err("Cannot match an await to int")),
            (&[("t", "int"), ("t", "int?")], Ok("int")),
            (
                &[("t[]", "int[]"), ("t", "str")],
                Err("Type variable 't' previously matched to type int is matched to type str"),
            ),
        ];
        for (matches, expected) in cases {
            let mut variables = TypeVariables::default();
            let mut last = Err("nothing".to_owned());
            for (formal, actual) in *matches {
                last = read(formal).match_type_variables(&read(actual), &mut variables, &unit);
            }
            let found = last.map(|ty| ty.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), *expected, "{matches:?}");
        }
    }

    #[test]
    fn a_variable_without_a_value_evaluates_to_nothing() {
        let unit = Unit::new();
        let mut variables = TypeVariables::default();
        assert_eq!(read("t[]").evaluate_type_variables(&variables, &unit), None);
        variables.insert("t".into(), Type::Int);
        let evaluated = read("Dict(str, t?)").evaluate_type_variables(&variables, &unit);
        assert_eq!(evaluated.unwrap().to_string(), "Dict(str, int?)");
    }
}
