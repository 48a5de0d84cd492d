//! Finds tensors and other values by name, and takes slices of them.

use sconce::checkpoint::{ArrayData, Checkpoint, NamedArray, Node, Object};
use sconce::tensor::Tensor;

use crate::error::Failure;
use crate::output::{count, shell_word};
use crate::select::glob::Glob;
use crate::select::suggest;

/// Something that a name on the command line means.
#[derive(Clone)]
pub struct Picked<'c> {
    /// Its name in the file, with the slice if there was one.
    pub name: String,
    /// The object.
    pub object: Object<'c>,
    /// Its elements, when it is a tensor or a numpy array of numbers.
    pub tensor: Option<Tensor>,
    /// Whether `tensor` is a slice of the object's.
    pub sliced: bool,
}

/// The tensor of a tensor object or of a numpy array.
pub fn tensor_of(object: Object<'_>) -> Option<&Tensor> {
    match object.data() {
        Node::Tensor(held) => Some(&held.tensor),
        Node::Array(array) | Node::Scalar(array) => match &array.data {
            ArrayData::Tensor(tensor) => Some(tensor),
            _ => None,
        },
        _ => None,
    }
}

/// How many numpy arrays and how many numpy scalars a file holds.
pub fn arrays(checkpoint: &Checkpoint) -> (usize, usize) {
    let found = checkpoint.arrays();
    let scalar = |found: &&NamedArray<'_>| matches!(found.object.data(), Node::Scalar(_));
    let scalars = found.iter().filter(scalar).count();
    (found.len() - scalars, scalars)
}

/// [`arrays`] in words; `None` where there are none.
pub fn count_arrays((arrays, scalars): (usize, usize)) -> Option<String> {
    let (arrays, scalars) = match (arrays, scalars) {
        (0, 0) => return None,
        (_, 0) => return Some(count(arrays, "numpy array")),
        (0, _) => return Some(count(scalars, "numpy scalar")),
        _ => (count(arrays, "numpy array"), count(scalars, "numpy scalar")),
    };
    Some(format!("{arrays}, {scalars}"))
}

/// Whether a name is of the version numbers that `nn.Module.state_dict` hangs on the dict it gives:
/// an attribute that PyTorch keeps to itself, no entry.
pub fn is_state_dict_metadata(name: &str) -> bool {
    name.starts_with("_metadata.") || name.contains("._metadata.")
}

/// Everything that `wanted` means: a name, a name with a slice, or a pattern.
pub fn pick<'c>(checkpoint: &'c Checkpoint, wanted: &str) -> Result<Vec<Picked<'c>>, Failure> {
    if let Some(found) = exact(checkpoint, wanted) {
        return Ok(vec![picked(wanted.to_owned(), found)]);
    }
    let sliced = split_slice(wanted);
    if let Some((name, slice)) = sliced
        && let Some(object) = exact(checkpoint, name)
    {
        let tensor = tensor_of(object).ok_or_else(|| {
            Failure::usage(format!("'{name}' is not a tensor: there is nothing to slice"))
        })?;
        let part = take_slice(tensor, slice)?;
        let name = format!("{name}[{slice}]");
        return Ok(vec![Picked { name, object, tensor: Some(part), sliced: true }]);
    }
    if Glob::is_pattern(wanted)
        && let Ok(glob) = Glob::new(wanted)
    {
        let mut found = Vec::new();
        checkpoint.visit(|name, object| {
            if tensor_of(object).is_some() && glob.matches(name) {
                found.push(picked(name.to_owned(), object));
            }
        });
        if !found.is_empty() {
            return Ok(found);
        }
        if sliced.is_none() {
            return Err(Failure::usage(format!("no tensor matches '{wanted}'"))
                .in_file(checkpoint.source().name()));
        }
    }
    Err(not_found(checkpoint, sliced.map_or(wanted, |(name, _)| name)))
}

fn picked(name: String, object: Object<'_>) -> Picked<'_> {
    Picked { name, object, tensor: tensor_of(object).cloned(), sliced: false }
}

/// The leaf with this dotted name, or the container at it.
fn exact<'c>(checkpoint: &'c Checkpoint, wanted: &str) -> Option<Object<'c>> {
    let mut found = None;
    checkpoint.visit(|name, object| {
        if found.is_none() && name == wanted {
            found = Some(object);
        }
    });
    found.or_else(|| container(checkpoint.root(), wanted))
}

/// Follows the parts of a dotted name; a key may have dots itself.
pub fn container<'c>(root: Object<'c>, name: &str) -> Option<Object<'c>> {
    let mut object = root;
    let mut rest = name;
    while !rest.is_empty() {
        let ends = rest.match_indices('.').map(|(at, _)| at).chain([rest.len()]);
        let (child, end) =
            ends.filter_map(|end| Some((child(object, &rest[..end])?, end))).next()?;
        object = child;
        rest = rest[end..].strip_prefix('.').unwrap_or("");
    }
    Some(object)
}

fn child<'c>(object: Object<'c>, part: &str) -> Option<Object<'c>> {
    object.get(part).or_else(|| object.at(part.parse().ok()?))
}

