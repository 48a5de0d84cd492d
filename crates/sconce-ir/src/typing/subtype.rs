//! When a value of one type may stand where another is asked for: `isSubtypeOfExt` of `c10::Type`.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{
    Argument, Class, ClassId, Interface, InterfaceId, NamedRef, Schema, TensorType, TupleType,
    Type, Unit,
};

impl Type {
    /// Whether every value of this type is one of the other's. Classes and interfaces are looked up
    /// in the unit; a class the unit does not have implements nothing.
    pub fn is_subtype_of(&self, other: &Self, unit: &Unit) -> bool {
        Subtyping::new(unit, None).holds(self, other)
    }

    /// The same, with PyTorch's words on why not (empty when it has none).
    pub fn check_subtype_of(&self, other: &Self, unit: &Unit) -> Result<(), String> {
        let mut why = String::new();
        if Subtyping::new(unit, Some(&mut why)).holds(self, other) { Ok(()) } else { Err(why) }
    }

    /// Whether values of the other type may be held in this union or optional type.
    pub fn can_hold(&self, other: &Self, unit: &Unit) -> bool {
        match (self, other) {
            (Self::Union(_) | Self::Optional(_), Self::Number) => {
                [Self::Int, Self::Float, Self::Complex]
                    .iter()
                    .all(|number| self.can_hold(number, unit))
            }
            (Self::Union(members), _) => {
                members.iter().any(|member| other.is_subtype_of(member, unit))
            }
            (Self::Optional(of), _) => *other == Self::None || other.is_subtype_of(of, unit),
            _ => other.is_subtype_of(self, unit),
        }
    }

    /// Whether a value of it can be `None`: `NoneType`, `Optional`, a union that holds it, `Any`.
    pub fn can_be_none(&self) -> bool {
        match self {
            Self::None | Self::Optional(_) | Self::Any => true,
            Self::Union(members) => members.contains(&Self::None),
            _ => false,
        }
    }
}

impl Schema {
    /// Whether a function of this schema may stand for one of the other: the arguments
    /// contravariant, the returns covariant, names equal. A method's `self` does not count.
    pub fn is_subtype_of(&self, other: &Self, as_method: bool, unit: &Unit) -> bool {
        Subtyping::new(unit, None).schema(self, other, as_method)
    }
}

/// One question, and where the reasons against go.
struct Subtyping<'a> {
    unit: &'a Unit,
    why: Option<&'a mut String>,
    /// What holds of named types, or is being asked and taken to hold meanwhile: a class and an
    /// interface may mention each other.
    assumed: Vec<Pair>,
    /// What does not hold.
    refuted: FxHashSet<Pair>,
    /// How many interfaces are being looked into, each because of the one before.
    depth: u32,
}

/// How many interfaces may lead one to the next.
const MAX_DEPTH: u32 = 256;

/// The name of a class or interface, and of an interface that it may implement.
type Pair = (Arc<str>, Arc<str>);

impl<'a> Subtyping<'a> {
    fn new(unit: &'a Unit, why: Option<&'a mut String>) -> Self {
        Self { unit, why, assumed: Vec::new(), refuted: FxHashSet::default(), depth: 0 }
    }

    fn holds(&mut self, left: &Type, right: &Type) -> bool {
        match left {
            Type::Tensor | Type::TensorOf(_) if right.is_tensor() => refines(left, right),
            Type::Int | Type::Float | Type::Complex if *right == Type::Number => true,
            Type::Number if matches!(right, Type::Union(_)) => right.can_hold(left, self.unit),
            Type::None if matches!(right, Type::Optional(_)) => true,
            Type::Optional(of) => match right {
                Type::Optional(other) => self.holds(of, other),
                Type::Union(_) => self.optional_in_union(of, right),
                _ => self.in_general(left, right),
            },
            Type::Union(members) => self.union(members, right),
            _ => self.in_general(left, right) || self.by_kind(left, right),
        }
    }

    /// What holds for every type: it is `Any`'s, its own, and that of whatever may hold it.
    fn in_general(&mut self, left: &Type, right: &Type) -> bool {
        *right == Type::Any
            || left == right
            || match right {
                Type::Optional(of) => self.holds(left, of),
                Type::Union(members) => members.iter().any(|member| self.holds(left, member)),
                _ => false,
            }
    }

    fn by_kind(&mut self, left: &Type, right: &Type) -> bool {
        match (left, right) {
            (Type::List(_), Type::AnyList)
            | (Type::Tuple(_), Type::AnyTuple)
            | (Type::Enum(_), Type::AnyEnum)
            | (Type::Class(_), Type::AnyClass) => true,
            (Type::Tuple(left), Type::Tuple(right)) => self.tuple(left, right),
            (Type::Future(left), Type::Future(right)) | (Type::Await(left), Type::Await(right)) => {
                self.holds(left, right)
            }
            (Type::Class(left) | Type::Interface(left), Type::Interface(right)) => {
                self.implements_once(left, right)
            }
            _ => false,
        }
    }

