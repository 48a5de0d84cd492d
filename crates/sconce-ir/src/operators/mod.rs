//! The operators PyTorch knows, with their schemas.
//!
//! The table is `operators/schemas.txt`, written by `operators/generate.py` from an installed
//! PyTorch. It is walked once, by group, when first asked; the schemas of a name are read when that
//! name is first asked for.

mod upgraders;

use std::sync::{Arc, OnceLock};

use crate::Schema;

pub use upgraders::{CURRENT_VERSION, Upgrader, upgrader, upgraders, upgraders_of, version_needed};

/// The table's text.
static TEXT: &str = include_str!("../../operators/schemas.txt");

/// An operator of the table: its place there. Ids are dense; their order is that of names and,
/// within a name, of registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorId(pub u32);

/// An operator: PyTorch's `torch::jit::Operator`, without what it computes.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Its place in the table.
    pub id: OperatorId,
    /// Its schema.
    pub schema: Arc<Schema>,
    /// Whether calling it does more than its schema says (`Node::hasSideEffects`): it is kept though
    /// nothing uses what it gives.
    pub has_side_effects: bool,
    /// Whether two calls may give different values (`Node::isNondeterministic`).
    pub is_nondeterministic: bool,
    /// What is known of the memory it shares and writes.
    pub alias_analysis: AliasAnalysis,
}

/// What is known of the memory an operator shares and writes: `c10::AliasAnalysisKind`. Of PyTorch's
/// others, `PURE_FUNCTION` and `INTERNAL_SPECIAL_CASE` do not show from outside and are `FromSchema`
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AliasAnalysis {
    /// What its schema says.
    FromSchema,
    /// Nothing: it may write to whatever it is given and give whatever it is given.
    Conservative,
}

/// The operators of one name, as they stand in the table.
struct Group {
    name: &'static str,
    first: u32,
    count: u32,
    lines: &'static str,
    operators: OnceLock<Box<[Operator]>>,
}

/// The overloads of a symbol such as `aten::add` in the order in which PyTorch tries them; empty for
/// a symbol without operators.
pub fn named(symbol: &str) -> &'static [Operator] {
    let groups = groups();
    match groups.binary_search_by(|group| group.name.cmp(symbol)) {
        Ok(index) => groups[index].operators(),
        Err(_) => &[],
    }
}

/// An operator of the table; `None` for an id that is not one of its ids.
pub fn get(id: OperatorId) -> Option<&'static Operator> {
    let groups = groups();
    let index = groups.partition_point(|group| group.first <= id.0).checked_sub(1)?;
    let group = groups.get(index)?;
    group.operators().get((id.0 - group.first) as usize)
}

/// The overload of a symbol by name (`""` for the one without).
pub fn find(symbol: &str, overload: &str) -> Option<&'static Operator> {
    named(symbol).iter().find(|operator| &*operator.schema.overload == overload)
}

/// The operator of a full name such as `aten::add.Tensor`.
pub fn find_full(name: &str) -> Option<&'static Operator> {
    let (symbol, overload) = name.split_once('.').unwrap_or((name, ""));
    find(symbol, overload)
}

/// Every symbol that has operators, in the order of bytes.
pub fn names() -> impl Iterator<Item = &'static str> {
    groups().iter().map(|group| group.name)
}

/// Every operator, in the order of ids. Reads the whole table.
pub fn all() -> impl Iterator<Item = &'static Operator> {
    groups().iter().flat_map(Group::operators)
}

fn groups() -> &'static [Group] {
    static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
    GROUPS.get_or_init(|| {
        let mut groups = Vec::new();
        let (mut rest, mut first) = (TEXT, 0);
        while let Some((group, after)) = Group::read(rest, first) {
            first += group.count;
            rest = after;
            groups.push(group);
        }
        groups
    })
}

impl Group {
    /// The group at the start of a text, and what follows it.
    fn read(text: &'static str, first: u32) -> Option<(Self, &'static str)> {
        let (header, body) = text.split_once('\n')?;
        let mut words = header.split(' ');
        let name = words.next()?;
        let count = words.next()?.parse().ok()?;
        let (lines, rest) = body.split_at_checked(words.next()?.parse().ok()?)?;
        Some((Self { name, first, count, lines, operators: OnceLock::new() }, rest))
    }

    fn operators(&self) -> &[Operator] {
        self.operators.get_or_init(|| {
            let lines = (self.first..).zip(self.lines.lines());
            lines.filter_map(|(id, line)| self.operator(OperatorId(id), line)).collect()
        })
    }

    /// An operator from its line. Every line is one (a test reads them all).
    fn operator(&self, id: OperatorId, line: &str) -> Option<Operator> {
        let (flags, signature) = line.split_once('\t')?;
        Some(Operator {
            id,
            schema: Arc::new(Schema::parse(&format!("{}{signature}", self.name)).ok()?),
            has_side_effects: flags.contains('s'),
            is_nondeterministic: flags.contains('n'),
            alias_analysis: if flags.contains('c') {
                AliasAnalysis::Conservative
            } else {
                AliasAnalysis::FromSchema
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_operator_and_prints_as_it_reads() {
        let mut wrong = Vec::new();
        let mut count = 0;
        for group in groups() {
            assert_eq!(group.lines.lines().count(), group.count as usize, "{}", group.name);
            for line in group.lines.lines() {
                count += 1;
                let (_, signature) = line.split_once('\t').unwrap();
                let text = format!("{}{signature}", group.name);
                match Schema::parse(&text) {
                    Ok(schema) if schema.to_string() == text => {}
                    Ok(schema) => wrong.push(format!("{text}\n  printed {schema}")),
                    Err(error) => wrong.push(format!("{text}\n  {error}")),
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(count > 4000, "{count}");
    }

    #[test]
    fn ids_are_dense_and_lead_back() {
        for (index, operator) in all().enumerate() {
            assert_eq!(operator.id, OperatorId(index as u32));
            assert_eq!(get(operator.id).unwrap().schema, operator.schema);
        }
        assert!(get(OperatorId(u32::MAX)).is_none());
    }

    #[test]
    fn the_table_is_sorted_and_whole() {
        let names: Vec<_> = names().collect();
        assert!(names.is_sorted());
        let end = groups().last().unwrap();
        let read = end.lines.as_ptr() as usize + end.lines.len();
        assert_eq!(read, TEXT.as_ptr() as usize + TEXT.len());
    }

    #[test]
    fn overloads_come_in_the_order_of_registration() {
        let overloads: Vec<_> = named("aten::add").iter().map(|o| &*o.schema.overload).collect();
        assert_eq!(overloads[..2], ["Tensor", "Scalar"]);
        assert!(named("aten::no_such_operator").is_empty());
        assert!(find("aten::relu", "").is_some());
        assert!(find_full("aten::add.Tensor").is_some());
        assert!(!named("torchvision::nms").is_empty());
    }

    #[test]
    fn flags_are_those_of_pytorch() {
        assert!(find("aten::dropout", "").unwrap().is_nondeterministic);
        assert!(find("prim::RaiseException", "").unwrap().has_side_effects);
        assert!(!find("aten::relu", "").unwrap().has_side_effects);
    }
}
