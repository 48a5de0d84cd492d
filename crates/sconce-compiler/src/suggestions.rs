//! Names of operators that are nearly the one that was asked for.

use sconce_ir::operators;

/// The largest number of edits at which names are still alike.
const MAX_DISTANCE: usize = 2;

/// Operators whose names are at most two edits from `symbol`, nearest first:
/// `findSimilarOperators`.
pub(crate) fn operators(symbol: &str) -> Vec<&'static str> {
    let distances = operators::names().map(|name| (distance(symbol, name), name));
    let mut near: Vec<_> = distances.filter(|(distance, _)| *distance <= MAX_DISTANCE).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().map(|(_, name)| name).collect()
}

/// How many insertions, deletions and replacements lead from one text to the other; more than
/// [`MAX_DISTANCE`] stands for any such number.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > MAX_DISTANCE {
        return MAX_DISTANCE + 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
        if row.iter().all(|&distance| distance > MAX_DISTANCE) {
            return MAX_DISTANCE + 1;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances_are_edits() {
        let cases = [("add", "add", 0), ("add", "addd", 1), ("add", "abd", 1), ("relu", "elu", 1)];
        for (a, b, expected) in cases {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
        assert!(distance("add", "conv2d") > 2);
    }
}
