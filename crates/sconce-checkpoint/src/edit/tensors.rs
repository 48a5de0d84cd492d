//! Casting, transposing and cutting loose tensors.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use sconce_source::Bytes;
use sconce_tensor::{DType, LazyError, Scalar, Storage, Tensor};

use super::{CastOverflow, Change, ChangeKind, Draft};
use crate::object::{Node, ObjectId, Walk};
use crate::{Error, ErrorKind};

/// The largest number that rounds down to the largest of float8_e4m3fn, which has no infinity to
/// tell an overflow by.
const E4M3FN_LIMIT: f64 = 464.0;

/// A tensor object with all of its names.
struct Found {
    names: Vec<String>,
    id: ObjectId,
    tensor: Tensor,
}

impl Found {
    fn is(&self, wanted: &impl Fn(&str) -> bool) -> bool {
        self.names.iter().any(|name| wanted(name))
    }

    /// Notes the change under every name.
    fn changed(self, kind: ChangeKind, changes: &mut Vec<Change>) {
        let change = |name| Change { name, kind: kind.clone() };
        changes.extend(self.names.into_iter().map(change));
    }
}

/// Tensors over one storage.
struct Group {
    storage: Storage,
    members: Vec<Found>,
}

impl Draft {
    /// Casts floating-point tensors. Integers and bools stay as they are; so do quantized, complex,
    /// sparse and packed tensors, which are told as [`ChangeKind::Left`]. Rounding is that of
    /// [`Tensor::to_dtype`]. Tensors that shared memory still share it. Nothing is computed before
    /// the draft is saved.
    ///
    /// # Errors
    /// When `dtype` is nothing to cast to.
    pub fn cast(
        &mut self,
        dtype: DType,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<Change>, Error> {
        let castable = Tensor::from_vec(vec![0f32], &[1]).and_then(|one| one.to_dtype(dtype));
        if !dtype.is_floating_point() || castable.is_err() {
            let message = format!("cannot cast tensors to {}", dtype.name());
            return Err(Error::new(ErrorKind::Caller, message));
        }
        let mut changes = Vec::new();
        let mut matched = Vec::new();
        let mut others: HashMap<usize, String> = HashMap::new();
        for found in self.tensors()? {
            let from = found.tensor.dtype();
            let asked = found.is(&wanted);
            let casts = asked && from.is_floating_point() && from != dtype;
            let why = match found.tensor.storage() {
                _ if asked && from.is_quantized() => Some("it is quantized"),
                _ if asked && from.is_complex() => Some("it is complex"),
                _ if !casts => None,
                None => Some("only tensors of the layout strided are cast"),
                Some(storage) if !storage.has_data() => Some("it has no data"),
                _ if from.elements_per_byte() > 1 => Some("its elements are packed"),
                Some(_) => {
                    matched.push(found);
                    continue;
                }
            };
            if let Some(why) = why {
                found.changed(ChangeKind::Left { why }, &mut changes);
            } else if let Some(storage) = found.tensor.storage() {
                let name = found.names.into_iter().next().unwrap_or_default();
                others.entry(storage.id()).or_insert(name);
            }
        }
        for group in groups(matched) {
            let parted_from = others.get(&group.storage.id()).cloned();
            self.cast_group(group, dtype, parted_from, &mut changes)?;
        }
        Ok(changes)
    }

    fn cast_group(
        &mut self,
        group: Group,
        to: DType,
        parted_from: Option<String>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        // Different types over one storage cannot be saved, but can be cast one by one.
        let mut by_type: Vec<(DType, Vec<Found>)> = Vec::new();
        for found in group.members {
            let from = found.tensor.dtype();
            match by_type.iter_mut().find(|(known, _)| *known == from) {
                Some((_, members)) => members.push(found),
                None => by_type.push((from, vec![found])),
            }
        }
        for (from, members) in by_type {
            let item = from.item_size() as u64;
            let bytes = hull(&members);
            let (first, count) = (bytes.start / item, (bytes.end - bytes.start) / item);
            let counted = Arc::new(OnceLock::new());
            let (storage, tally) = (group.storage.clone(), Arc::clone(&counted));
            let load = move || -> Result<Bytes, LazyError> {
                let source = part(&storage, bytes.clone())?;
                let file = source.source().clone();
                let source = Storage::from_bytes(source, storage.device().clone());
                let source = Tensor::contiguous(source, from, &[count as i64])?;
                let cast = source.to_dtype(to)?;
                let _ = tally.set(overflows(&source, &cast)?);
                file.release();
                Ok(cast.storage().ok_or("a cast tensor has a storage")?.bytes()?)
            };
            let device = group.storage.device().clone();
            let cast = Storage::lazy(count * to.item_size() as u64, device, Box::new(load));
            for found in members {
                let offset = (found.tensor.storage_offset() - first as i64).max(0);
                let view = |offset| {
                    let (sizes, strides) = (found.tensor.sizes(), found.tensor.strides());
                    Tensor::strided(cast.clone(), to, offset, sizes, strides)
                };
                let tensor = view(offset).map_err(internal)?;
                self.replace(&found, tensor);
                let kind = ChangeKind::Cast {
                    from,
                    to,
                    overflow: CastOverflow { cast: cast.clone(), counted: Arc::clone(&counted) },
                    parted_from: parted_from.clone(),
                };
                found.changed(kind, changes);
            }
        }
        Ok(())
    }

    /// Makes two dimensions change places, as `torch.transpose` does: the strides change, the bytes
    /// stay.
    ///
    /// # Errors
    /// When a tensor has no such dimensions or is not strided.
    pub fn transpose(
        &mut self,
        wanted: impl Fn(&str) -> bool,
        a: i64,
        b: i64,
    ) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        let mut transposed = Vec::new();
        for found in self.tensors()?.into_iter().filter(|found| found.is(&wanted)) {
            let tensor = found.tensor.transpose(a, b).map_err(|error| {
                let name = found.names.first().map(String::as_str).unwrap_or_default();
                let message = format!("cannot transpose '{}'", name.escape_debug());
                Error::new(ErrorKind::Caller, message).with_note(error.to_string())
            })?;
            transposed.push((found, tensor));
        }
        for (found, tensor) in transposed {
            let kind = ChangeKind::Transposed { sizes: tensor.sizes().to_vec() };
            self.put(found.id, tensor);
            found.changed(kind, &mut changes);
        }
        Ok(changes)
    }

