//! One tensor split into several, and several joined into one.

use sconce_source::Bytes;
use sconce_tensor::{LazyError, Storage, Tensor};

use super::entries::{self, Entry, Kind, named};
use super::tensors::internal;
use super::{Change, ChangeKind, Draft};
use crate::object::{Node, ObjectId, TensorObject};
use crate::{Error, ErrorKind};

impl Draft {
    /// Splits a tensor along a dimension into several, which take its place in its dict:
    /// `torch.split(tensor, sizes, dim)`, with storages of their own. Without `sizes` the parts are
    /// equal. `into` are whole names; all stay in the dict that the tensor is in.
    ///
    /// ```
    /// use sconce_checkpoint::StateDict;
    /// use sconce_tensor::Tensor;
    ///
    /// let mut state = StateDict::new();
    /// state.insert("qkv", Tensor::from_slice(&[1f32, 2.0, 3.0], &[3, 1])?);
    /// let mut draft = state.finish();
    /// draft.split("qkv", &["q", "k", "v"], 0, None)?;
    /// assert_eq!(draft.root().get("k").unwrap().as_tensor().unwrap().to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such tensor or dimension, the sizes do not add up, or a name is taken; the
    /// draft is unchanged then.
    pub fn split(
        &mut self,
        name: &str,
        into: &[&str],
        dim: i64,
        sizes: Option<&[i64]>,
    ) -> Result<Vec<Change>, Error> {
        let entries = self.entries()?;
        let source = self.dense(&entries, name)?;
        let whole = &source.object.tensor;
        let at = dimension(name, whole, dim)?;
        let length = whole.sizes()[at];
        let sizes = match sizes {
            Some(sizes) => sizes.to_vec(),
            None => {
                let parts = into.len() as i64;
                if parts == 0 || length % parts != 0 {
                    let what = format!("{length} in dimension {dim} is not {parts} equal parts");
                    return Err(cannot("split", name, &what).with_help("give the sizes"));
                }
                vec![length / parts; into.len()]
            }
        };
        let sum = sizes.iter().try_fold(0i64, |sum, &size| sum.checked_add(size));
        if sizes.len() != into.len() || sum != Some(length) || sizes.iter().any(|&size| size < 0) {
            let what = format!("{sizes:?} are not the sizes of {} parts of {length}", into.len());
            return Err(cannot("split", name, &what));
        }
        let mut made = Vec::with_capacity(into.len());
        let mut start = 0;
        for (&part, &size) in into.iter().zip(&sizes) {
            let key = self.sibling(&entries, &source, part)?;
            let view = whole.narrow(at as i64, start, size).map_err(internal)?;
            start += size;
            let device = view.device().clone();
            let shape = view.sizes().to_vec();
            let load = {
                let view = view.clone();
                Box::new(move || -> Result<Bytes, LazyError> { Ok(view.contiguous_bytes_once()?) })
            };
            let own = Storage::lazy(view.nbytes(), device, load);
            made.push((key, source.with_tensor(own, &shape)?));
        }
        let sizes = made.iter().map(|(_, object)| object.tensor.sizes().to_vec()).collect();
        self.take_place(&[&source], made)?;
        let into = into.iter().map(|&part| part.to_owned()).collect();
        Ok(vec![Change { name: name.to_owned(), kind: ChangeKind::Split { into, sizes } }])
    }