fn not_found(checkpoint: &Checkpoint, wanted: &str) -> Failure {
    let mut names = Vec::new();
    checkpoint.visit(|name, _| names.push(name.to_owned()));
    let failure = Failure::usage(format!("nothing in the file is called '{wanted}'"))
        .in_file(checkpoint.source().name());
    // Containers have names, too: those that leaves begin with.
    let mut containers: Vec<&str> = Vec::new();
    for name in &names {
        containers.extend(name.match_indices('.').map(|(dot, _)| &name[..dot]));
    }
    containers.sort_unstable();
    containers.dedup();
    let all = names.iter().map(String::as_str).chain(containers);
    let close = suggest::closest(wanted, all, 3);
    // A part of names is asked for by a pattern.
    let parts = names.iter().filter(|name| name.contains(wanted)).count();
    if parts > 0 && !wanted.is_empty() && !names.iter().any(|name| name == wanted) {
        let message = format!("nothing matches '{wanted}'; try '*{wanted}*'");
        return Failure::usage(message).in_file(checkpoint.source().name());
    }
    if close.is_empty() {
        let file = checkpoint.source().name();
        return failure.help(format!("sconce ls {}   lists the tensors", shell_word(file)));
    }
    failure.help(suggest::did_you_mean(&close))
}

/// `name[0:3,:]` into the name and what stands in the brackets.
fn split_slice(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_suffix(']')?;
    let open = inner.rfind('[')?;
    Some((&inner[..open], &inner[open + 1..]))
}

enum Index {
    One(i64),
    Range { start: Option<i64>, stop: Option<i64>, step: i64 },
    Rest,
}

/// Takes a slice as Python writes it: ints, ranges with steps, negative numbers, `...`.
pub fn take_slice(tensor: &Tensor, text: &str) -> Result<Tensor, Failure> {
    let wrong = |why: String| {
        Failure::usage(format!("slice [{text}]: {why}"))
            .help("write it as in Python: [0], [0:3,:], [..., -1], [::2]")
    };
    let indices = text.split(',').map(|part| index(part.trim())).collect::<Result<Vec<_>, _>>();
    let indices = indices.map_err(|part| wrong(format!("'{part}' is not an index")))?;
    let rests = indices.iter().filter(|index| matches!(index, Index::Rest)).count();
    if rests > 1 {
        return Err(wrong("an index can only have a single ellipsis ('...')".to_owned()));
    }
    let given = indices.len() - rests;
    let Some(hidden) = tensor.ndim().checked_sub(given) else {
        return Err(wrong(format!("{given} indices for a tensor of {} dimensions", tensor.ndim())));
    };
    let mut out = tensor.clone();
    let mut dim = 0i64;
    for index in indices {
        let taken = match index {
            Index::One(at) => out.select(dim, at),
            Index::Range { start, stop, step } => {
                let size = out.sizes()[dim as usize];
                out.slice(dim, start.unwrap_or(0), stop.unwrap_or(size), step)
            }
            Index::Rest => {
                dim += hidden as i64;
                continue;
            }
        };
        out = taken.map_err(|error| wrong(error.to_string()))?;
        dim += i64::from(!matches!(index, Index::One(_)));
    }
    Ok(out)
}

fn index(part: &str) -> Result<Index, &str> {
    if part == "..." {
        return Ok(Index::Rest);
    }
    if let Ok(at) = part.parse() {
        return Ok(Index::One(at));
    }
    let mut fields = part.split(':').map(str::trim);
    let mut number = || match fields.next() {
        None | Some("") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| part),
    };
    let (start, stop, step) = (number()?, number()?, number()?);
    let colons = part.matches(':').count();
    if !(1..=2).contains(&colons) {
        return Err(part);
    }
    Ok(Index::Range { start, stop, step: step.unwrap_or(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices() {
        let tensor = Tensor::from_vec((0..24i64).collect(), &[2, 3, 4]).unwrap();
        let cases: [(&str, &[i64], &[i64]); 8] = [
            ("0", &[3, 4], &[0, 1, 2]),
            ("-1, -1, -1", &[], &[23]),
            (":, 0, 0", &[2], &[0, 12]),
            ("..., 0", &[2, 3], &[0, 4, 8]),
            ("1, ...", &[3, 4], &[12, 13]),
            ("1, 1:, ::2", &[2, 2], &[16, 18, 20, 22]),
            ("1, -2:, -1:", &[2, 1], &[19, 23]),
            ("0:0", &[0, 3, 4], &[]),
        ];
        for (text, sizes, start) in cases {
            let part = take_slice(&tensor, text).unwrap();
            assert_eq!(part.sizes(), sizes, "{text}");
            assert_eq!(part.to_vec::<i64>().unwrap()[..start.len()], *start, "{text}");
        }
        for text in ["x", "5", "0,0,0,0", "...,...", "::-1", "1:2:3:4", "", "1.5"] {
            assert_eq!(take_slice(&tensor, text).unwrap_err().code(), 3, "{text}");
        }
    }

    #[test]
    fn brackets() {
        assert_eq!(split_slice("a[0]"), Some(("a", "0")));
        assert_eq!(split_slice("a[b][1:]"), Some(("a[b]", "1:")));
        assert_eq!(split_slice("a"), None);
    }
}