    /// Gives small views of large storages storages of their own, as `Tensor.clone` does before a
    /// save: a file has every byte of a storage that any tensor uses a part of. Views that overlap
    /// still do.
    ///
    /// # Errors
    /// When objects are nested too deeply to be named.
    pub fn clone_views(&mut self) -> Result<Vec<Change>, Error> {
        let found = self.tensors()?;
        let whole = self.storages_of_their_own();
        let mut changes = Vec::new();
        for group in groups(found) {
            let plain = |found: &Found| {
                found.tensor.quantizer().is_none() && found.tensor.dtype().elements_per_byte() == 1
            };
            let storage = &group.storage;
            if whole.contains(&storage.id())
                || !storage.has_data()
                || !group.members.iter().all(plain)
            {
                continue;
            }
            for cluster in clusters(group.members) {
                self.clone_cluster(storage, cluster, &mut changes)?;
            }
        }
        Ok(changes)
    }

    fn clone_cluster(
        &mut self,
        storage: &Storage,
        cluster: Vec<Found>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let Some(first) = cluster.first().map(|found| found.tensor.clone()) else { return Ok(()) };
        let bytes = hull(&cluster);
        let same = |found: &Found| {
            let other = &found.tensor;
            first.dtype() == other.dtype()
                && (first.storage_offset(), first.sizes(), first.strides())
                    == (other.storage_offset(), other.sizes(), other.strides())
        };
        let compact = first.nbytes() < bytes.end - bytes.start && cluster.iter().all(same);
        let after = if compact { first.nbytes() } else { bytes.end - bytes.start };
        let before = storage.nbytes();
        let misplaced = |found: &Found| {
            let item = found.tensor.dtype().item_size() as u64;
            found.tensor.numel() > 0 && !bytes.start.is_multiple_of(item)
        };
        if after >= before || !compact && cluster.iter().any(misplaced) {
            return Ok(());
        }
        let (from, range) = (storage.clone(), bytes.clone());
        let plain = first.clone().with_conj(false).with_neg(false);
        let load = move || -> Result<Bytes, LazyError> {
            if compact {
                return Ok(plain.contiguous_bytes_once()?);
            }
            part(&from, range.clone())
        };
        let own = Storage::lazy(after, storage.device().clone(), Box::new(load));
        for found in cluster {
            let (dtype, sizes) = (found.tensor.dtype(), found.tensor.sizes());
            let tensor = if compact {
                Tensor::contiguous(own.clone(), dtype, sizes)
            } else {
                let first = (bytes.start / dtype.item_size() as u64) as i64;
                let offset = (found.tensor.storage_offset() - first).max(0);
                let offset = if found.tensor.numel() == 0 { 0 } else { offset };
                Tensor::strided(own.clone(), dtype, offset, sizes, found.tensor.strides())
            };
            self.replace(&found, tensor.map_err(internal)?);
            found.changed(ChangeKind::Cloned { before, after }, changes);
        }
        Ok(())
    }