    /// Joins tensors of one dict along a dimension into one, which stands where the first stood:
    /// `torch.cat(tensors, dim)`.
    ///
    /// # Errors
    /// When one of them is not there, dtypes or other sizes differ, or the name is taken; the draft
    /// is unchanged then.
    pub fn concat(&mut self, names: &[&str], into: &str, dim: i64) -> Result<Vec<Change>, Error> {
        let entries = self.entries()?;
        let sources: Vec<Dense<'_>> =
            names.iter().map(|name| self.dense(&entries, name)).collect::<Result<_, Error>>()?;
        let Some(first) = sources.first() else {
            return Err(Error::new(ErrorKind::Caller, "no tensors to join"));
        };
        let at = dimension(first.name(), &first.object.tensor, dim)?;
        let mut shape = first.object.tensor.sizes().to_vec();
        shape[at] = 0;
        for source in &sources {
            let tensor = &source.object.tensor;
            let mut others = tensor.sizes().to_vec();
            let matching = tensor.dtype() == first.object.tensor.dtype()
                && others.len() == shape.len()
                && source.entry.holder == first.entry.holder;
            let length = others.get(at).copied().unwrap_or(0);
            if matching {
                others[at] = shape[at];
            }
            if !matching || others != shape {
                let (one, other) = (first.describe(), source.describe());
                let what = format!("{other} does not go with {one} in dimension {dim}");
                return Err(cannot("join", source.name(), &what)
                    .with_note("dtypes, other sizes and the dict that they are in must be equal"));
            }
            shape[at] = shape[at].saturating_add(length);
        }
        let key = self.sibling_of_all(&entries, &sources, into)?;
        let parts: Vec<Tensor> =
            sources.iter().map(|source| source.object.tensor.clone()).collect();
        let nbytes = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.nbytes()));
        let device = parts.first().map(|part| part.device().clone()).unwrap_or_default();
        let load = Box::new(move || joined(&parts, at));
        let object = first.with_tensor(Storage::lazy(nbytes, device, load), &shape)?;
        let of: Vec<&Dense<'_>> = sources.iter().collect();
        self.take_place(&of, vec![(key, object)])?;
        let from = names.iter().map(|&name| name.to_owned()).collect();
        Ok(vec![Change { name: into.to_owned(), kind: ChangeKind::Joined { from, sizes: shape } }])
    }

    /// A tensor in a dict whose elements lie in rows.
    fn dense<'e>(&self, entries: &'e [Entry], name: &str) -> Result<Dense<'e>, Error> {
        let entry = named(entries, name).ok_or_else(|| {
            let message = format!("nothing is called '{}'", name.escape_debug());
            Error::new(ErrorKind::Caller, message)
        })?;
        let Node::Tensor(object) = self.graph.node(entry.value) else {
            return Err(cannot("take apart or join", name, "it is not a tensor"));
        };
        let tensor = &object.tensor;
        let what = match tensor.storage() {
            None => "only tensors of the layout strided have rows",
            Some(_) if tensor.quantizer().is_some() => "it is quantized",
            Some(_) if tensor.dtype().elements_per_byte() > 1 => "its elements are packed",
            Some(storage) if !storage.has_data() => "it has no data",
            Some(_) if entry.kind == Kind::Item => "it is an element of a list",
            Some(_) => return Ok(Dense { entry, object: (**object).clone() }),
        };
        Err(cannot("take apart or join", name, what))
    }

    /// The key of a new entry beside another.
    fn sibling(&self, entries: &[Entry], of: &Dense<'_>, name: &str) -> Result<String, Error> {
        self.sibling_of_all(entries, std::slice::from_ref(of), name)
    }

    /// The key of a new entry in the place of others. Their names are free, others of the dict taken.
    fn sibling_of_all(
        &self,
        all: &[Entry],
        sources: &[Dense<'_>],
        name: &str,
    ) -> Result<String, Error> {
        let entry = match sources.first() {
            Some(first) => first.entry,
            None => return Err(Error::new(ErrorKind::Caller, "no tensors to join")),
        };
        let above = entry.parent.map_or("", |parent| all[parent].name.as_str());
        let key = entries::below(name, above).ok_or_else(|| entries::moved(&entry.name, name))?;
        entry.check_key(key)?;
        let taken = all.iter().any(|other| {
            other.parent == entry.parent
                && other.name == name
                && !sources.iter().any(|source| source.entry.at == other.at)
        });
        if taken {
            let (name, from) = (name.escape_debug(), entry.name.escape_debug());
            let message = format!("'{name}' is there already, so '{from}' cannot become it");
            return Err(Error::new(ErrorKind::Caller, message));
        }
        Ok(key.to_owned())
    }

    /// Puts new tensors where the first of some entries stands, and takes those out.
    fn take_place(
        &mut self,
        sources: &[&Dense<'_>],
        made: Vec<(String, TensorObject)>,
    ) -> Result<(), Error> {
        let Some(holder) = sources.first().map(|source| source.entry.holder) else { return Ok(()) };
        let Node::Dict(dict) = self.graph.node(holder) else { return Ok(()) };
        let dict = dict.clone();
        let mut fresh: Vec<(ObjectId, ObjectId)> = Vec::with_capacity(made.len());
        for (key, object) in made {
            if fresh.iter().any(
                |&(known, _)| matches!(self.graph.node(known), Node::Str(text) if **text == *key),
            ) {
                let message = format!("two parts are called '{}'", key.escape_debug());
                return Err(Error::new(ErrorKind::Caller, message));
            }
            let key = self.graph.push(Node::Str(key.into()));
            fresh.push((key, self.graph.push(Node::Tensor(Box::new(object)))));
        }
        let mut pairs = Vec::with_capacity(dict.len() + fresh.len());
        let first = sources.iter().map(|source| source.entry.at).min();
        for (at, &pair) in dict.entries().iter().enumerate() {
            if Some(at) == first {
                pairs.append(&mut fresh);
            }
            if !sources.iter().any(|source| source.entry.at == at) {
                pairs.push(pair);
            }
        }
        let dict = dict.with_entries(&self.graph, &pairs);
        self.graph.set(holder, Node::Dict(Box::new(dict)));
        Ok(())
    }
}

/// A tensor to be taken apart or joined.
struct Dense<'e> {
    entry: &'e Entry,
    object: TensorObject,
}

