//! Which list or dict type an annotation means for a literal: unions may hold several.

use std::fmt::Write as _;

use sconce_ir::Type;
use sconce_syntax::Range;

use super::Emitter;
use crate::Error;

/// What an annotation leaves open for a literal.
#[derive(Default)]
pub(super) struct Hint {
    /// The type of the container, if the annotation gives one.
    pub(super) refined: Option<Type>,
    /// The containers that a union can hold, if they are several.
    pub(super) candidates: Vec<Type>,
    /// The annotation, if it is a union or optional: a literal is cast to it in the end.
    pub(super) union: Option<Type>,
}

/// The kind of container that is sought.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    List,
    Dict,
}

impl Container {
    fn name(self) -> &'static str {
        match self {
            Self::List => "List",
            Self::Dict => "Dict",
        }
    }

    fn is(self, ty: &Type) -> bool {
        match self {
            Self::List => matches!(ty, Type::List(_) | Type::AnyList),
            Self::Dict => matches!(ty, Type::Dict(_)),
        }
    }
}

impl Emitter<'_> {
    /// What an annotation says about a container; [`Type::Any`] says nothing. With `strict`, one that
    /// cannot hold the container is an error.
    pub(super) fn hint(
        &self,
        at: Range,
        annotation: Option<&Type>,
        container: Container,
        strict: bool,
    ) -> Result<Hint, Error> {
        let Some(annotation) = annotation else { return Ok(Hint::default()) };
        let mut hint = Hint { refined: Some(annotation.clone()), ..Hint::default() };
        let name = container.name();
        match annotation {
            Type::Union(members) => {
                hint.union = Some(annotation.clone());
                hint.candidates = members.iter().filter(|ty| container.is(ty)).cloned().collect();
                if strict && hint.candidates.is_empty() {
                    let message = format!(
                        "Expected an Union type annotation with an inner {name} type, but got {}",
                        annotation.message_text()
                    );
                    return Err(self.error(at, message));
                }
                if hint.candidates.len() == 1 {
                    hint.refined = hint.candidates.pop();
                }
            }
            Type::Optional(of) => {
                hint.union = Some(annotation.clone());
                hint.refined = Some((**of).clone());
            }
            _ => {}
        }
        if strict && hint.candidates.is_empty() {
            match &hint.refined {
                Some(Type::Any) => hint.refined = None,
                Some(refined) if container.is(refined) => {}
                _ => {
                    let message = format!(
                        "Expected an annotation of type {name} but got {}",
                        annotation.message_text()
                    );
                    return Err(self.error(at, message));
                }
            }
        }
        Ok(hint)
    }

    /// The list type among the candidates that can hold elements of a type.
    pub(super) fn list_candidate(
        &self,
        at: Range,
        hint: &Hint,
        element: &Type,
    ) -> Result<Type, Error> {
        let mut greatest: Option<Type> = None;
        for candidate in &hint.candidates {
            let Some(of) = candidate.element() else { continue };
            if element.is_subtype_of(of, self.unit) {
                let unified = greatest.and_then(|ty| Type::unify(&ty, of, false, None, self.unit));
                greatest = Some(unified.unwrap_or_else(|| of.clone()));
            }
        }
        greatest.map(Type::list).ok_or_else(|| {
            let message = format!(
                "{}those types match the types of the given list elements, which were unified to \
                 {}",
                self.can_hold(hint),
                element.message_text()
            );
            self.error(at, message)
        })
    }

    /// The dict type among the candidates that can hold keys and values of some types.
    pub(super) fn dict_candidate(
        &self,
        at: Range,
        hint: &Hint,
        key: &Type,
        value: &Type,
    ) -> Result<Type, Error> {
        let mut chosen: Option<(&Type, &Type, &Type)> = None;
        for candidate in &hint.candidates {
            let Type::Dict(of) = candidate else { continue };
            let holds =
                key.is_subtype_of(&of.0, self.unit) && value.is_subtype_of(&of.1, self.unit);
            let wider = chosen.is_none_or(|(_, key, value)| {
                key.is_subtype_of(&of.0, self.unit) && value.is_subtype_of(&of.1, self.unit)
            });
            if holds && wider {
                chosen = Some((candidate, &of.0, &of.1));
            }
        }
        chosen.map(|(candidate, ..)| candidate.clone()).ok_or_else(|| {
            let message = format!(
                "{}those dict types can hold the types of the given keys and values, which were \
                 unified to Dict[{}, {}",
                self.can_hold(hint),
                key.message_text(),
                value.message_text()
            );
            self.error(at, message)
        })
    }

    fn can_hold(&self, hint: &Hint) -> String {
        let union = hint.union.as_ref().map_or_else(String::new, Type::message_text);
        let mut text = format!("Union type annotation `{union}` can hold ");
        let count = hint.candidates.len();
        for (index, candidate) in hint.candidates.iter().enumerate() {
            if index > 0 && count > 2 {
                text.push_str(", ");
            }
            if index > 0 && index == count - 1 {
                text.push_str(" or ");
            }
            let _ = write!(text, "{}", candidate.message_text());
        }
        text.push_str(", but none of ");
        text
    }
}