    /// Storages that are objects themselves: all their bytes are used.
    fn storages_of_their_own(&self) -> HashSet<usize> {
        let nodes = (0..self.graph.len()).map(|at| self.graph.node(ObjectId(at as u32)));
        nodes
            .filter_map(|node| match node {
                Node::Storage(object) => Some(object.storage.id()),
                _ => None,
            })
            .collect()
    }

    /// Every tensor object, by first appearance.
    fn tensors(&self) -> Result<Vec<Found>, Error> {
        let mut walk = Walk::new(&self.graph);
        let mut out: Vec<Found> = Vec::new();
        let mut places: HashMap<ObjectId, usize> = HashMap::new();
        walk.run(self.root, |name, object| {
            let Node::Tensor(found) = object.data() else { return };
            let (id, names) = (object.id(), vec![name.to_owned()]);
            match places.get(&id) {
                Some(&at) => out[at].names.extend(names),
                None => {
                    places.insert(id, out.len());
                    out.push(Found { names, id, tensor: found.tensor.clone() });
                }
            }
        });
        if walk.cut {
            let message = "objects are nested too deeply for all tensors to be found";
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(out)
    }

    /// Puts a tensor in the place of another, whose flags it gets.
    fn replace(&mut self, found: &Found, tensor: Tensor) {
        let old = &found.tensor;
        let labelled = old.storage().is_some_and(|storage| storage.device() != old.device());
        let tensor = tensor
            .with_requires_grad(old.requires_grad())
            .with_conj(old.is_conj())
            .with_neg(old.is_neg());
        let tensor = if labelled { tensor.with_device(old.device().clone()) } else { tensor };
        self.put(found.id, tensor);
    }

    fn put(&mut self, id: ObjectId, tensor: Tensor) {
        if let Node::Tensor(object) = self.graph.node(id) {
            let mut object = object.clone();
            object.tensor = tensor;
            self.graph.set(id, Node::Tensor(object));
        }
    }
}

/// By storage, in order of appearance. Tensors without a storage are left out.
fn groups(found: Vec<Found>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    for found in found {
        let Some(storage) = found.tensor.storage().cloned() else { continue };
        let at = *places.entry(storage.id()).or_insert_with(|| {
            groups.push(Group { storage, members: Vec::new() });
            groups.len() - 1
        });
        groups[at].members.push(found);
    }
    groups
}

/// The bytes from the first to the last that any of the tensors uses.
fn hull(members: &[Found]) -> Range<u64> {
    let ranges = members.iter().filter_map(|found| found.tensor.storage_range());
    let used = ranges.filter(|range| !range.is_empty());
    used.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
}

/// Tensors of one storage, those together that overlap.
fn clusters(members: Vec<Found>) -> Vec<Vec<Found>> {
    let range = |found: &Found| found.tensor.storage_range().unwrap_or(0..0);
    let mut places: Vec<usize> = (0..members.len()).collect();
    places.sort_by_key(|&at| (range(&members[at]).start, range(&members[at]).end));
    let mut out: Vec<Vec<Found>> = Vec::new();
    let mut end = 0;
    let mut members: Vec<Option<Found>> = members.into_iter().map(Some).collect();
    for at in places {
        let Some(found) = members[at].take() else { continue };
        let range = range(&found);
        match out.last_mut() {
            Some(cluster) if range.start < end => cluster.push(found),
            _ => out.push(vec![found]),
        }
        end = range.end.max(end);
    }
    out
}

fn part(storage: &Storage, range: Range<u64>) -> Result<Bytes, LazyError> {
    let bytes = storage.bytes_once()?;
    let range = usize::try_from(range.start)?..usize::try_from(range.end)?;
    Ok(bytes.slice(range).ok_or("a view lies outside its storage")?)
}

/// How many finite numbers are none any more, or were cut to the largest.
fn overflows(source: &Tensor, cast: &Tensor) -> Result<u64, sconce_tensor::Error> {
    let finite = |scalar: Scalar| scalar.to_f64().filter(|x| x.is_finite());
    let mut count = 0;
    if cast.dtype() == DType::Float8E4M3FN {
        let too_large = |x: &f64| x.abs() > E4M3FN_LIMIT;
        return Ok(source.values()?.filter_map(Scalar::to_f64).filter(too_large).count() as u64);
    }
    for (before, after) in source.values()?.zip(cast.values()?) {
        count += u64::from(finite(before).is_some() && finite(after).is_none());
    }
    Ok(count)
}

pub(super) fn internal(error: sconce_tensor::Error) -> Error {
    Error::new(ErrorKind::Malformed, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDict;

    fn draft(tensors: &[(&str, Tensor)]) -> Draft {
        tensors.iter().map(|(name, tensor)| (*name, tensor.clone())).collect::<StateDict>().finish()
    }

    fn get<'d>(draft: &'d Draft, name: &str) -> &'d Tensor {
        draft.root().get(name).and_then(crate::Object::as_tensor).unwrap()
    }

