//! Names close to the one that was typed.

use strsim::osa_distance;

/// Up to `most` candidates that could have been meant, closest first.
///
/// A candidate that contains the word, or whose last part is the word, counts as close whatever its
/// length: `weight` finds `fc.weight`.
pub fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let allowed = 1 + word.chars().count() / 4;
    let mut scored: Vec<(usize, usize, &str)> = candidates
        .into_iter()
        .enumerate()
        .filter_map(|(order, candidate)| {
            let distance = distance_within(word, candidate, allowed)
                .or_else(|| (word.len() > 2 && candidate.contains(word)).then_some(allowed + 1))?;
            Some((distance, order, candidate))
        })
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(most).map(|(_, _, candidate)| candidate).collect()
}

/// The question that offers them.
pub fn did_you_mean(close: &[&str]) -> String {
    format!("did you mean '{}'?", close.join("' or '"))
}

/// The edit distance, counting a swap of neighbours as one, where it is at most `limit`.
fn distance_within(a: &str, b: &str, limit: usize) -> Option<usize> {
    let lower = |text: &str, most: usize| -> String {
        text.chars().take(most).map(|c| c.to_ascii_lowercase()).collect()
    };
    let (a, b) = (lower(a, 256), lower(b, 256 + limit));
    if a.chars().count().abs_diff(b.chars().count()) > limit {
        return None;
    }
    Some(osa_distance(&a, &b)).filter(|&distance| distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names() {
        let names = ["conv1.weight", "conv1.bias", "fc.weight", "classifier.weight"];
        assert_eq!(closest("conv1.wieght", names, 3), ["conv1.weight"]);
        assert_eq!(closest("bias", names, 3), ["conv1.bias"]);
        assert_eq!(closest("fc", names, 3), Vec::<&str>::new());
        assert_eq!(closest("zzz", names, 3), Vec::<&str>::new());
        assert_eq!(closest("weight", names, 2), ["conv1.weight", "fc.weight"]);
        assert_eq!(closest("sl", ["ls", "stat"], 1), ["ls"]);
    }
}