    fn optional_in_union(&mut self, of: &Type, union: &Type) -> bool {
        if !union.can_be_none() {
            self.say(|| format!("{} cannot hold None", union.message_text()));
            return false;
        }
        if !union.can_hold(of, self.unit) {
            self.say(|| format!("{} cannot hold {of}", union.message_text()));
            return false;
        }
        true
    }

    fn union(&mut self, members: &[Type], right: &Type) -> bool {
        const NUMBERS: [Type; 3] = [Type::Int, Type::Float, Type::Complex];
        let single;
        let of_optional;
        let candidates: &[Type] = match right {
            Type::Union(candidates) => candidates,
            Type::Number => &NUMBERS,
            Type::Optional(of) => {
                of_optional = match &**of {
                    Type::Number => [&[Type::None][..], &NUMBERS].concat(),
                    other => vec![Type::None, other.clone()],
                };
                &of_optional
            }
            other => {
                single = [other.clone()];
                &single
            }
        };
        members
            .iter()
            .all(|member| candidates.iter().any(|candidate| self.holds(member, candidate)))
    }

    fn tuple(&mut self, left: &TupleType, right: &TupleType) -> bool {
        let names_match = match (&left.named, &right.named) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(left), Some(right)) => left.fields == right.fields,
        };
        names_match
            && left.elements.len() == right.elements.len()
            && left
                .elements
                .iter()
                .zip(&right.elements)
                .all(|(left, right)| self.holds(left, right))
    }

    /// The same as [`Self::implements`], asked once of each two.
    fn implements_once(&mut self, left: &NamedRef, right: &NamedRef) -> bool {
        let pair = (Arc::clone(&left.name), Arc::clone(&right.name));
        if self.assumed.contains(&pair) {
            return true;
        }
        if self.refuted.contains(&pair) {
            return false;
        }
        if self.depth >= MAX_DEPTH {
            self.say(|| format!("More than {MAX_DEPTH} interfaces mention each other in a row.\n"));
            return false;
        }
        let before = self.assumed.len();
        self.assumed.push(pair.clone());
        self.depth += 1;
        let holds = self.implements(left, right);
        self.depth -= 1;
        if !holds {
            // What was found meanwhile may rest on this.
            self.assumed.truncate(before);
            self.refuted.insert(pair);
        }
        holds
    }

    /// Whether a class or interface has every method that an interface asks for.
    fn implements(&mut self, left: &NamedRef, right: &NamedRef) -> bool {
        let (Some(own), Some(wanted)) =
            (Implementor::find(left, self.unit), find_interface(right, self.unit))
        else {
            return false;
        };
        let (name, other) = (&left.name, &right.name);
        if !own.is_module() && wanted.is_module {
            self.say(|| match own {
                Implementor::Class(_) => format!(
                    "Class '{name}' is not a subtype of the module interface '{other}' , only \
                     ScriptModule class can be subtype of module interface.\n"
                ),
                Implementor::Interface(_) => format!(
                    "Interface '{name}' is not a subtype of the module interface '{other}'.\n"
                ),
            });
            return false;
        }
        wanted.methods.iter().all(|wanted| {
            let Some(method) = own.method(&wanted.name, self.unit) else {
                let method = &wanted.name;
                self.say(|| match own {
                    Implementor::Class(_) => format!(
                        "Class '{name}' does not have method '{method}' but '{other}' does.\n"
                    ),
                    Implementor::Interface(_) => format!(
                        "Interface '{name}' does not have method '{method}' but interface \
                         '{other}' does.\n"
                    ),
                });
                return false;
            };
            let compatible = self.schema(method, wanted, true);
            if !compatible {
                let kind = own.kind();
                self.say(|| {
                    format!(
                        "Method on {kind} '{name}' (1) is not compatible with interface \
                         '{other}' (2)\n  (1) {method}\n  (2) {wanted}\n"
                    )
                });
            }
            compatible
        })
    }

    fn schema(&mut self, left: &Schema, right: &Schema, as_method: bool) -> bool {
        let start = usize::from(as_method);
        let (Some(own), Some(wanted)) = (left.arguments.get(start..), right.arguments.get(start..))
        else {
            return false;
        };
        self.arguments(wanted, own) && self.arguments(&left.returns, &right.returns)
    }

    fn arguments(&mut self, left: &[Argument], right: &[Argument]) -> bool {
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| left.name == right.name && self.holds(&left.ty, &right.ty))
    }

    fn say(&mut self, reason: impl FnOnce() -> String) {
        if let Some(why) = &mut self.why {
            why.push_str(&reason());
        }
    }
}

