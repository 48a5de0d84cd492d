//! List and dict literals and comprehensions.

use sconce_ir::{BlockId, Prim, Type, ValueId};
use sconce_syntax::Range;
use sconce_syntax::ast::Expr;

use super::Emitter;
use super::type_hints::Container;
use crate::Error;
use crate::annotations::check_key;
use crate::emit::matching::{ArgumentValue, Arguments};

impl Emitter<'_> {
    pub(super) fn list_literal(
        &mut self,
        at: Range,
        elements: &[Expr],
        annotation: Option<&Type>,
    ) -> Result<ValueId, Error> {
        let values = self.values(elements, true)?;
        if values.is_empty() && annotation.is_none() {
            // Of whatever type it is used as; a list of tensors if it is stored first.
            return Ok(self.insert_with(Prim::EmptyListLiteral, &[], Type::list(Type::Tensor)));
        }
        let hint = self.hint(at, annotation, Container::List, true)?;
        if !hint.candidates.is_empty() && values.is_empty() {
            let message = format!(
                "Cannot assign an empty list to a variable annotated to be type {} because there \
                 are multiple possible List type candidates in the Union annotation",
                annotation.map_or_else(String::new, Type::message_text)
            );
            return Err(self.error(at, message));
        }
        let wanted = hint.refined.as_ref().and_then(Type::element).cloned();
        let mut element = wanted.clone().unwrap_or(Type::Tensor);
        if !values.is_empty() {
            let types: Vec<Type> =
                values.iter().map(|&value| self.graph.ty(value).clone()).collect();
            let unified = Type::unify_all(&types, true, wanted.as_ref(), self.unit)
                .map_err(|reason| self.error(at, reason))?;
            if !hint.candidates.is_empty() {
                let list = self.list_candidate(at, &hint, &unified)?;
                element = list.element().cloned().unwrap_or(Type::Tensor);
            } else if let Some(refined) = &hint.refined {
                if !unified.is_subtype_of(&element, self.unit) {
                    return Err(self.list_mismatch(at, refined, &unified));
                }
            } else {
                element = unified;
            }
        }
        let list = self.list(element, &values);
        Ok(match hint.union {
            Some(union) => self.unchecked_cast(list, union),
            None => list,
        })
    }

    fn list_mismatch(&self, at: Range, annotation: &Type, unified: &Type) -> Error {
        let message = format!(
            "List type annotation `{}` did not match the types of the given list elements, which \
             were unified to {}",
            annotation.message_text(),
            unified.message_text()
        );
        self.error(at, message)
    }

    pub(super) fn dict_literal(
        &mut self,
        at: Range,
        items: &[(Expr, Expr)],
        annotation: Option<&Type>,
    ) -> Result<ValueId, Error> {
        let mut inputs = Vec::with_capacity(2 * items.len());
        let mut types: Option<(Type, Type)> = None;
        for (key, value) in items {
            let key_value = self.expression(key, None)?;
            let value = self.expression(value, None)?;
            inputs.extend([key_value, value]);
            let key_type = self.graph.ty(key_value).clone();
            let value_type = self.graph.ty(value).clone();
            types = Some(match types {
                None => (key_type, value_type),
                Some((first, _))
                    if std::mem::discriminant(&first) != std::mem::discriminant(&key_type) =>
                {
                    let message = format!(
                        "Dict keys must contain only a single type. Expected: {} but found {} \
                         instead",
                        first.message_text(),
                        key_type.message_text()
                    );
                    return Err(self.error(key.range, message));
                }
                Some((first, before)) => {
                    let unified = Type::unify(&before, &value_type, true, None, self.unit);
                    (first, unified.unwrap_or(value_type))
                }
            });
        }
        let hint = self.hint(at, annotation, Container::Dict, true)?;
        if !hint.candidates.is_empty() && types.is_none() {
            let message = format!(
                "Cannot assign an empty dict to a variable annotated to be type {} because there \
                 are multiple possible Dict type candidates in the Union annotation",
                annotation.map_or_else(String::new, Type::message_text)
            );
            return Err(self.error(at, message));
        }
        let refined = match (&hint.refined, &types) {
            _ if !hint.candidates.is_empty() => {
                let (key, value) = types.clone().unwrap_or((Type::Str, Type::Tensor));
                self.dict_candidate(at, &hint, &key, &value)?
            }
            (Some(refined), _) => refined.clone(),
            (None, Some((key, value))) => {
                check_key(key).map_err(|error| error.or_at(self.source_range(at)))?;
                Type::dict(key.clone(), value.clone())
            }
            (None, None) => Type::dict(Type::Str, Type::Tensor),
        };
        if let (Some((key, value)), Type::Dict(of)) = (&types, &refined) {
            if of.0 != *key {
                let message = format!(
                    "Type annotation was inferred to be {}but the type of keys given by the dict \
                     literal is {}",
                    refined.message_text(),
                    key.message_text()
                );
                return Err(self.error(at, message));
            }
            if !value.is_subtype_of(&of.1, self.unit) {
                let message = format!(
                    "Type annotation was inferred to be `{}`, but the type of values given by the \
                     dict literal is {}",
                    refined.message_text(),
                    value.message_text()
                );
                return Err(self.error(at, message));
            }
        }
        let dict = self.insert_with(Prim::DictConstruct, &inputs, refined);
        Ok(match hint.union {
            Some(union) => self.unchecked_cast(dict, union),
            None => dict,
        })
    }

    /// `[element for target in iterable]`: an empty list, and a loop that appends to it.
    pub(super) fn list_comprehension(
        &mut self,
        at: Range,
        element: &Expr,
        target: &Expr,
        iterable: &Expr,
        annotation: Option<&Type>,
    ) -> Result<ValueId, Error> {
        let list = self.insert_with(Prim::ListConstruct, &[], Type::list(Type::Tensor));
        let mut hint = self.hint(at, annotation, Container::List, true)?;
        if let (Some(refined), true) = (&hint.refined, hint.candidates.is_empty()) {
            self.graph.set_type(list, refined.clone());
        }
        let mut seen_first = false;
        self.comprehension(at, target, iterable, &mut |emitter| {
            let out = emitter.expression(element, None)?;
            let ty = emitter.graph.ty(out).clone();
            if !seen_first {
                emitter.graph.set_type(list, Type::list(ty.clone()));
                seen_first = true;
            }
            let before = emitter.graph.ty(list).element().cloned().unwrap_or_else(|| ty.clone());
            let wanted = hint.refined.as_ref().and_then(Type::element).cloned();
            let unified = Type::unify(&before, &ty, true, wanted.as_ref(), emitter.unit);
            let unified = unified.unwrap_or_else(|| ty.clone());
            if !hint.candidates.is_empty() {
                hint.refined = Some(emitter.list_candidate(at, &hint, &unified)?);
            } else if let (Some(refined), Some(wanted)) = (&hint.refined, &wanted) {
                if !unified.is_subtype_of(wanted, emitter.unit) {
                    return Err(emitter.list_mismatch(at, refined, &unified));
                }
            } else if hint.refined.is_none() {
                hint.refined = Some(Type::list(unified));
            }
            if let Some(refined) = &hint.refined {
                emitter.graph.set_type(list, refined.clone());
                if let Some(element) = refined.element() {
                    emitter.graph.set_type(out, element.clone());
                }
            }
            let (passed, receiver) = ([ArgumentValue::Value(out)], ArgumentValue::Value(list));
            let arguments =
                Arguments { positional: &passed, keywords: &[], receiver: Some(&receiver) };
            emitter.call_operator(Some(at), "aten::append", arguments).map(drop)
        })?;
        Ok(list)
    }

    /// `{key: value for target in iterable}`
    pub(super) fn dict_comprehension(
        &mut self,
        at: Range,
        (key, value): (&Expr, &Expr),
        target: &Expr,
        iterable: &Expr,
        annotation: Option<&Type>,
    ) -> Result<ValueId, Error> {
        let empty = Type::dict(Type::Str, Type::Tensor);
        let dict = self.insert_with(Prim::DictConstruct, &[], empty);
        let mut hint = self.hint(at, annotation, Container::Dict, true)?;
        if let (Some(refined), true) = (&hint.refined, hint.candidates.is_empty()) {
            self.graph.set_type(dict, refined.clone());
        }
        let mut first_key: Option<Type> = None;
        self.comprehension(at, target, iterable, &mut |emitter| {
            let key = emitter.expression(key, None)?;
            let value = emitter.expression(value, None)?;
            let key_type = emitter.graph.ty(key).clone();
            let value_type = emitter.graph.ty(value).clone();
            emitter.check_key(at, &key_type, first_key.as_ref())?;
            first_key = Some(key_type.clone());
            let is_open = hint.refined.is_none();
            if let (Some(Type::Dict(of)), true) = (&hint.refined, hint.candidates.is_empty()) {
                emitter.check_item(at, of, &key_type, &value_type)?;
            }
            if !hint.candidates.is_empty() {
                hint.refined = Some(emitter.dict_candidate(at, &hint, &key_type, &value_type)?);
            }
            match &hint.refined {
                Some(refined) if !is_open => {
                    emitter.graph.set_type(dict, refined.clone());
                    if let Type::Dict(of) = refined {
                        emitter.graph.set_type(key, of.0.clone());
                        emitter.graph.set_type(value, of.1.clone());
                    }
                }
                _ => emitter.graph.set_type(dict, Type::dict(key_type, value_type)),
            }
            emitter.operator(Some(at), "aten::_set_item", &[dict, key, value]).map(drop)
        })?;
        Ok(match hint.union {
            Some(union) => self.unchecked_cast(dict, union),
            None => dict,
        })
    }

    fn check_key(&self, at: Range, key: &Type, first: Option<&Type>) -> Result<(), Error> {
        let message = match first {
            _ if matches!(key, Type::Union(_)) => format!(
                "Dicts may only contain homogeneous keys, but the type of the first generated key \
                 was {}",
                key.message_text()
            ),
            Some(first) if first != key => format!(
                "Dicts may only contain homogeneous keys. Expected dict comprehension to generate \
                 type {}, but got {}",
                first.message_text(),
                key.message_text()
            ),
            _ => return Ok(()),
        };
        Err(self.error(at, message))
    }

    fn check_item(
        &self,
        at: Range,
        dict: &(Type, Type),
        key: &Type,
        value: &Type,
    ) -> Result<(), Error> {
        let mut message = String::new();
        for (what, actual, wanted) in [("key", key, &dict.0), ("value", value, &dict.1)] {
            if let Err(reason) = actual.check_subtype_of(wanted, self.unit) {
                message.push_str(&format!(
                    "Dict type annotation `{}` did not match the type of an actual {what} type \
                     `{}`\n{reason}",
                    Type::dict(dict.0.clone(), dict.1.clone()).message_text(),
                    actual.message_text()
                ));
            }
        }
        if message.is_empty() { Ok(()) } else { Err(self.error(at, message)) }
    }

    /// A loop in a scope of its own.
    fn comprehension(
        &mut self,
        at: Range,
        target: &Expr,
        iterable: &Expr,
        body: &mut dyn FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let scope = self.insert(Prim::ComprehensionScope, &[]);
        self.set_range(scope, at);
        let block: BlockId = self.graph.add_block(scope);
        self.push_frame(block);
        self.in_block(block, |emitter| {
            let (target, iterable) = (std::slice::from_ref(target), std::slice::from_ref(iterable));
            emitter.for_loop(at, target, iterable, body)
        })?;
        self.pop_frame();
        Ok(())
    }
}
