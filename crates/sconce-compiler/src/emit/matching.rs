//! Which of an operator's overloads, or of a function, a call means, and with which conversions:
//! PyTorch's `schema_matching`.

use std::fmt::Write as _;
use std::sync::Arc;

use sconce_ir::{Argument, Constant, Kind, Prim, Schema, Type, TypeVariables, ValueId};
use sconce_ir::{NamedTuple, NodeId, Operator, OperatorId, TupleType, operators};
use sconce_syntax::Range;
use sconce_syntax::SourceRange;

use crate::builtins::Builtin;
use crate::emit::Emitter;
use crate::{Error, apply_upgraders, suggestions};

/// Something that is passed to a call.
#[derive(Clone)]
pub(crate) enum ArgumentValue {
    /// A value.
    Value(ValueId),
    /// A default, which becomes a constant each time it is looked at.
    Default(Constant),
}

/// Something that is passed by name.
#[derive(Clone)]
pub(crate) struct Keyword {
    pub(crate) name: Arc<str>,
    pub(crate) value: ArgumentValue,
}

/// What a call passes.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a> {
    pub(crate) positional: &'a [ArgumentValue],
    pub(crate) keywords: &'a [Keyword],
    /// What a method's operator is bound to: it goes where the argument is called `self`.
    pub(crate) receiver: Option<&'a ArgumentValue>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn positional(positional: &'a [ArgumentValue]) -> Self {
        Self { positional, keywords: &[], receiver: None }
    }
}

/// What a call passes once it fits a schema.
pub(crate) struct Matched {
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) returns: Vec<Type>,
}

/// One of the things that an operator's name can mean.
enum Candidate {
    Operator(&'static Operator),
    Outdated(&'static apply_upgraders::Upgrader, usize),
    Builtin(&'static Builtin),
}

impl Candidate {
    fn schema(&self) -> &Schema {
        match self {
            Self::Operator(operator) => &operator.schema,
            Self::Outdated(upgrader, _) => upgrader.old_schema(),
            Self::Builtin(builtin) => &builtin.schema,
        }
    }
}

/// Why a call does not fit, written only when it is asked for.
struct Failures<'a> {
    text: Option<&'a mut String>,
}

impl Failures<'_> {
    fn note(&mut self, schema: &Schema, reason: impl FnOnce() -> String) {
        if let Some(text) = &mut self.text {
            let _ = write!(text, "\n{schema}:\n{}", reason());
        }
    }
}

const EMPTY_LIST_HINT: &str = "Empty lists default to List[Tensor]. Add a variable annotation to the \
                               assignment to create an empty list of another type \
                               (torch.jit.annotate(List[T, []]) where T is the type of elements in \
                               the list for Python 2)\n";

impl Emitter<'_> {
    fn value_of(&mut self, passed: &ArgumentValue) -> ValueId {
        match passed {
            ArgumentValue::Value(value) => *value,
            ArgumentValue::Default(constant) => self.constant(constant, None),
        }
    }

    // --- operators -----------------------------------------------------------------------------

    /// A call of an operator with values alone.
    pub(crate) fn operator(
        &mut self,
        at: Option<Range>,
        symbol: &str,
        inputs: &[ValueId],
    ) -> Result<ValueId, Error> {
        let passed: Vec<ArgumentValue> = inputs.iter().copied().map(ArgumentValue::Value).collect();
        self.call_operator(at, symbol, Arguments::positional(&passed))
    }

    /// A call of an operator: `emitBuiltinCall`.
    pub(crate) fn call_operator(
        &mut self,
        at: Option<Range>,
        symbol: &str,
        arguments: Arguments<'_>,
    ) -> Result<ValueId, Error> {
        let candidates = self.candidates(symbol);
        if candidates.is_empty() {
            return Err(self.unknown_operator(at, symbol));
        }
        let schemas = candidates.iter().map(Candidate::schema);
        let (chosen, matched) = self.match_schemas(at, schemas, arguments)?;
        match &candidates[chosen] {
            Candidate::Operator(operator) => {
                let schema = &operator.schema;
                Ok(self.operator_node(at, &schema.name, Some(operator.id), schema, &matched).1)
            }
            Candidate::Outdated(upgrader, index) => {
                let schema = upgrader.old_schema();
                let (node, value) = self.operator_node(at, &schema.name, None, schema, &matched);
                self.outdated.insert(node, *index);
                Ok(value)
            }
            Candidate::Builtin(builtin) => Ok(self.inline_builtin(builtin, &matched.inputs)),
        }
    }

