//! Unions, and the type that holds the values of several: `UnionType::create` and `unifyTypes`.

use crate::{Type, Unit};

/// How many types a union that is read may be of, counted before they are merged, which takes the square.
pub(crate) const MAX_UNION: usize = 256;

impl Type {
    /// The union of some types in canonical order: flattened, subsumed types left out. With `None`
    /// and one more it is that one's optional type; one alone, or `Any` among them, is itself.
    /// `int`, `float` and `complex` together stay three, as in PyTorch; no member at all is `None`.
    pub fn union(members: &[Self], unit: &Unit) -> Self {
        let mut flat = Vec::new();
        members.iter().for_each(|member| flatten(member, &mut flat));
        drop_subsumed(&mut flat, unit);
        flat.sort_by_cached_key(|member| (member.rank(), member.schema_text().to_string()));
        let without_none = || flat.iter().filter(|member| **member != Self::None);
        match flat.as_slice() {
            [] => Self::None,
            [one] => one.clone(),
            _ if !flat.contains(&Self::None) => Self::Union(flat.into()),
            [_, _] => without_none().next().cloned().map_or(Self::None, Self::optional),
            _ if without_none().eq([Self::Float, Self::Complex, Self::Int].iter()) => {
                Self::optional(Self::Number)
            }
            _ => Self::Union(flat.into()),
        }
    }

    /// The type of which values of both are: `unifyTypes`. `hint` is taken when neither holds the
    /// other but it holds both (an interface).
    pub fn unify(
        a: &Self,
        b: &Self,
        default_to_union: bool,
        hint: Option<&Self>,
        unit: &Unit,
    ) -> Option<Self> {
        unify_without_union(a, b, default_to_union, hint, unit)
            .or_else(|| default_to_union.then(|| Self::union(&[a.clone(), b.clone()], unit)))
    }

    /// The type of which all values are: `unifyTypeList`. The error is PyTorch's.
    pub fn unify_all(
        types: &[Self],
        default_to_union: bool,
        hint: Option<&Self>,
        unit: &Unit,
    ) -> Result<Self, String> {
        let (first, rest) = types.split_first().ok_or("Cannot get unified type from empty list")?;
        let mut unified = first.clone();
        for (index, ty) in rest.iter().enumerate() {
            unified = Self::unify(&unified, ty, default_to_union, hint, unit).ok_or_else(|| {
                format!(
                    "Could not unify type list since element {} of type {} did not match the types \
                     before it ({})",
                    index + 1,
                    ty.message_text(),
                    unified.message_text()
                )
            })?;
        }
        Ok(unified)
    }

    /// The type with everything forgotten that tensors are known to be: `unshapedType`.
    pub fn unshaped(&self, unit: &Unit) -> Self {
        if self.is_tensor() {
            return Self::Tensor;
        }
        let contained = self.contained();
        if contained.is_empty() {
            return self.clone();
        }
        let parts = contained.into_iter().map(|part| part.unshaped(unit)).collect();
        self.with_contained(parts, unit)
    }

    /// The type of the values that are not `None`: what `x is not None` leaves. `None` itself for
    /// `NoneType`, of which nothing is left.
    pub fn without_none(&self, unit: &Unit) -> Self {
        match self {
            Self::Optional(of) => of.without_none(unit),
            Self::Union(_) => self.subtract(&[Self::None], unit).unwrap_or_else(|| self.clone()),
            other => other.clone(),
        }
    }

    /// What is left of a union or optional type when the members that are of one of these types are
    /// taken out (`UnionType::subtractTypeSet`); `None` when nothing is, or when it is neither.
    pub fn subtract(&self, types: &[Self], unit: &Unit) -> Option<Self> {
        let left: Vec<Self> = self
            .members()
            .into_iter()
            .filter(|member| !types.iter().any(|ty| member.is_subtype_of(ty, unit)))
            .collect();
        match left.as_slice() {
            [] => None,
            [Self::Int, Self::Float, Self::Complex] => Some(Self::Number),
            [one] => Some(one.clone()),
            _ => Some(Self::union(&left, unit)),
        }
    }

    /// The types a value may be of: the members of a union, what is optional and `None`, `int`,
    /// `float` and `complex` for a number; any other is its only one.
    pub fn members(&self) -> Vec<Self> {
        let mut members = Vec::new();
        flatten(self, &mut members);
        members
    }

    /// The place of its kind in `c10::TypeKind`, by which unions are ordered.
    fn rank(&self) -> u8 {
        match self {
            Self::Any => 0,
            Self::Enum(_) => 1,
            Self::AnyEnum => 2,
            Self::Tensor | Self::TensorOf(_) => 3,
            Self::Storage => 4,
            Self::Tuple(_) => 5,
            Self::List(_) => 6,
            Self::Dict(_) => 7,
            Self::Number => 8,
            Self::Float => 9,
            Self::Complex => 10,
            Self::Future(_) => 11,
            Self::Await(_) => 12,
            Self::RRef(_) => 13,
            Self::Int => 14,
            Self::None => 15,
            Self::Str => 16,
            Self::Generator => 17,
            Self::Quantizer => 18,
            Self::Bool => 19,
            Self::Optional(_) => 20,
            Self::Var(_) => 21,
            Self::Device => 22,
            Self::Stream => 23,
            Self::Function(_) => 24,
            Self::Class(_) => 25,
            Self::PyObject => 26,
            Self::Capsule => 27,
            Self::Interface(_) => 28,
            Self::QScheme => 29,
            Self::ScalarType => 30,
            Self::Layout => 31,
            Self::MemoryFormat => 32,
            Self::AnyList => 33,
            Self::AnyTuple => 34,
            Self::AnyClass => 35,
            Self::SymInt => 36,
            Self::SymFloat => 37,
            Self::SymBool => 38,
            Self::Union(_) => 39,
        }
    }
}