/// Whether a tensor type says all that another says.
fn refines(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (_, Type::Tensor) => true,
        (Type::TensorOf(left), Type::TensorOf(right)) => left.merge(right) == **right,
        (Type::Tensor, Type::TensorOf(right)) => TensorType::default() == **right,
        _ => false,
    }
}

/// What may implement an interface.
#[derive(Clone, Copy)]
enum Implementor<'a> {
    Class(&'a Class),
    Interface(&'a Interface),
}

impl<'a> Implementor<'a> {
    fn find(named: &NamedRef, unit: &'a Unit) -> Option<Self> {
        match unit.find_type(&named.name)? {
            Type::Class(found) => Some(Self::Class(unit.class(ClassId(found.id)))),
            Type::Interface(_) => find_interface(named, unit).map(Self::Interface),
            _ => None,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Class(_) => "class",
            Self::Interface(_) => "interface",
        }
    }

    fn is_module(self) -> bool {
        match self {
            Self::Class(class) => class.is_module,
            Self::Interface(interface) => interface.is_module,
        }
    }

    fn method(self, name: &str, unit: &'a Unit) -> Option<&'a Schema> {
        match self {
            Self::Class(class) => class
                .methods
                .iter()
                .map(|&id| unit.function(id))
                .find(|method| method.name() == name)
                .map(|method| &*method.schema),
            Self::Interface(interface) => interface
                .methods
                .iter()
                .find(|method| &*method.name == name)
                .map(|method| &**method),
        }
    }
}

fn find_interface<'a>(named: &NamedRef, unit: &'a Unit) -> Option<&'a Interface> {
    match unit.find_type(&named.name)? {
        Type::Interface(found) => Some(unit.interface(InterfaceId(found.id))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Function;

    /// Class `K0`… and interface `I0`…, each with two methods that give the next one.
    fn chain(length: usize, last: &Type) -> (Unit, Type, Type) {
        let mut unit = Unit::new();
        let method = |name: &str, of: &Type, gives: &Type| {
            Arc::new(Schema {
                name: name.into(),
                overload: "".into(),
                arguments: vec![Argument::new("self", of.clone())],
                returns: vec![Argument::new("", gives.clone())],
                is_vararg: false,
                is_varret: false,
            })
        };
        let (mut class, mut interface) = (last.clone(), Type::Int);
        for index in (0..length).rev() {
            let (id, ty) = unit.add_class(Class::new(format!("K{index}")));
            let methods = ["a", "b"].map(|name| method(name, &ty, &interface));
            let (_, next) = unit.add_interface(Interface {
                name: format!("I{index}").into(),
                is_module: false,
                methods: methods.into(),
            });
            for name in ["a", "b"] {
                let function = unit.add_function(Function {
                    qualified_name: format!("K{index}.{name}").into(),
                    class: Some(id),
                    schema: method(name, &ty, &class),
                    graph: None,
                });
                unit.class_mut(id).methods.push(function);
            }
            (class, interface) = (ty, next);
        }
        (unit, class, interface)
    }

    #[test]
    fn interfaces_that_mention_interfaces_take_no_time() {
        let (unit, class, interface) = chain(200, &Type::Int);
        assert!(class.is_subtype_of(&interface, &unit));
        let (unit, class, interface) = chain(200, &Type::Str);
        assert!(!class.is_subtype_of(&interface, &unit));
        let why = class.check_subtype_of(&interface, &unit).unwrap_err();
        assert!(why.starts_with("Method on class 'K199' (1) is not compatible with"), "{why}");
    }

    #[test]
    fn interfaces_in_too_long_a_row_are_refused() {
        let (unit, class, interface) = chain(1000, &Type::Int);
        let why = class.check_subtype_of(&interface, &unit).unwrap_err();
        assert!(why.starts_with("More than 256 interfaces"), "{}", why.len());
    }

    #[test]
    fn a_class_and_an_interface_may_mention_themselves() {
        let (mut unit, class, interface) = chain(1, &Type::Int);
        let (Type::Class(own), Type::Interface(wanted)) = (&class, &interface) else { panic!() };
        let returns = |ty: &Type| vec![Argument::new("", ty.clone())];
        for method in unit.class(ClassId(own.id)).methods.clone() {
            Arc::make_mut(&mut unit.function_mut(method).schema).returns = returns(&class);
        }
        for method in &mut unit.interface_mut(InterfaceId(wanted.id)).methods {
            Arc::make_mut(method).returns = returns(&interface);
        }
        assert!(class.is_subtype_of(&interface, &unit));
    }
}