    fn candidates(&self, symbol: &str) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let mut outdated = Vec::new();
        for operator in operators::named(symbol) {
            match apply_upgraders::find(&operator.schema, self.op_version()) {
                Some((index, upgrader)) => outdated.push(Candidate::Outdated(upgrader, index)),
                None => candidates.push(Candidate::Operator(operator)),
            }
        }
        candidates.append(&mut outdated);
        if let Some(builtins) = self.builtins {
            candidates.extend(builtins.named(symbol).map(Candidate::Builtin));
        }
        candidates
    }

    fn unknown_operator(&self, at: Option<Range>, symbol: &str) -> Error {
        let mut message = format!("Unknown builtin op: {symbol}.\n");
        let similar = suggestions::operators(symbol);
        if similar.is_empty() {
            let _ = writeln!(
                message,
                "Could not find any similar ops to {symbol}. This op may not exist or may not be \
                 currently supported in TorchScript."
            );
        } else {
            message.push_str("Here are some suggestions: \n");
            for name in similar {
                let _ = writeln!(message, "\t{name}");
            }
            message.push_str("\nThe original call is");
        }
        self.error(at, message)
    }

    /// The node of an operator, and its value: its only output, or a tuple of all.
    fn operator_node(
        &mut self,
        at: Option<Range>,
        symbol: &Arc<str>,
        operator: Option<OperatorId>,
        schema: &Schema,
        matched: &Matched,
    ) -> (NodeId, ValueId) {
        let kind = match Prim::from_symbol(symbol) {
            Some(prim) => Kind::Prim(prim),
            None => Kind::Op(Arc::clone(symbol)),
        };
        let node = self.insert(kind, &matched.inputs);
        let range = at.map_or_else(SourceRange::fake, |at| self.source_range(at));
        self.graph.node_mut(node).range = Some(range);
        self.graph.node_mut(node).operator = operator;
        for ty in &matched.returns {
            self.graph.add_output(node, ty.clone());
        }
        let outputs = self.graph.node(node).outputs();
        if let &[only] = outputs {
            return (node, only);
        }
        let outputs = outputs.to_vec();
        (node, self.pack(&outputs, schema))
    }

    /// Several results as one tuple, a NamedTuple when all have names.
    fn pack(&mut self, outputs: &[ValueId], schema: &Schema) -> ValueId {
        let elements = outputs.iter().map(|&output| self.graph.ty(output).clone()).collect();
        let has_names = schema.returns.iter().all(|returned| !returned.name.is_empty());
        let named = has_names.then(|| NamedTuple {
            name: "".into(),
            fields: schema.returns.iter().map(|returned| Arc::clone(&returned.name)).collect(),
            defaults: Vec::new(),
        });
        let ty = Type::Tuple(Arc::new(TupleType { elements, named }));
        self.insert_with(Prim::TupleConstruct, outputs, ty)
    }

    fn inline_builtin(&mut self, builtin: &Builtin, inputs: &[ValueId]) -> ValueId {
        let parameters = builtin.graph.inputs().iter().copied();
        let mut map = parameters.zip(inputs.iter().copied()).collect();
        let point = self.insertion_point();
        let results = self.graph.insert_copy(&builtin.graph, builtin.graph.root(), point, &mut map);
        match results.first() {
            Some(&result) => result,
            None => self.constant(&Constant::None, None),
        }
    }

    // --- schemas -------------------------------------------------------------------------------

    /// Fits a call to one schema.
    pub(crate) fn match_schema(
        &mut self,
        at: Option<Range>,
        schema: &Schema,
        arguments: Arguments<'_>,
    ) -> Result<Matched, Error> {
        let mut text = String::new();
        let mut failures = Failures { text: None };
        if let Some(matched) = self.try_match(at, schema, arguments, true, &mut failures)? {
            return Ok(matched);
        }
        // Only now is it worth finding words.
        let mut failures = Failures { text: Some(&mut text) };
        self.try_match(at, schema, arguments, true, &mut failures)?;
        Err(self.error(at, text))
    }

    /// Fits a call to the first of several schemas that it fits: without implicit conversions if
    /// that can be.
    pub(crate) fn match_schemas<'s>(
        &mut self,
        at: Option<Range>,
        schemas: impl ExactSizeIterator<Item = &'s Schema> + Clone,
        arguments: Arguments<'_>,
    ) -> Result<(usize, Matched), Error> {
        if schemas.len() == 1
            && let Some(schema) = schemas.clone().next()
        {
            return Ok((0, self.match_schema(at, schema, arguments)?));
        }
        for conversions in [false, true] {
            for (index, schema) in schemas.clone().enumerate() {
                let mut failures = Failures { text: None };
                let matched = self.try_match(at, schema, arguments, conversions, &mut failures)?;
                if let Some(matched) = matched {
                    return Ok((index, matched));
                }
            }
        }
        let mut text = String::new();
        for schema in schemas {
            let mut failures = Failures { text: Some(&mut text) };
            self.try_match(at, schema, arguments, true, &mut failures)?;
        }
        let message = format!(
            "Arguments for call are not valid.\nThe following variants are available:\n{}\nThe \
             original call is",
            indented(&text)
        );
        Err(self.error(at, message))
    }

    fn try_match(
        &mut self,
        at: Option<Range>,
        schema: &Schema,
        arguments: Arguments<'_>,
        conversions: bool,
        failures: &mut Failures<'_>,
    ) -> Result<Option<Matched>, Error> {
        if is_blocked(schema) {
            return Ok(None);
        }
        let mut call = Call {
            at,
            schema,
            conversions,
            variables: TypeVariables::default(),
            inputs: Vec::with_capacity(schema.arguments.len()),
        };
        let is_aten = schema.name.starts_with("aten::");
        let Arguments { positional, keywords, mut receiver } = arguments;
        let mut used = 0;
        let mut used_keywords = vec![false; keywords.len()];
        for (index, argument) in schema.arguments.iter().enumerate() {
            let default;
            let passed = if let Some(bound) = receiver.take_if(|_| &*argument.name == "self") {
                bound
            } else if !argument.kwarg_only && used < positional.len() {
                if conversions && takes_the_rest(schema, index) {
                    let rest = &positional[used..];
                    match self.rest_as_list(&mut call, argument, rest, failures)? {
                        Rest::IsAList => {}
                        Rest::List(list) => {
                            used = positional.len();
                            call.inputs.push(list);
                            continue;
                        }
                        Rest::Failed => return Ok(None),
                    }
                }
                used += 1;
                &positional[used - 1]
            } else if let Some(index) = keyword_for(argument, keywords, is_aten) {
                if std::mem::replace(&mut used_keywords[index], true) {
                    failures.note(schema, || {
                        let name = &keywords[index].name;
                        format!("Argument {name} specified twice in schema, submit a bug report!\n")
                    });
                    return Ok(None);
                }
                &keywords[index].value
            } else if let Some(value) = &argument.default {
                default = ArgumentValue::Default(value.clone());
                &default
            } else {
                failures.note(schema, || format!("Argument {} not provided.\n", argument.name));
                return Ok(None);
            };
            let Some(input) = self.match_argument(&mut call, argument, passed, failures)? else {
                return Ok(None);
            };
            call.inputs.push(input);
        }
        if receiver.is_some() {
            failures.note(schema, || "Provided self argument not used in schema.\n".into());
            return Ok(None);
        }
        if schema.is_vararg {
            for passed in &positional[used..] {
                let value = self.value_of(passed);
                call.inputs.push(value);
            }
        } else if used < positional.len() {
            failures.note(schema, || {
                let found = positional.len();
                format!(
                    "Expected at most {used} arguments but found {found} positional arguments.\n"
                )
            });
            return Ok(None);
        }
        if let Some(unused) = used_keywords.iter().position(|used| !used) {
            failures.note(schema, || {
                let name = &keywords[unused].name;
                let known = schema.arguments.iter().any(|argument| argument.name == *name);
                let what = if known { "specified twice" } else { "unknown" };
                format!("Keyword argument {name} {what}.\n")
            });
            return Ok(None);
        }
        Ok(Some(self.matched(call)))
    }

    fn matched(&self, call: Call<'_>) -> Matched {
        let returns = call.schema.returns.iter().map(|returned| {
            let ty = returned.ty.evaluate_type_variables(&call.variables, self.unit);
            ty.unwrap_or_else(|| returned.ty.clone())
        });
        Matched { returns: returns.collect(), inputs: call.inputs }
    }

    /// The positional arguments that are left as one list, if the first of them is none:
    /// `zeros(1, 2)`.
    fn rest_as_list(
        &mut self,
        call: &mut Call<'_>,
        argument: &Argument,
        rest: &[ArgumentValue],
        failures: &mut Failures<'_>,
    ) -> Result<Rest, Error> {
        let Some(first) = rest.first() else { return Ok(Rest::IsAList) };
        let value = self.value_of(first);
        let ty = self.graph.ty(value);
        let Type::List(element) = &argument.ty else { return Ok(Rest::IsAList) };
        if matches!(ty, Type::List(_)) || convertible_to_list(ty, &argument.ty, self.unit) {
            return Ok(Rest::IsAList);
        }
        let element_argument = Argument::new("<varargs>", (**element).clone());
        let mut values = Vec::with_capacity(rest.len());
        for passed in rest {
            match self.match_argument(call, &element_argument, passed, failures)? {
                Some(value) => values.push(value),
                None => return Ok(Rest::Failed),
            }
        }
        Ok(Rest::List(self.list((**element).clone(), &values)))
    }

    fn match_argument(
        &mut self,
        call: &mut Call<'_>,
        argument: &Argument,
        passed: &ArgumentValue,
        failures: &mut Failures<'_>,
    ) -> Result<Option<ValueId>, Error> {
        let mut value = self.value_of(passed);
        if let Some((element, count)) = argument.broadcasting_list()
            && matches!(element, Type::Int | Type::Float)
            && self.graph.ty(value) == element
        {
            let repeated = vec![value; count as usize];
            value = self.list(element.clone(), &repeated);
        }
        let evaluated;
        let ty = if argument.ty.has_variables() {
            let actual = self.graph.ty(value);
            let matched = argument.ty.match_type_variables(actual, &mut call.variables, self.unit);
            match matched {
                Ok(ty) => evaluated = ty,
                Err(reason) => {
                    failures.note(call.schema, || {
                        format!(
                            "Could not match type {} to {} in argument '{}': {reason}.\n",
                            self.graph.ty(value).message_text(),
                            argument.ty.message_text(),
                            argument.name
                        )
                    });
                    return Ok(None);
                }
            }
            &evaluated
        } else {
            &argument.ty
        };
        let value = self.convert(call.at, ty, value, call.conversions)?;
        if self.is_subtype(value, ty) {
            return Ok(Some(value));
        }
        failures.note(call.schema, || self.mismatch(argument, ty, value));
        Ok(None)
    }

    fn mismatch(&self, argument: &Argument, expected: &Type, value: ValueId) -> String {
        let ty = self.graph.ty(value);
        let mut text = format!(
            "Expected a value of type '{}' for argument '{}' but instead found type '{}'.\n",
            argument.ty.message_text(),
            argument.name,
            ty.message_text()
        );
        if argument.ty.is_inferred_tensor() {
            let _ = writeln!(
                text,
                "Inferred '{}' to be of type 'Tensor' because it was not annotated with an \
                 explicit type.",
                argument.name
            );
        }
        if ty.is_inferred_tensor() {
            let _ = writeln!(
                text,
                "Inferred the value for argument '{}' to be of type 'Tensor' because it was not \
                 annotated with an explicit type.",
                argument.name
            );
        }
        if ty.element().is_some_and(Type::is_tensor) {
            text.push_str(EMPTY_LIST_HINT);
        }
        if let Err(reason) = ty.check_subtype_of(expected, self.unit) {
            text.push_str(&reason);
        }
        text
    }

    // --- conversions ---------------------------------------------------------------------------

    /// Brings a value nearer to a type: `tryConvertToType`. Whether it then is of the type is for
    /// the caller to see.
    pub(crate) fn convert(
        &mut self,
        at: Option<Range>,
        ty: &Type,
        value: ValueId,
        conversions: bool,
    ) -> Result<ValueId, Error> {
        let actual = self.graph.ty(value);
        if actual == ty && !matches!(ty, Type::List(_)) {
            return Ok(value);
        }
        if let Type::Optional(of) = ty
            && !matches!(actual, Type::Optional(_) | Type::None)
        {
            return self.convert(at, of, value, conversions);
        }
        let mut value = value;
        if let Type::List(element) = ty
            && self.graph.node(self.graph.value(value).node()).is(Prim::EmptyListLiteral)
        {
            value = self.list((**element).clone(), &[]);
        }
        if let Type::Tuple(elements) = self.graph.ty(value).clone() {
            value = self.convert_tuple(at, ty, &elements, value, conversions)?;
        }
        if conversions {
            return self.convert_scalar(at, ty, value);
        }
        Ok(value)
    }

    fn convert_tuple(
        &mut self,
        at: Option<Range>,
        ty: &Type,
        elements: &TupleType,
        tuple: ValueId,
        conversions: bool,
    ) -> Result<ValueId, Error> {
        let mut value = tuple;
        let list = match ty {
            Type::Optional(of) => of,
            other => other,
        };
        if let Type::List(element) = list
            && convertible_to_list(self.graph.ty(tuple), list, self.unit)
        {
            let unpacked = self.unpack_tuple(tuple);
            value = self.list((**element).clone(), &unpacked);
        }
        if let Type::Tuple(wanted) = ty
            && wanted.elements.len() == elements.elements.len()
            && !self.is_subtype(tuple, ty)
        {
            let unpacked = self.unpack_tuple(value);
            let mut converted = Vec::with_capacity(unpacked.len());
            for (element, wanted) in unpacked.into_iter().zip(&wanted.elements) {
                converted.push(self.convert(at, wanted, element, conversions)?);
            }
            value = self.tuple(at, &converted)?;
        }
        Ok(value)
    }

    fn convert_scalar(
        &mut self,
        at: Option<Range>,
        ty: &Type,
        value: ValueId,
    ) -> Result<ValueId, Error> {
        let symbol = match (self.graph.ty(value), ty) {
            (Type::Tensor | Type::TensorOf(_), Type::Float) => "aten::FloatImplicit",
            (Type::Tensor | Type::TensorOf(_), Type::Complex) => "aten::ComplexImplicit",
            (Type::Tensor | Type::TensorOf(_), Type::Int) => "aten::IntImplicit",
            (Type::Tensor | Type::TensorOf(_), Type::Number) => "aten::ScalarImplicit",
            (Type::Number, Type::Float) => "aten::Float",
            (Type::Number, Type::Complex) => "aten::Complex",
            (Type::Number, Type::Int) => "aten::Int",
            (Type::Bool, Type::Float) => "aten::Float",
            (Type::Bool, Type::Int | Type::Number) => "aten::Int",
            (Type::Str, Type::Device) => "aten::device",
            _ => return Ok(value),
        };
        self.operator(at, symbol, &[value])
    }
}

