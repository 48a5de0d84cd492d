//! In which order differences are printed, and which share a line.

use std::collections::HashMap;

use super::distance::Distance;
use super::{Difference, Kind};

/// One line: a difference, or several that are alike but for the numbers in their names.
pub struct Group<'d> {
    /// The name; numbers that differ are a range, a list or a star: `layers.{0…11}.weight`.
    pub name: String,
    /// The first of them.
    pub first: &'d Difference,
    /// How many there are.
    pub count: usize,
    /// The numbers of the one that changed the most.
    pub numbers: Option<Distance>,
}

/// What differences on one line have in common: kind, pattern of the name, what they are in both files, and the dtype
/// in which they are equal.
type Alike<'d> = (Kind, String, &'d Option<String>, &'d Option<String>, Option<&'static str>);

/// Groups differences for reading: values such as the epoch and the learning rate first, then tensors, those first
/// that changed the most.
pub fn groups(differences: Vec<&Difference>, fold: bool) -> Vec<Group<'_>> {
    let mut out: Vec<Group<'_>> = Vec::new();
    let mut parts: Vec<Vec<Vec<u64>>> = Vec::new();
    let mut places: HashMap<Alike<'_>, usize> = HashMap::new();
    for difference in differences {
        let (pattern, numbers) = pattern(&difference.name);
        let foldable = fold
            && !numbers.is_empty()
            && difference.kind != Kind::Value
            && difference.to.is_none();
        let key = (difference.kind, pattern, &difference.a, &difference.b, difference.equal_as);
        if foldable && let Some(&at) = places.get(&key) {
            let group: &mut Group<'_> = &mut out[at];
            group.count += 1;
            group.numbers = farther(group.numbers, difference.numbers);
            parts[at].push(numbers);
            continue;
        }
        if foldable {
            places.insert(key, out.len());
        }
        let (name, first) = (difference.name.clone(), difference);
        out.push(Group { name, first, count: 1, numbers: difference.numbers });
        parts.push(vec![numbers]);
    }
    for (group, numbers) in out.iter_mut().zip(&parts) {
        if group.count > 1 {
            group.name = folded(&group.first.name, numbers);
        }
    }
    out.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    out
}

/// Settings, then what is there on one side only or has another form, then numbers by how far they are apart.
fn rank(group: &Group<'_>) -> f64 {
    match group.first.kind {
        Kind::Value => -1e300,
        Kind::Added | Kind::Removed | Kind::Renamed => -1e299,
        Kind::Shape => -1e298,
        // Elements that are not comparable, or not finite, stand before those that are.
        Kind::Changed => group.numbers.map_or(-1e297, |numbers| match numbers.rel_l2 {
            0.0 => -1e296,
            share => -share.min(1e295),
        }),
        Kind::Dtype => 1.0 - group.numbers.map_or(0.0, |numbers| numbers.rel_l2.min(0.5)),
        Kind::Close | Kind::Equal => 2.0,
    }
}

fn farther(a: Option<Distance>, b: Option<Distance>) -> Option<Distance> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.max_abs > a.max_abs { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// A name with a star for each part that is a number, and those numbers.
fn pattern(name: &str) -> (String, Vec<u64>) {
    let mut numbers = Vec::new();
    let mut parts = Vec::new();
    for part in name.split('.') {
        match part.parse::<u64>() {
            Ok(number) if !part.starts_with('+') => {
                numbers.push(number);
                parts.push("*");
            }
            _ => parts.push(part),
        }
    }
    (parts.join("."), numbers)
}

/// The name of several: `layers.{0…11}.weight` where the numbers follow one another, `layers.*.weight` otherwise.
fn folded(first: &str, numbers: &[Vec<u64>]) -> String {
    let mut place = 0;
    let part = |part: &str| {
        if part.parse::<u64>().is_err() || part.starts_with('+') {
            return part.to_owned();
        }
        let mut here: Vec<u64> = numbers.iter().map(|numbers| numbers[place]).collect();
        place += 1;
        here.sort_unstable();
        here.dedup();
        match here.as_slice() {
            [only] => only.to_string(),
            [start, .., end] if end - start + 1 == here.len() as u64 => {
                format!("{{{start}…{end}}}")
            }
            few if few.len() <= 4 => {
                let few: Vec<String> = few.iter().map(u64::to_string).collect();
                format!("{{{}}}", few.join(","))
            }
            _ => "*".to_owned(),
        }
    };
    first.split('.').map(part).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(kind: Kind, name: &str, apart: f64) -> Difference {
        let numbers = Distance { max_abs: apart, rel_l2: apart, cosine: None, differing: 1 };
        let shape = Some("float32 4x4".to_owned());
        let (a, b, name) = (shape.clone(), shape, name.to_owned());
        Difference { kind, name, to: None, a, b, numbers: Some(numbers), equal_as: None }
    }

    #[test]
    fn settings_first_then_the_most_changed_and_patterns_folded() {
        let all = [
            difference(Kind::Changed, "layers.0.w", 0.1),
            difference(Kind::Changed, "layers.1.w", 0.2),
            difference(Kind::Changed, "layers.2.w", 0.05),
            difference(Kind::Changed, "head.w", 0.5),
            difference(Kind::Changed, "blocks.0.3.w", 1e-3),
            difference(Kind::Changed, "blocks.2.3.w", 1e-3),
            difference(Kind::Value, "epoch", 0.0),
        ];
        let lines = |fold| -> Vec<String> {
            let groups = groups(all.iter().collect(), fold);
            groups.iter().map(|group| format!("{} {}", group.name, group.count)).collect()
        };
        assert_eq!(lines(true), ["epoch 1", "head.w 1", "layers.{0…2}.w 3", "blocks.{0,2}.3.w 2"]);
        assert_eq!(lines(false).len(), 7);
        let groups = groups(all.iter().collect(), true);
        assert_eq!(groups[2].numbers.map(|numbers| numbers.max_abs), Some(0.2));
    }
}