impl Dense<'_> {
    fn name(&self) -> &str {
        &self.entry.name
    }

    fn describe(&self) -> String {
        let tensor = &self.object.tensor;
        format!("{} {:?}", tensor.dtype().name(), tensor.sizes())
    }

    /// The same kind of tensor over another storage.
    fn with_tensor(&self, storage: Storage, sizes: &[i64]) -> Result<TensorObject, Error> {
        let (dtype, requires_grad) =
            (self.object.tensor.dtype(), self.object.tensor.requires_grad());
        let tensor = Tensor::contiguous(storage, dtype, sizes).map_err(internal)?;
        let tensor = tensor.with_requires_grad(requires_grad);
        Ok(TensorObject { tensor, class: self.object.class.clone(), state: None })
    }
}

/// The bytes of tensors side by side in a dimension.
fn joined(parts: &[Tensor], dim: usize) -> Result<Bytes, LazyError> {
    let rows: Vec<Bytes> =
        parts.iter().map(Tensor::contiguous_bytes_once).collect::<Result<_, _>>()?;
    let outer: i64 = parts.first().map_or(0, |part| part.sizes()[..dim].iter().product());
    let outer = usize::try_from(outer)?;
    let mut out = Vec::with_capacity(rows.iter().map(|row| row.len()).sum());
    for at in 0..outer {
        for row in &rows {
            let length = row.len() / outer;
            out.extend_from_slice(&row[at * length..(at + 1) * length]);
        }
    }
    rows.iter().for_each(|row| row.source().release());
    Ok(Bytes::from(out))
}

fn dimension(name: &str, tensor: &Tensor, dim: i64) -> Result<usize, Error> {
    let dims = tensor.ndim() as i64;
    let at = if dim < 0 { dim + dims } else { dim };
    usize::try_from(at).ok().filter(|&at| (at as i64) < dims).ok_or_else(|| {
        cannot(
            "take apart or join",
            name,
            &format!("it has no dimension {dim} but {dims} dimensions"),
        )
    })
}

