//! The operators PyTorch knows, with their schemas.
//!
//! The table is `operators/schemas.txt` with its index `operators/index.txt`, written by
//! `operators/generate.py` from an installed PyTorch. Nothing is read beforehand: a name is found by
//! bisection, and its schemas are read when it is first asked for.

mod aliases;
mod custom;
pub mod forbidden;
mod upgrader_table;

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use crate::Schema;

pub use aliases::normal_name;
pub use custom::{RegisterError, register};
pub use upgrader_table::{
    CURRENT_VERSION, Upgrader, upgrader, upgraders, upgraders_of, version_needed,
};

/// The table: a line with a name, then a line with flags and signature for each of its operators.
static TEXT: &str = include_str!("../../operators/schemas.txt");

/// For each name, where its group starts in [`TEXT`] and the id of its first operator.
static INDEX: &str = include_str!("../../operators/index.txt");

/// The bytes of a line of [`INDEX`]: six digits, a space, five digits, a line feed.
const INDEX_LINE: usize = 13;

/// How many names there are.
const GROUPS: usize = INDEX.len() / INDEX_LINE;

/// The operators that have been read, by group.
static OPERATORS: [OnceLock<Box<[Operator]>>; GROUPS] = [const { OnceLock::new() }; GROUPS];

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

/// The overloads of a symbol such as `aten::add` in the order in which PyTorch tries them; empty for
/// a symbol without operators. Registered operators ([`register`]) count, too.
pub fn named(symbol: &str) -> &'static [Operator] {
    let found = in_table(symbol);
    if found.is_empty() { custom::named(symbol) } else { found }
}

/// PyTorch's own overloads of a symbol.
fn in_table(symbol: &str) -> &'static [Operator] {
    let group = partition_point(|group| group.compare(symbol) == Ordering::Less);
    let found = group.0 < GROUPS && group.compare(symbol) == Ordering::Equal;
    if found { group.operators() } else { &[] }
}

/// How many operators PyTorch's table has.
fn count() -> u32 {
    static COUNT: OnceLock<u32> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let last = Group(GROUPS.saturating_sub(1));
        last.first().saturating_add(last.lines().count() as u32)
    })
}

/// The operator of an id; `None` where there is none.
pub fn get(id: OperatorId) -> Option<&'static Operator> {
    if let Some(index) = id.0.checked_sub(count()) {
        return custom::get(index);
    }
    let group = Group(partition_point(|group| group.first() <= id.0).0.checked_sub(1)?);
    group.operators().get((id.0 - group.first()) as usize)
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

/// Every symbol of PyTorch's own that has operators, in the order of bytes.
pub fn names() -> impl Iterator<Item = &'static str> {
    (0..GROUPS).map(|group| Group(group).name())
}

/// Every operator of PyTorch's own, in the order of ids. Reads the whole table.
pub fn all() -> impl Iterator<Item = &'static Operator> {
    (0..GROUPS).flat_map(|group| Group(group).operators())
}

/// The operators of one name: the number of its line in the index.
#[derive(Clone, Copy)]
struct Group(usize);

/// The first group of which something does not hold that holds of all before it.
fn partition_point(holds: impl Fn(Group) -> bool) -> Group {
    let (mut low, mut high) = (0, GROUPS);
    while low < high {
        let middle = low.midpoint(high);
        if holds(Group(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Group(low)
}

impl Group {
    /// A number of the index line.
    fn number(self, start: usize, end: usize) -> usize {
        let line = self.0 * INDEX_LINE;
        let digits = INDEX.as_bytes().get(line + start..line + end).unwrap_or_default();
        digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit.wrapping_sub(b'0')))
    }

    /// The id of its first operator.
    fn first(self) -> u32 {
        self.number(7, 12) as u32
    }

    /// The text from its name on.
    fn text(self) -> &'static str {
        TEXT.get(self.number(0, 6)..).unwrap_or_default()
    }

    fn name(self) -> &'static str {
        self.text().lines().next().unwrap_or_default()
    }

    /// Its name beside a symbol, in the order of bytes, of which a name's line feed is the least.
    fn compare(self, symbol: &str) -> Ordering {
        let (text, symbol) = (self.text().as_bytes(), symbol.as_bytes());
        let start = text.get(..symbol.len()).unwrap_or(text);
        start.cmp(symbol).then_with(|| text.get(symbol.len()).cmp(&Some(&b'\n')))
    }

    /// The lines of its operators, which a tab tells from names.
    fn lines(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.text().lines().skip(1).map_while(|line| line.split_once('\t'))
    }

    fn operators(self) -> &'static [Operator] {
        OPERATORS[self.0].get_or_init(|| {
            let lines = (self.first()..).zip(self.lines());
            let operator = |(id, (flags, signature)): (u32, (&str, &str))| {
                self.operator(OperatorId(id), flags, signature)
            };
            lines.filter_map(operator).collect()
        })
    }

    /// An operator from its line. Every line is one (a test reads them all).
    fn operator(self, id: OperatorId, flags: &str, signature: &str) -> Option<Operator> {
        Some(Operator {
            id,
            schema: Arc::new(Schema::parse(&format!("{}{signature}", self.name())).ok()?),
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
        for group in (0..GROUPS).map(Group) {
            assert_eq!(group.first(), count, "{}", group.name());
            for (_, signature) in group.lines() {
                count += 1;
                let text = format!("{}{signature}", group.name());
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
        assert_eq!(INDEX.len() % INDEX_LINE, 0);
        let lines: usize = (0..GROUPS).map(|group| 1 + Group(group).lines().count()).sum();
        assert_eq!(lines, TEXT.lines().count());
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
