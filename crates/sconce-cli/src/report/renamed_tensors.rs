//! `sconce diff --rename`: tensors that are equal under other names.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;
use sconce::tensor::{Error, Tensor};

use super::elements;

/// Equal tensors beyond this number are paired in their order, not by their names.
const COMPARED: usize = 1000;

/// A tensor without one of its name on the other side.
pub struct Lone<'l> {
    /// Its name.
    pub name: &'l str,
    /// The tensor.
    pub tensor: &'l Tensor,
}

/// Places of a left and a right tensor that have one dtype, shape and content. Of several, those
/// whose names end alike go together. Where elements are not to be looked at (`values`), only what no
/// other tensor has the dtype and shape of is paired.
pub fn pairs(
    left: &[Lone<'_>],
    right: &[Lone<'_>],
    values: bool,
) -> Result<Vec<(usize, usize)>, Error> {
    let others = outlines(right);
    let mut out = Vec::new();
    for (outline, lefts) in &outlines(left) {
        let Some(rights) = others.get(outline) else { continue };
        if !values {
            if let ([a], [b]) = (&lefts[..], &rights[..]) {
                out.push((*a, *b));
            }
            continue;
        }
        let (lefts, mut rights) = (digests(left, lefts)?, by_digest(digests(right, rights)?));
        for (a, digest) in lefts {
            let Some(free) = rights.get_mut(&digest).filter(|free| !free.is_empty()) else {
                continue;
            };
            let at = match free.len() {
                2..COMPARED => closest(left[a].name, free.iter().map(|&b| right[b].name)),
                _ => 0,
            };
            out.push((a, free.remove(at)));
        }
    }
    out.sort_unstable();
    Ok(out)
}

/// Places by dtype, layout and shape.
fn outlines(lone: &[Lone<'_>]) -> BTreeMap<String, Vec<usize>> {
    let mut out: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, Lone { tensor, .. }) in lone.iter().enumerate() {
        let layout = tensor.layout().name();
        let outline = format!("{} {layout} {:?}", tensor.dtype().name(), tensor.sizes());
        out.entry(outline).or_default().push(at);
    }
    out
}

/// Those that have data, with its digest.
fn digests(lone: &[Lone<'_>], places: &[usize]) -> Result<Vec<(usize, String)>, Error> {
    let digest = |&at: &usize| Ok((at, elements::digest(lone[at].tensor)?));
    let found: Vec<(usize, Option<(String, u64)>)> =
        places.par_iter().map(digest).collect::<Result<_, Error>>()?;
    Ok(found.into_iter().filter_map(|(at, digest)| Some((at, digest?.0))).collect())
}

fn by_digest(digests: Vec<(usize, String)>) -> HashMap<String, Vec<usize>> {
    let mut out: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, digest) in digests {
        out.entry(digest).or_default().push(at);
    }
    out
}

/// The first of the names that end most like `name`.
fn closest<'n>(name: &str, others: impl Iterator<Item = &'n str>) -> usize {
    let ending = |other: &str| {
        name.bytes().rev().zip(other.bytes().rev()).take_while(|(a, b)| a == b).count()
    };
    let mut best = (0, 0);
    for (at, other) in others.enumerate() {
        let alike = ending(other);
        if alike > best.1 {
            best = (at, alike);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tensors_find_each_other() {
        let tensor = |x: f32| Tensor::from_slice(&[x, 0.0], &[2]).unwrap();
        let (zero, one, two) = (tensor(0.0), tensor(1.0), tensor(2.0));
        let wide = Tensor::from_slice(&[1f32, 0.0], &[2, 1]).unwrap();
        let lone = |name, tensor| Lone { name, tensor };
        let left = [lone("a.w", &one), lone("a.b", &zero), lone("c.b", &zero), lone("x", &two)];
        let right =
            [lone("n.c.b", &zero), lone("n.a.b", &zero), lone("y", &wide), lone("n.a.w", &one)];
        assert_eq!(pairs(&left, &right, true).unwrap(), [(0, 3), (1, 1), (2, 0)]);
        assert_eq!(pairs(&left, &right, false).unwrap(), []);
        assert_eq!(pairs(&left[..1], &right[3..], false).unwrap(), [(0, 0)]);
        assert_eq!(pairs(&left[..1], &right[2..3], false).unwrap(), [], "another shape");
    }
}