fn cannot(what: &str, name: &str, why: &str) -> Error {
    Error::new(ErrorKind::Caller, format!("cannot {what} '{}': {why}", name.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDict;

    fn grid() -> Draft {
        let grid = Tensor::from_vec((0..12).map(|x| x as f32).collect(), &[2, 6]).unwrap();
        let other = Tensor::from_vec(vec![7i64], &[1]).unwrap();
        let tensors =
            [("a", other.clone()), ("m.qkv", grid.with_requires_grad(true)), ("z", other)];
        tensors.into_iter().collect::<StateDict>().finish()
    }

    fn names(draft: &Draft) -> Vec<&str> {
        draft.root().entries().map(|(key, _)| key.as_str().unwrap()).collect()
    }

    fn values(draft: &Draft, name: &str) -> Vec<f32> {
        draft.root().get(name).unwrap().as_tensor().unwrap().to_vec::<f32>().unwrap()
    }

    #[test]
    fn what_is_split_is_joined_again() {
        let parts = ["m.q", "m.k", "m.v"];
        for (dim, sizes) in [(1, None), (-1, Some([1, 3, 2])), (0, Some([1, 0, 1]))] {
            let mut draft = grid();
            let sizes = sizes.as_ref().map(|sizes| &sizes[..]);
            draft.split("m.qkv", &parts, dim, sizes).unwrap();
            assert_eq!(names(&draft), ["a", "m.q", "m.k", "m.v", "z"]);
            let part = draft.root().get("m.k").unwrap().as_tensor().unwrap();
            assert!(part.requires_grad());
            assert_eq!(part.storage().unwrap().nbytes(), part.nbytes());
            draft.concat(&parts, "m.qkv", dim).unwrap();
            assert_eq!(names(&draft), ["a", "m.qkv", "z"]);
            assert_eq!(values(&draft, "m.qkv"), (0..12).map(|x| x as f32).collect::<Vec<_>>());
        }
        let mut draft = grid();
        draft.split("m.qkv", &["m.qkv", "m.rest"], 1, Some(&[2, 4])).unwrap();
        assert_eq!(values(&draft, "m.qkv"), [0., 1., 6., 7.]);
        draft.concat(&["m.rest", "m.qkv"], "m.rest", 1).unwrap();
        assert_eq!(values(&draft, "m.rest")[..6], [2., 3., 4., 5., 0., 1.]);
        assert_eq!(names(&draft), ["a", "m.rest", "z"]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        type Split<'a> = (&'a str, &'a [&'a str], i64, Option<&'a [i64]>, &'a str);
        let splits: [Split<'_>; 7] = [
            ("x", &["b"], 0, None, "nothing is called 'x'"),
            ("m.qkv", &["b"], 2, None, "no dimension 2"),
            ("m.qkv", &["b", "c", "d", "e"], 1, None, "not 4 equal parts"),
            ("m.qkv", &["b", "c"], 1, Some(&[1, 4]), "not the sizes"),
            ("m.qkv", &["b", "c"], 1, Some(&[-1, 7]), "not the sizes"),
            ("m.qkv", &["b", "z"], 1, None, "'z' is there already"),
            ("m.qkv", &["b", "b"], 1, None, "two parts are called 'b'"),
        ];
        for (name, into, dim, sizes, want) in splits {
            let mut draft = grid();
            let error = draft.split(name, into, dim, sizes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Caller);
            assert!(error.message().contains(want), "{error}");
            assert_eq!(names(&draft), ["a", "m.qkv", "z"]);
        }
        let joins: [(&[&str], &str, i64, &str); 4] = [
            (&["a", "m.qkv"], "b", 0, "does not go with int64 [1]"),
            (&["a", "z"], "m.qkv", 0, "'m.qkv' is there already"),
            (&["a", "x"], "b", 0, "nothing is called 'x'"),
            (&[], "b", 0, "no tensors"),
        ];
        for (from, into, dim, want) in joins {
            let error = grid().concat(from, into, dim).unwrap_err();
            assert!(error.message().contains(want), "{error}");
        }
    }
}