/// A call while it is fitted to a schema.
struct Call<'a> {
    at: Option<Range>,
    schema: &'a Schema,
    conversions: bool,
    variables: TypeVariables,
    inputs: Vec<ValueId>,
}

/// What becomes of the positional arguments that are left.
enum Rest {
    /// The first is a list itself.
    IsAList,
    /// They are one list.
    List(ValueId),
    /// They are not of the element's type.
    Failed,
}

/// Overloads that would shadow better ones: an int could be a dtype.
fn is_blocked(schema: &Schema) -> bool {
    matches!(
        (&*schema.name, &*schema.overload),
        ("aten::view", "dtype") | ("aten::max" | "aten::min", "unary_out")
    )
}

/// Whether an argument is a list that takes all positional arguments that are left.
fn takes_the_rest(schema: &Schema, index: usize) -> bool {
    let argument = &schema.arguments[index];
    let is_last = schema.arguments.get(index + 1).is_none_or(|next| next.kwarg_only);
    let Type::List(element) = &argument.ty else { return false };
    is_last && argument.fixed_size.is_none() && !matches!(**element, Type::Var(_))
}

fn keyword_for(argument: &Argument, keywords: &[Keyword], is_aten: bool) -> Option<usize> {
    keywords.iter().position(|keyword| {
        (is_aten && &*argument.name == "self" && &*keyword.name == "input")
            || keyword.name == argument.name
    })
}

/// Whether a type is a tuple whose elements a list can hold, or of the list's type itself.
pub(crate) fn convertible_to_list(ty: &Type, list: &Type, unit: &sconce_ir::Unit) -> bool {
    let Type::List(element) = list else { return false };
    match ty {
        Type::Tuple(tuple) => tuple.elements.iter().all(|ty| ty.is_subtype_of(element, unit)),
        _ => ty.is_subtype_of(list, unit),
    }
}

/// A text with two spaces before each line.
fn indented(text: &str) -> String {
    text.split_inclusive('\n').flat_map(|line| ["  ", line]).collect()
}