    fn values(tensor: &Tensor) -> Vec<f64> {
        tensor.values().unwrap().map(|scalar| scalar.to_f64().unwrap()).collect()
    }

    #[test]
    fn casts_keep_what_is_shared() {
        let grid = Tensor::from_vec((0..6).map(|x| x as f32).collect(), &[2, 3]).unwrap();
        let whole = Tensor::from_vec(vec![7i64], &[1]).unwrap();
        let row = grid.select(0, 1).unwrap().with_requires_grad(true);
        let columns = grid.transpose(0, 1).unwrap();
        let mut draft = draft(&[("grid", grid), ("row", row), ("t", columns), ("n", whole)]);
        let changes = draft.cast(DType::Float16, |_| true).unwrap();
        assert_eq!(changes.len(), 3, "integers stay");
        let (grid, row, t) = (get(&draft, "grid"), get(&draft, "row"), get(&draft, "t"));
        assert_eq!(values(grid), [0., 1., 2., 3., 4., 5.]);
        assert_eq!(values(row), [3., 4., 5.]);
        assert_eq!(values(t), [0., 3., 1., 4., 2., 5.]);
        assert!(row.requires_grad() && row.dtype() == DType::Float16);
        assert!(grid.storage().unwrap().ptr_eq(row.storage().unwrap()));
        assert_eq!(get(&draft, "n").dtype(), DType::Int64);
        assert!(draft.cast(DType::Int8, |_| true).is_err());
        assert!(draft.cast(DType::Float16, |_| true).unwrap().is_empty());
    }

    #[test]
    fn only_the_part_in_use_is_cast() {
        let long = Tensor::from_vec((0..100).map(f64::from).collect(), &[100]).unwrap();
        let (a, b) = (long.narrow(0, 10, 5).unwrap(), long.narrow(0, 50, 2).unwrap());
        let mut draft = draft(&[("a", a), ("b", b)]);
        let changes = draft.cast(DType::Float32, |name| name == "a").unwrap();
        let ChangeKind::Cast { parted_from, .. } = &changes[0].kind else { panic!("{changes:?}") };
        assert_eq!(parted_from.as_deref(), Some("b"));
        assert_eq!(get(&draft, "a").storage().unwrap().nbytes(), 20);
        assert_eq!(values(get(&draft, "a")), [10., 11., 12., 13., 14.]);
        assert_eq!(values(get(&draft, "b")), [50., 51.]);
    }