fn unify_without_union(
    a: &Type,
    b: &Type,
    default_to_union: bool,
    hint: Option<&Type>,
    unit: &Unit,
) -> Option<Type> {
    if let Some(wider) = wider(a, b, unit) {
        return Some(wider);
    }
    match (a, b) {
        (Type::TensorOf(a), Type::TensorOf(b)) => return Some(Type::tensor_of(a.merge(b))),
        (Type::None, other) | (other, Type::None) => return Some(Type::optional(other.clone())),
        (Type::Optional(of), other) | (other, Type::Optional(of)) => {
            if let Some(unified) = Type::unify(of, other, false, None, unit) {
                return Some(Type::optional(unified));
            }
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            if a.elements.len() != b.elements.len() {
                return None;
            }
            let pairs = a.elements.iter().zip(&b.elements);
            let elements = pairs.map(|(a, b)| Type::unify(a, b, default_to_union, None, unit));
            return elements.collect::<Option<_>>().map(Type::tuple);
        }
        (Type::Future(a), Type::Future(b)) => {
            if let Some(unified) = Type::unify(a, b, false, None, unit) {
                return Some(Type::future(unified));
            }
        }
        _ => {}
    }
    // Lists and dicts of differently shaped tensors meet without shapes.
    if let Some(wider) = wider(&a.unshaped(unit), &b.unshaped(unit), unit) {
        return Some(wider);
    }
    hint.filter(|hint| a.is_subtype_of(hint, unit) && b.is_subtype_of(hint, unit)).cloned()
}

/// The one of the two that holds the other.
fn wider(a: &Type, b: &Type, unit: &Unit) -> Option<Type> {
    if a.is_subtype_of(b, unit) {
        return Some(b.clone());
    }
    b.is_subtype_of(a, unit).then(|| a.clone())
}

fn flatten(ty: &Type, into: &mut Vec<Type>) {
    match ty {
        Type::Union(members) => members.iter().for_each(|member| flatten(member, into)),
        Type::Optional(of) => {
            flatten(of, into);
            into.push(Type::None);
        }
        Type::Number => into.extend([Type::Int, Type::Float, Type::Complex]),
        other => into.push(other.clone()),
    }
}

/// Leaves out what another member holds, from right to left: each is merged with the nearest to its
/// left with which it unifies, and the last one takes its place. `None` only meets `None`, since
/// optional types must not form yet.
fn drop_subsumed(types: &mut Vec<Type>, unit: &Unit) {
    let mut right = types.len();
    while right > 1 {
        right -= 1;
        let start = right.min(types.len());
        for left in (0..start).rev() {
            let Some(candidate) = types.get(right) else { break };
            if (types[left] == Type::None) != (*candidate == Type::None) {
                continue;
            }
            if let Some(unified) = Type::unify(candidate, &types[left], false, None, unit) {
                types[left] = unified;
                types.swap_remove(right);
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Type {
        crate::Schema::parse(&format!("f({text} x) -> ()")).unwrap().arguments[0].ty.clone()
    }

    #[test]
    fn what_is_left_of_a_union_is_what_pytorch_leaves() {
        let unit = Unit::new();
        for (of, without, left) in [
            ("Union(int, str, NoneType)", &["int"][..], "Optional[str]"),
            ("Union(int, str, NoneType)", &["NoneType"], "Union[int, str]"),
            ("Union(int, str, NoneType)", &["int", "str"], "NoneType"),
            ("Union(bool, int, float, complex, NoneType)", &["NoneType"], "Union[, bool, number]"),
            ("Union(bool, int, float, complex, NoneType)", &["bool"], "Optional[number]"),
            ("Union(int, float, complex, str)", &["str"], "Union[number]"),
            ("int?", &["int"], "NoneType"),
            ("Scalar?", &["NoneType"], "number"),
            ("int[]?", &["NoneType"], "List[int]"),
        ] {
            let types: Vec<Type> = without.iter().map(|text| read(text)).collect();
            let found = read(of).subtract(&types, &unit).map(|ty| ty.annotation());
            assert_eq!(found.as_deref(), Some(left), "{of} without {without:?}");
            if *without == ["NoneType"] {
                assert_eq!(read(of).without_none(&unit).annotation(), left);
            }
        }
        assert_eq!(read("int?").subtract(&[Type::Int, Type::None], &unit), None);
        assert_eq!(read("NoneType").without_none(&unit), Type::None);
    }

    #[test]
    fn lists_of_tensors_of_other_shapes_unify_without_shapes() {
        let unit = Unit::new();
        let sized = |size| {
            let sizes = Some(vec![Some(size)]);
            Type::tensor_of(crate::TensorType { sizes, ..crate::TensorType::default() })
        };
        let (a, b) = (Type::list(sized(2)), Type::list(sized(3)));
        let unified = Type::unify(&a, &b, false, None, &unit);
        assert_eq!(unified, Some(Type::list(Type::Tensor)));
        assert_eq!(a.unshaped(&unit), Type::list(Type::Tensor));
        assert_eq!(Type::unify(&Type::Int, &Type::Str, false, None, &unit), None);
        let union = Type::unify(&Type::Int, &Type::Str, true, None, &unit);
        assert_eq!(union, Some(read("Union(int, str)")));
        let error = Type::unify_all(&[Type::Int, Type::Str], false, None, &unit).unwrap_err();
        assert_eq!(
            error,
            "Could not unify type list since element 1 of type str did not match the types before \
             it (int)"
        );
    }
}
