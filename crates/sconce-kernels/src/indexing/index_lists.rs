//! Gathering along the last dimensions by lists of indices, one list for each of these dimensions.

use std::ops::Range;

use sconce_kernel_core::layout::shape::product;
use sconce_kernel_core::parallel::partition;

use crate::indexing::index_runs::{by_width, units};
use crate::{Dims, Error, PodElement, Result, Tensor};

/// Elements of a result from which on other threads pay.
const PARALLEL: usize = 1 << 16;

/// Neighbours that are copied together rather than one by one.
const RUN: usize = 8;

/// One to three lists, the last one of the last dimension, and of a row-major input what they pick:
/// row-major too.
///
/// # Errors
/// Where memory is short, and for indices that are not there.
pub(crate) fn pick(input: &Tensor, lists: &[Vec<usize>]) -> Result<Tensor> {
    let lead = input.dim() - lists.len();
    let (outer, inner) = input.sizes().split_at(lead);
    if lists.iter().zip(inner).any(|(list, &size)| list.iter().any(|&at| at >= size as usize)) {
        return Err(Error::index("index out of range in self"));
    }
    let sizes: Dims =
        outer.iter().copied().chain(lists.iter().map(|list| list.len() as i64)).collect();
    let result = Tensor::for_overwrite(&sizes, input.dtype())?;
    if result.numel() == 0 {
        return Ok(result);
    }
    let input = input.contiguous()?;
    by_width!(input, copy(&input, &result, lists))?;
    Ok(result)
}

fn copy<T: PodElement>(input: &Tensor, result: &Tensor, lists: &[Vec<usize>]) -> Result<()> {
    let lead = input.dim() - lists.len();
    let Some((columns, outer)) = lists.split_last() else { return Ok(()) };
    let width = product(&input.sizes()[input.dim() - 1..]) as usize;
    let rows = rows(outer, &input.sizes()[lead..]);
    let run = longest_run(columns);
    let from = units::<T>(input)?;
    let from: &[T] = &from;
    let mut to = result.storage().write::<T>()?;
    let plane = |(to, from): (&mut [T], &[T])| {
        for (at, &row) in rows.iter().enumerate() {
            let (done, to) = to.split_at_mut(at * columns.len());
            let to = &mut to[..columns.len()];
            // What is repeated is copied as a whole.
            match at.checked_sub(1).filter(|&before| rows[before] == row) {
                Some(before) => to.copy_from_slice(&done[before * to.len()..]),
                None => copy_row(&from[row * width..][..width], to, columns, &run),
            }
        }
    };
    let planes = to.chunks_exact_mut(rows.len() * columns.len());
    let planes = planes.zip(from.chunks_exact(product(&input.sizes()[lead..]) as usize));
    match result.numel() < PARALLEL as i64 {
        true => planes.for_each(plane),
        false => partition::for_each(planes, plane),
    }
    Ok(())
}

/// Which rows the lists of all dimensions but the last pick, of dimensions of these sizes.
fn rows(lists: &[Vec<usize>], sizes: &[i64]) -> Vec<usize> {
    lists.iter().zip(sizes).fold(vec![0], |before, (list, &size)| {
        let deeper = |&row: &usize| list.iter().map(move |at| row * size as usize + at);
        before.iter().flat_map(deeper).collect()
    })
}

/// The longest part of a list that counts up by one.
fn longest_run(list: &[usize]) -> Range<usize> {
    let (mut best, mut start) = (0..0, 0);
    for end in 1..=list.len() {
        if end == list.len() || list[end] != list[end - 1] + 1 {
            if end - start > best.len() {
                best = start..end;
            }
            start = end;
        }
    }
    best
}

fn copy_row<T: Copy>(from: &[T], to: &mut [T], columns: &[usize], run: &Range<usize>) {
    let run = if run.len() < RUN { 0..0 } else { run.clone() };
    let gather = |to: &mut [T], columns: &[usize]| {
        to.iter_mut().zip(columns).for_each(|(to, &at)| *to = from[at]);
    };
    gather(&mut to[..run.start], &columns[..run.start]);
    if !run.is_empty() {
        to[run.clone()].copy_from_slice(&from[columns[run.start]..][..run.len()]);
    }
    gather(&mut to[run.end..], &columns[run.end..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picked_elements_are_those_of_the_lists() {
        let numbers: Vec<i32> = (0..2 * 3 * 4 * 20).collect();
        let input = Tensor::from_slice(&numbers, &[2, 3, 4, 20]).unwrap();
        let transposed =
            input.transpose(0, 1).unwrap().contiguous().unwrap().transpose(0, 1).unwrap();
        let long: Vec<usize> = [3, 2, 1].into_iter().chain(0..20).chain([18, 18]).collect();
        let columns: [Vec<usize>; 4] = [long, vec![5], vec![], (0..20).rev().collect()];
        for columns in columns {
            let lists = [vec![2, 2, 0], vec![1, 1, 3, 0], columns];
            for input in [&input, &transposed] {
                let found = pick(input, &lists).unwrap();
                let mut expected = Vec::new();
                for batch in 0..2 {
                    for plane in &lists[0] {
                        for row in &lists[1] {
                            let row = ((batch * 3 + plane) * 4 + row) * 20;
                            expected.extend(lists[2].iter().map(|column| (row + column) as i32));
                        }
                    }
                }
                assert_eq!(found.to_vec::<i32>().unwrap(), expected);
            }
        }
        assert!(pick(&input, &[vec![20]]).is_err());
    }
}
