//! When a value of one type may stand where another is asked for: `isSubtypeOfExt` of `c10::Type`.

use std::fmt::Write as _;

use crate::{Argument, Class, Interface, NamedRef, Schema, Unit};

use super::{TensorType, TupleType, Type};

impl Type {
    /// Whether every value of this type is one of the other's. Classes and interfaces are looked up
    /// in the unit; a class the unit does not have implements nothing.
    pub fn is_subtype_of(&self, other: &Self, unit: &Unit) -> bool {
        Subtyping { unit, why: None }.holds(self, other)
    }

    /// The same, with PyTorch's words on why not (empty when it has none).
    pub fn check_subtype_of(&self, other: &Self, unit: &Unit) -> Result<(), String> {
        let mut why = String::new();
        if (Subtyping { unit, why: Some(&mut why) }).holds(self, other) { Ok(()) } else { Err(why) }
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
        Subtyping { unit, why: None }.schema(self, other, as_method)
    }
}

/// One question, and where the reasons against go.
struct Subtyping<'a> {
    unit: &'a Unit,
    why: Option<&'a mut String>,
}

impl Subtyping<'_> {
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
            (Type::Class(class), Type::Interface(interface)) => self.class(class, interface),
            (Type::Interface(left), Type::Interface(right)) => self.interface(left, right),
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

    fn class(&mut self, class: &NamedRef, interface: &NamedRef) -> bool {
        let unit = self.unit;
        let (Some(left), Some(right)) = (find_class(class, unit), find_interface(interface, unit))
        else {
            return false;
        };
        let (name, other) = (&class.name, &interface.name);
        if !left.is_module && right.is_module {
            self.say(|| {
                format!(
                    "Class '{name}' is not a subtype of the module interface '{other}' , only \
                     ScriptModule class can be subtype of module interface.\n"
                )
            });
            return false;
        }
        right.methods.iter().all(|wanted| {
            let methods = left.methods.iter().map(|&id| unit.function(id));
            let Some(own) = methods.into_iter().find(|method| method.name() == &*wanted.name)
            else {
                let method = &wanted.name;
                self.say(|| {
                    format!("Class '{name}' does not have method '{method}' but '{other}' does.\n")
                });
                return false;
            };
            let compatible = self.schema(&own.schema, wanted, true);
            if !compatible {
                self.say(|| {
                    format!(
                        "Method on class '{name}' (1) is not compatible with interface \
                         '{other}' (2)\n  (1) {}\n  (2) {wanted}\n",
                        own.schema
                    )
                });
            }
            compatible
        })
    }

    fn interface(&mut self, left: &NamedRef, right: &NamedRef) -> bool {
        let unit = self.unit;
        let (Some(own), Some(wanted)) = (find_interface(left, unit), find_interface(right, unit))
        else {
            return false;
        };
        let (name, other) = (&left.name, &right.name);
        if !own.is_module && wanted.is_module {
            self.say(|| {
                format!("Interface '{name}' is not a subtype of the module interface '{other}'.\n")
            });
            return false;
        }
        wanted.methods.iter().all(|wanted| {
            let Some(own) = own.methods.iter().find(|own| own.name == wanted.name) else {
                let method = &wanted.name;
                self.say(|| {
                    format!(
                        "Interface '{name}' does not have method '{method}' but interface \
                         '{other}' does.\n"
                    )
                });
                return false;
            };
            let compatible = self.schema(own, wanted, true);
            if !compatible {
                self.say(|| {
                    format!(
                        "Method on interface '{name}' (1) is not compatible with interface \
                         '{other}' (2)\n  (1) {own}\n  (2) {wanted}\n"
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
            let _ = why.write_str(&reason());
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

fn find_class<'a>(named: &NamedRef, unit: &'a Unit) -> Option<&'a Class> {
    let (_, class) = unit.classes().nth(named.id as usize)?;
    (class.name == named.name).then_some(class)
}

fn find_interface<'a>(named: &NamedRef, unit: &'a Unit) -> Option<&'a Interface> {
    match unit.find_type(&named.name)? {
        Type::Interface(found) => Some(unit.interface(crate::InterfaceId(found.id))),
        _ => None,
    }
}