    #[test]
    fn two_types_over_one_storage_are_saved_when_one_is_cast() {
        let floats = Tensor::from_slice(&[1f32, 2.0], &[2]).unwrap();
        let storage = floats.storage().unwrap().clone();
        let ints = Tensor::contiguous(storage.clone(), DType::Int32, &[2]).unwrap();
        let mut draft = draft(&[("a", floats), ("b", ints)]);
        let save = |draft: &Draft| crate::SaveOptions::new().save_to(draft.root(), Vec::new());
        let error = save(&draft).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Caller);
        assert_eq!(
            error.message(),
            "Cannot save multiple tensors or storages that view the same data as different types"
        );
        draft.cast(DType::Float64, |_| true).unwrap();
        save(&draft).unwrap();
        assert_eq!(values(get(&draft, "a")), [1.0, 2.0]);
        // Dtypes that go without a type in the file may share bytes, in PyTorch too.
        let small = Tensor::contiguous(storage.clone(), DType::Float8E5M2, &[8]).unwrap();
        let wide = Tensor::contiguous(storage, DType::UInt16, &[4]).unwrap();
        save(&self::draft(&[("a", small), ("b", wide)])).unwrap();
    }

    #[test]
    fn overflow_is_counted() {
        let numbers = vec![1.0, 70000.0, -1e30, f32::INFINITY, f32::NAN, 464.0, 465.0];
        let tensor = Tensor::from_vec(numbers, &[7]).unwrap();
        let counts = [
            (DType::Float16, 2),
            (DType::BFloat16, 0),
            (DType::Float8E5M2, 2),
            (DType::Float8E4M3FN, 4),
            (DType::Float8E4M3FNUZ, 4),
        ];
        for (dtype, want) in counts {
            let mut draft = draft(&[("x", tensor.clone())]);
            let changes = draft.cast(dtype, |_| true).unwrap();
            let ChangeKind::Cast { overflow, .. } = &changes[0].kind else { panic!("{changes:?}") };
            assert_eq!(overflow.count().unwrap(), want, "{dtype:?}");
        }
    }

    #[test]
    fn small_views_get_storages_of_their_own() {
        let long = Tensor::from_vec((0..100i32).collect(), &[10, 10]).unwrap();
        let cut = |dim, from, len| long.narrow(dim, from, len).unwrap();
        let mut draft = draft(&[
            ("rows", cut(0, 1, 2)),
            ("also", cut(0, 2, 2)),
            ("column", cut(0, 5, 5).select(1, 3).unwrap()),
            ("none", cut(0, 4, 0)),
            ("all", Tensor::from_vec(vec![1i32], &[1]).unwrap()),
        ]);
        let changes = draft.clone_views().unwrap();
        assert_eq!(changes.len(), 4);
        let nbytes = |name| get(&draft, name).storage().unwrap().nbytes();
        assert_eq!(["rows", "also", "column", "none", "all"].map(nbytes), [120, 120, 20, 0, 4]);
        let storage = |name| get(&draft, name).storage().unwrap();
        assert!(storage("rows").ptr_eq(storage("also")));
        assert_eq!(values(get(&draft, "also"))[..3], [20., 21., 22.]);
        assert_eq!(values(get(&draft, "column")), [53., 63., 73., 83., 93.]);
        assert!(draft.clone_views().unwrap().is_empty());
    }

    #[test]
    fn transposing_twice_is_nothing() {
        let grid = Tensor::from_vec((0..6i32).collect(), &[2, 3]).unwrap();
        let mut draft = draft(&[("x", grid)]);
        draft.transpose(|_| true, 0, 1).unwrap();
        assert_eq!(get(&draft, "x").sizes(), [3, 2]);
        draft.transpose(|_| true, -2, -1).unwrap();
        assert_eq!(values(get(&draft, "x")), [0., 1., 2., 3., 4., 5.]);
        assert_eq!(draft.transpose(|_| true, 0, 2).unwrap_err().kind(), ErrorKind::Caller);
    }
}
