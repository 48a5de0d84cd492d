//! Calls with rules of their own: `annotate`, `range`, `list`, `fork` and their like.

use std::ops::RangeInclusive;
use std::sync::Arc;

use sconce_ir::{ClassId, Constant, Prim, Type, ValueId};
use sconce_syntax::Range;
use sconce_syntax::ast::{Expr, ExprKind, Ident, Keyword};

use super::Emitter;
use super::sugared::{SliceObject, SpecialForm, Sugared};
use super::type_hints::Container;
use crate::Error;
use crate::emit::matching::{self, ArgumentValue};

/// A call as it is written.
#[derive(Clone, Copy)]
struct CallSyntax<'a> {
    at: Range,
    callee: &'a Expr,
    args: &'a [Expr],
    keywords: &'a [Keyword],
}

impl<'a> CallSyntax<'a> {
    /// What is called, as errors name it.
    fn name(&self) -> &'a str {
        match &self.callee.kind {
            ExprKind::Name(name) | ExprKind::Attribute { name, .. } => &name.name,
            _ => "call",
        }
    }
}

impl Emitter<'_> {
    /// `callee(args, keywords)`
    pub(super) fn apply(
        &mut self,
        call: &Expr,
        callee: &Expr,
        args: &[Expr],
        keywords: &[Keyword],
        hint: Option<&Type>,
    ) -> Result<Sugared, Error> {
        let target = self.sugared(callee, None)?;
        if let Sugared::SpecialForm(form) = target {
            let written = CallSyntax { at: call.range, callee, args, keywords };
            return self.apply_form(form, written, hint);
        }
        let args = self.passed(args)?;
        let keywords = self.keywords(keywords)?;
        self.call(target, callee.range, &args, &keywords)
    }

    /// Refuses another number of arguments, and keyword arguments.
    pub(super) fn check_count(
        &self,
        call: &Expr,
        callee: &Expr,
        args: &[Expr],
        keywords: &[Keyword],
        count: RangeInclusive<usize>,
    ) -> Result<(), Error> {
        self.check(CallSyntax { at: call.range, callee, args, keywords }, count)
    }

    /// Refuses keyword arguments, which PyTorch does not look at where this is called. Python refuses
    /// them, so that no program that it runs is lost.
    fn refuse_keywords(&self, call: CallSyntax<'_>) -> Result<(), Error> {
        match call.keywords {
            [] => Ok(()),
            _ => Err(self.error(call.at, format!("{} takes no keyword arguments", call.name()))),
        }
    }

    fn check(&self, call: CallSyntax<'_>, count: RangeInclusive<usize>) -> Result<(), Error> {
        let name = call.name();
        let found = call.args.len();
        let (least, most) = (count.start(), count.end());
        let message = if !count.contains(&found) && least == most {
            format!("{name} expected exactly {least} arguments but found {found}")
        } else if !count.contains(&found) {
            format!(
                "{name} expected to have number of arguments between {least} and {most} but found \
                 {found}"
            )
        } else {
            return self.refuse_keywords(call);
        };
        Err(self.error(call.at, message))
    }

    fn apply_form(
        &mut self,
        form: SpecialForm,
        call: CallSyntax<'_>,
        hint: Option<&Type>,
    ) -> Result<Sugared, Error> {
        let CallSyntax { at, callee, args, .. } = call;
        match form {
            SpecialForm::Annotate => {
                self.check(call, 2..=2)?;
                self.annotate(at, &args[0], &args[1]).map(Sugared::Simple)
            }
            SpecialForm::UncheckedCast => {
                self.check(call, 2..=2)?;
                let ty = self.annotation(&args[0])?;
                let value = self.expression(&args[1], None)?;
                // Code in archives casts where the emitter has done so already.
                if self.is_made_by(value, Prim::UncheckedCast) && *self.graph.ty(value) == ty {
                    return Ok(Sugared::Simple(value));
                }
                Ok(Sugared::Simple(self.unchecked_cast(value, ty)))
            }
            SpecialForm::Uninitialized => {
                self.check(call, 1..=1)?;
                let ty = self.annotation(&args[0])?;
                Ok(Sugared::Simple(self.insert_at(Prim::Uninitialized, &[], ty, at)))
            }
            SpecialForm::GetAttr => {
                self.check(call, 2..=3)?;
                self.getattr(call)
            }
            SpecialForm::HasAttr => {
                self.check(call, 2..=2)?;
                let condition = self.has_attribute_condition(&args[0], &args[1])?;
                Ok(Sugared::Simple(condition.value))
            }
            SpecialForm::Isinstance => {
                self.check(call, 2..=2)?;
                Ok(Sugared::Simple(self.isinstance(&args[0], &args[1])?.value))
            }
            SpecialForm::Tuple => {
                self.check(call, 1..=1)?;
                let argument = self.sugared(&args[0], None)?;
                let mut values = Vec::new();
                for element in self.as_tuple(&argument, at, None)? {
                    values.push(self.as_value(element, at)?);
                }
                self.tuple(at, &values).map(Sugared::Simple)
            }
            SpecialForm::ToList => {
                self.check(call, 0..=0)?;
                self.tensor_list(at, callee, hint)
            }
            SpecialForm::Index => {
                self.refuse_keywords(call)?;
                let ExprKind::Attribute { value, .. } = &callee.kind else {
                    return Err(self.error(at, "__getitem__ is a method"));
                };
                let tensor = self.expression(value, None)?;
                self.index_tensor(at, tensor, args).map(Sugared::Simple)
            }
            SpecialForm::CreateObject => self.create_object(call),
            SpecialForm::Range => {
                self.refuse_keywords(call)?;
                let values = self.values(args, true)?;
                Ok(Sugared::Range(self.counter(at, &values, None)?))
            }
            SpecialForm::Slice => self.slice_object(call).map(Sugared::Slice),
            SpecialForm::Enumerate => self.enumerate(call),
            SpecialForm::Zip => {
                if args.is_empty() {
                    return Err(self.error(at, "zip expected at least 1 arguments, got 0"));
                }
                // PyTorch compiles `strict` without the check, which is the graph that is wanted.
                let is_unknown = |keyword: &&Keyword| &*keyword.name.name != "strict";
                if let Some(unknown) = call.keywords.iter().find(is_unknown) {
                    let name = &unknown.name.name;
                    let message = format!("zip() got an unexpected keyword argument '{name}'");
                    return Err(self.error(at, message));
                }
                let mut children = Vec::with_capacity(args.len());
                for argument in args {
                    let sugared = self.sugared(argument, None)?;
                    children.push(self.iterable(sugared, at)?);
                }
                self.tree(at, children)
            }
            SpecialForm::List => self.make_list(call, hint).map(Sugared::Simple),
            SpecialForm::Dict => self.make_dict(call, hint).map(Sugared::Simple),
            SpecialForm::Fork => self.fork(call, Prim::ForkClosure, "fork"),
            SpecialForm::Awaitable => self.fork(call, Prim::AwaitableClosure, "awaitable"),
        }
    }

    /// `slice(start, stop, step)`: what is left out or `None` is a number at once.
    fn slice_object(&mut self, call: CallSyntax<'_>) -> Result<SliceObject, Error> {
        if !call.keywords.is_empty() {
            let message = "Slice does not accept any keyword arguments";
            return Err(self.error(call.callee.range, message));
        }
        let values = self.values(call.args, true)?;
        let (start, stop, step) = match *values.as_slice() {
            [stop] => (None, Some(stop), None),
            [start, stop] => (Some(start), Some(stop), None),
            [start, stop, step] => (Some(start), Some(stop), Some(step)),
            _ => {
                let count = values.len();
                let message = format!("slice accepts exactly 1, 2 or 3 arguments, got: {count}");
                return Err(self.error(call.callee.range, message));
            }
        };
        let mut part = |given: Option<ValueId>, default| match given {
            Some(value) if *self.graph.ty(value) != Type::None => value,
            _ => self.int(default, call.callee.range),
        };
        Ok(SliceObject { start: part(start, 0), stop: part(stop, i64::MAX), step: part(step, 1) })
    }

    fn annotate(&mut self, at: Range, ty: &Expr, value: &Expr) -> Result<ValueId, Error> {
        let args_at = ty.range.merge(value.range);
        let ty = self.annotation(ty)?;
        let value = self.expression(value, Some(&ty))?;
        let value = self.convert(Some(at), &ty, value, true)?;
        if let Err(reason) = self.graph.ty(value).check_subtype_of(&ty, self.unit) {
            let message = format!(
                "expected an expression of type {} but found {}\n{reason}",
                ty.message_text(),
                self.type_text(value)
            );
            return Err(self.error(args_at, message));
        }
        let can_be_none = match &ty {
            Type::Optional(_) => true,
            Type::Union(members) => members.contains(&Type::None),
            _ => false,
        };
        if can_be_none && *self.graph.ty(value) == Type::None {
            // A `None` that remembers what it could have been.
            let none = self.none();
            self.graph.set_type(none, ty);
            return Ok(none);
        }
        Ok(value)
    }

    fn getattr(&mut self, call: CallSyntax<'_>) -> Result<Sugared, Error> {
        let object = self.sugared(&call.args[0], None)?;
        let ExprKind::Str(name) = &call.args[1].kind else {
            let message = "getattr's second argument must be a string literal";
            return Err(self.error(call.at, message));
        };
        if let Some(default) = call.args.get(2)
            && !self.has_attribute(&object, call.at, name)?
        {
            return self.sugared(default, None);
        }
        self.attribute(object, call.at, name)
    }

    /// `x.tolist()`, whose type comes from an annotation.
    fn tensor_list(
        &mut self,
        at: Range,
        callee: &Expr,
        hint: Option<&Type>,
    ) -> Result<Sugared, Error> {
        let ExprKind::Attribute { value, .. } = &callee.kind else {
            return Err(self.error(at, "tolist is a method"));
        };
        let tensor = self.sugared(value, None)?;
        let Some(hint) = hint else {
            return Err(self.error(at, "Expected type hint for result of tolist()"));
        };
        let tensor = self.as_value(tensor, value.range)?;
        let (mut element, mut dims) = (hint, 0);
        while let Type::List(of) = element {
            element = of;
            dims += 1;
        }
        let code = match element {
            Type::Int => 0,
            Type::Float => 1,
            Type::Bool => 2,
            Type::Complex => 3,
            other => {
                let message = format!(
                    "{} is not one of the supported element types for tolist: int, float, \
                     complex, bool",
                    other.message_text()
                );
                return Err(self.error(at, message));
            }
        };
        let dims = self.constant(&Constant::Int(dims), None);
        let code = self.constant(&Constant::Int(code), None);
        let list = self.insert_with(Prim::ToList, &[tensor, dims, code], hint.clone());
        Ok(Sugared::Simple(list))
    }

    /// `C.__new__(C)`
    fn create_object(&mut self, call: CallSyntax<'_>) -> Result<Sugared, Error> {
        self.refuse_keywords(call)?;
        let [argument] = call.args else {
            return Err(self.error(call.at, "Only one argument to __new__ allowed"));
        };
        match self.sugared(argument, None)? {
            Sugared::Class(ClassId(_), ty) => {
                Ok(Sugared::Simple(self.insert_at(Prim::CreateObject, &[], ty, call.at)))
            }
            other => {
                let message = format!(
                    "Expected class value as argument to __new__, got {} instead",
                    other.kind()
                );
                Err(self.error(call.at, message))
            }
        }
    }

    /// `enumerate(x)` is `zip(range(INT64_MAX), x)`.
    fn enumerate(&mut self, call: CallSyntax<'_>) -> Result<Sugared, Error> {
        let CallSyntax { at, args, keywords, .. } = call;
        let (iterable, start) = match (args, keywords) {
            ([], _) => {
                return Err(self.error(at, "enumerate expected at least 1 arguments, got 0"));
            }
            ([iterable], []) => (iterable, None),
            ([iterable, start], []) => (iterable, Some(start)),
            ([iterable], [keyword]) if &*keyword.name.name == "start" => {
                (iterable, Some(&keyword.value))
            }
            ([_], [keyword]) => {
                let name = &keyword.name.name;
                let message = format!("enumerate expected kwarg name 'start', got '{name}'");
                return Err(self.error(at, message));
            }
            _ => {
                let found = args.len() + keywords.len();
                let message = format!("enumerate expected at most 2 arguments, got {found}");
                return Err(self.error(at, message));
            }
        };
        let mut bounds = Vec::with_capacity(2);
        if let Some(start) = start {
            let start = self.sugared(start, None)?;
            bounds.push(self.as_value(start, at)?);
        }
        bounds.push(self.int_literal(i64::MAX, at));
        let iterable = self.sugared(iterable, None)?;
        let iterable = self.iterable(iterable, at)?;
        let counter = self.counter(at, &bounds, iterable.unrolled_length())?;
        self.tree(at, vec![Sugared::Range(counter), iterable])
    }

    // --- list and dict -------------------------------------------------------------------------

    /// An expression that names a variable.
    fn name_expression(at: Range, name: &Arc<str>) -> Expr {
        let ident = Ident { name: Arc::clone(name), range: at };
        Expr { kind: ExprKind::Name(ident), range: at }
    }

    fn make_list(&mut self, call: CallSyntax<'_>, hint: Option<&Type>) -> Result<ValueId, Error> {
        self.refuse_keywords(call)?;
        let CallSyntax { at, args, .. } = call;
        let Some(argument) = args.first() else {
            let hint = self.hint(at, hint, Container::List, true)?;
            if !hint.candidates.is_empty() {
                let message = "Cannot infer the type of an empty list from a Union annotation";
                return Err(self.error(at, message));
            }
            let element = hint.refined.as_ref().and_then(Type::element).cloned();
            let list = self.list(element.unwrap_or(Type::Tensor), &[]);
            return Ok(match hint.union {
                Some(union @ Type::Union(_)) => self.unchecked_cast(list, union),
                _ => list,
            });
        };
        self.check(call, 1..=1)?;
        let iterable = self.sugared(argument, None)?;
        if let Some(value) = iterable.simple()
            && matches!(self.graph.ty(value), Type::List(_) | Type::Str)
        {
            return self.operator(Some(at), "aten::list", &[value]);
        }
        let iterable_name = self.temporary("$_iter");
        self.set_sugared(at, &iterable_name, iterable, None)?;
        let element = Self::name_expression(at, &self.temporary("$_elem"));
        let iterable = Self::name_expression(at, &iterable_name);
        self.list_comprehension(at, &element, &element, &iterable, hint)
    }

    /// `dict(…)`: a copy of a dict, or one made of pairs, and keyword arguments as more items.
    fn make_dict(&mut self, call: CallSyntax<'_>, hint: Option<&Type>) -> Result<ValueId, Error> {
        let CallSyntax { at, args, keywords, .. } = call;
        let hint = match hint {
            Some(Type::Dict(_)) | None => self.hint(at, hint, Container::Dict, false)?,
            Some(other) => {
                let refined = self.hint(at, hint, Container::Dict, false)?;
                if !refined.candidates.is_empty() {
                    let message = format!(
                        "There are multiple candidate Dict types in the Union type annotation \
                         `{}`, and full type inference is not yet supported for the `dict()` \
                         constructor.",
                        other.message_text()
                    );
                    return Err(self.error(at, message));
                }
                refined
            }
        };
        let refined = hint.refined.as_ref();
        let dict = match args {
            [] => self.dict_of_keywords(at, keywords, refined)?,
            [argument] => {
                // A literal that does not fit the annotation is looked at again without it.
                let hinted = match refined {
                    Some(_) if is_container(argument) => self.sugared(argument, refined).ok(),
                    _ => None,
                };
                let source = match hinted {
                    Some(source) => source,
                    None => self.sugared(argument, None)?,
                };
                match source.simple() {
                    Some(value) if matches!(self.graph.ty(value), Type::Dict(_)) => {
                        let dict = self.operator(Some(at), "aten::dict", &[value])?;
                        self.add_keywords(dict, keywords)?;
                        dict
                    }
                    _ if is_empty_container(argument) => {
                        self.dict_of_keywords(at, keywords, refined)?
                    }
                    _ => self.dict_of_pairs(call, argument, refined)?,
                }
            }
            _ => {
                self.check(CallSyntax { keywords: &[], ..call }, 1..=1)?;
                return Err(self.error(at, "dict takes one argument"));
            }
        };
        Ok(match hint.union {
            Some(union @ Type::Union(_)) => self.unchecked_cast(dict, union),
            _ => dict,
        })
    }

    fn add_keywords(&mut self, dict: ValueId, keywords: &[Keyword]) -> Result<(), Error> {
        for keyword in keywords {
            let name = Constant::Str(Arc::clone(&keyword.name.name));
            let key = self.constant(&name, Some(keyword.range));
            let value = self.expression(&keyword.value, None)?;
            self.operator(Some(keyword.range), "aten::_set_item", &[dict, key, value])?;
        }
        Ok(())
    }

    fn pair(at: Range, keyword: &Keyword) -> Expr {
        let key = Expr { kind: ExprKind::Str(Arc::clone(&keyword.name.name)), range: at };
        Expr { kind: ExprKind::Tuple(vec![key, keyword.value.clone()]), range: at }
    }

    fn dict_of_keywords(
        &mut self,
        at: Range,
        keywords: &[Keyword],
        hint: Option<&Type>,
    ) -> Result<ValueId, Error> {
        if keywords.is_empty() {
            let ty = match hint {
                Some(Type::Dict(_)) => hint.cloned(),
                None | Some(Type::Any) => None,
                Some(other) => {
                    let message = format!(
                        "Expected a type annotation of Dict for dict constructor dict(), got {}",
                        other.message_text()
                    );
                    return Err(self.error(at, message));
                }
            };
            let ty = ty.unwrap_or_else(|| Type::dict(Type::Str, Type::Tensor));
            return Ok(self.insert_with(Prim::DictConstruct, &[], ty));
        }
        let pairs = keywords.iter().map(|keyword| Self::pair(at, keyword)).collect();
        self.dict_from_iterable(at, &Expr { kind: ExprKind::List(pairs), range: at }, hint)
    }

    fn dict_of_pairs(
        &mut self,
        call: CallSyntax<'_>,
        argument: &Expr,
        hint: Option<&Type>,
    ) -> Result<ValueId, Error> {
        let at = call.at;
        match &argument.kind {
            ExprKind::List(pairs) if !call.keywords.is_empty() => {
                let mut pairs = pairs.clone();
                pairs.extend(call.keywords.iter().map(|keyword| Self::pair(at, keyword)));
                let list = Expr { kind: ExprKind::List(pairs), range: at };
                self.dict_from_iterable(at, &list, hint)
            }
            _ => {
                self.check(call, 1..=1)?;
                self.dict_from_iterable(at, argument, hint)
            }
        }
    }

    /// `{key: value for (key, value) in iterable}`
    fn dict_from_iterable(
        &mut self,
        at: Range,
        iterable: &Expr,
        hint: Option<&Type>,
    ) -> Result<ValueId, Error> {
        let iterable = self.sugared(iterable, None)?;
        let iterable_name = self.temporary("$_iter");
        let key = Self::name_expression(at, &self.temporary("$_key"));
        let value = Self::name_expression(at, &self.temporary("$_value"));
        self.set_sugared(at, &iterable_name, iterable, None)?;
        let target = Expr { kind: ExprKind::Tuple(vec![key.clone(), value.clone()]), range: at };
        let iterable = Self::name_expression(at, &iterable_name);
        self.dict_comprehension(at, (&key, &value), &target, &iterable, hint)
    }

    // --- fork ----------------------------------------------------------------------------------

    /// `fork(f, …)`, `awaitable(f, …)`: a closure that calls `f`, or the definition `f` itself.
    fn fork(&mut self, call: CallSyntax<'_>, prim: Prim, word: &str) -> Result<Sugared, Error> {
        let CallSyntax { at, args, keywords, .. } = call;
        let Some((target, rest)) = args.split_first() else {
            return Err(self.error(at, format!("Expected at least one argument to {word}()")));
        };
        let target = self.sugared(target, None)?;
        let passed = self.passed(rest)?;
        let keywords = self.keywords(keywords)?;
        let result = self.insert_at(prim, &[], Type::None, at);
        let node = self.graph.value(result).node();
        let closure = match target {
            Sugared::Closure(closure) => closure,
            other => self.with_insertion_point(node, |emitter| {
                emitter.closure_of_call(at, other, &passed, &keywords)
            })?,
        };
        let closure_node = self.graph.node(self.graph.value(closure).node());
        let block = closure_node.blocks().first().copied();
        let output = block.and_then(|block| self.graph.block_outputs(block).first().copied());
        let ty = output.map_or(Type::None, |output| self.graph.ty(output).clone());
        self.graph.add_node_input(node, closure);
        let ty = match prim {
            Prim::AwaitableClosure => Type::Await(Arc::new(ty)),
            _ => Type::future(ty),
        };
        self.graph.set_type(result, ty);
        Ok(Sugared::Simple(result))
    }

    fn closure_of_call(
        &mut self,
        at: Range,
        target: Sugared,
        passed: &[ArgumentValue],
        keywords: &[matching::Keyword],
    ) -> Result<ValueId, Error> {
        let closure = self.closure(|emitter, block| {
            let result = emitter.call(target, at, passed, keywords)?;
            let result = emitter.as_value(result, at)?;
            emitter.graph.add_block_output(block, result);
            Ok(())
        })?;
        self.as_value(closure, at)
    }
}

/// Whether an expression makes a container, so that an annotation could fit it.
fn is_container(expression: &Expr) -> bool {
    matches!(
        expression.kind,
        ExprKind::Dict(_)
            | ExprKind::List(_)
            | ExprKind::DictComp { .. }
            | ExprKind::ListComp { .. }
    )
}

fn is_empty_container(expression: &Expr) -> bool {
    match &expression.kind {
        ExprKind::Dict(items) => items.is_empty(),
        ExprKind::List(elements) => elements.is_empty(),
        _ => false,
    }
}
