//! Sorting and selection in the order of the C++ standard library that PyTorch is built with.
//!
//! Among equal elements, the order that these algorithms leave shows in results: in the indices of
//! `topk`, `mode` and `median`. They are introsort, introselect and heap sort as libstdc++ implements
//! them (median of three, insertion sort from sixteen elements down).

/// Ranges up to this length are left to insertion sort.
pub(crate) const SHORT: usize = 16;

/// How often a range may be divided before heap sort takes over.
fn depth(len: usize) -> u32 {
    2 * len.checked_ilog2().unwrap_or(0)
}

/// `std::sort`.
pub(crate) fn sort<T: Copy>(items: &mut [T], less: &impl Fn(T, T) -> bool) {
    introsort(items, depth(items.len()), less);
    // The loop leaves short runs, each below the next: one pass over everything orders them.
    insertion_sort(items, less);
}

fn introsort<T: Copy>(mut items: &mut [T], mut depth: u32, less: &impl Fn(T, T) -> bool) {
    while items.len() > SHORT {
        if depth == 0 {
            let len = items.len();
            partial_sort(items, len, less);
            return;
        }
        depth -= 1;
        let cut = partition(items, less);
        let (left, right) = items.split_at_mut(cut);
        introsort(right, depth, less);
        items = left;
    }
}

/// `std::nth_element`: the element that stands at `nth` afterwards is that of the sorted order.
pub(crate) fn select<T: Copy>(items: &mut [T], nth: usize, less: &impl Fn(T, T) -> bool) {
    let (mut first, mut last) = (0, items.len());
    let mut depth = depth(items.len());
    if nth >= last {
        return;
    }
    while last - first > 3 {
        if depth == 0 {
            let range = &mut items[first..last];
            heap_select(range, nth + 1 - first, less);
            range.swap(0, nth - first);
            return;
        }
        depth -= 1;
        let cut = first + partition(&mut items[first..last], less);
        if cut <= nth { first = cut } else { last = cut }
    }
    insertion_sort(&mut items[first..last], less);
}

/// `std::partial_sort`: the first `middle` elements of the sorted order, sorted.
pub(crate) fn partial_sort<T: Copy>(items: &mut [T], middle: usize, less: &impl Fn(T, T) -> bool) {
    heap_select(items, middle, less);
    sort_heap(&mut items[..middle], less);
}

/// `std::sort_heap`.
pub(crate) fn sort_heap<T: Copy>(heap: &mut [T], less: &impl Fn(T, T) -> bool) {
    for last in (1..heap.len()).rev() {
        let value = heap[last];
        heap[last] = heap[0];
        sift(&mut heap[..last], 0, value, less);
    }
}

/// `std::make_heap`: the greatest comes first.
pub(crate) fn make_heap<T: Copy>(heap: &mut [T], less: &impl Fn(T, T) -> bool) {
    for parent in (0..heap.len() / 2).rev() {
        let value = heap[parent];
        sift(heap, parent, value, less);
    }
}

/// The step of `std::partial_sort` for an element behind the heap: where it is less than the first of
/// the heap, it takes its position, and the first is given back.
pub(crate) fn offer<T: Copy>(heap: &mut [T], item: T, less: &impl Fn(T, T) -> bool) -> Option<T> {
    let first = heap.first().copied().filter(|&first| less(item, first))?;
    sift(heap, 0, item, less);
    Some(first)
}

fn insertion_sort<T: Copy>(items: &mut [T], less: &impl Fn(T, T) -> bool) {
    for at in 1..items.len() {
        let value = items[at];
        let mut hole = at;
        if less(value, items[0]) {
            items.copy_within(0..at, 1);
            hole = 0;
        } else {
            while less(value, items[hole - 1]) {
                items[hole] = items[hole - 1];
                hole -= 1;
            }
        }
        items[hole] = value;
    }
}

/// Divides at the median of three elements and says where the upper part starts.
fn partition<T: Copy>(items: &mut [T], less: &impl Fn(T, T) -> bool) -> usize {
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let is_less = |x: usize, y: usize| less(items[x], items[y]);
    let median = match (is_less(a, b), is_less(b, c), is_less(a, c)) {
        (true, true, _) | (false, false, false) => b,
        (true, false, true) | (false, true, false) => c,
        (true, false, false) | (false, _, true) => a,
    };
    items.swap(0, median);
    let pivot = items[0];
    let (mut low, mut high) = (1, items.len());
    loop {
        // The median stops both, unless `less` is no order, as that of NaN is none.
        while items.get(low).is_some_and(|&item| less(item, pivot)) {
            low += 1;
        }
        high -= 1;
        while high > 0 && less(pivot, items[high]) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        items.swap(low, high);
        low += 1;
    }
}

fn heap_select<T: Copy>(items: &mut [T], middle: usize, less: &impl Fn(T, T) -> bool) {
    let (heap, rest) = items.split_at_mut(middle);
    make_heap(heap, less);
    for item in rest {
        if let Some(first) = offer(heap, *item, less) {
            *item = first;
        }
    }
}

/// Puts `value` into a heap whose position `hole` is free: down to a leaf, then up again.
fn sift<T: Copy>(heap: &mut [T], mut hole: usize, value: T, less: &impl Fn(T, T) -> bool) {
    let top = hole;
    loop {
        let right = 2 * hole + 2;
        let child = match right.cmp(&heap.len()) {
            std::cmp::Ordering::Less if less(heap[right], heap[right - 1]) => right - 1,
            std::cmp::Ordering::Less => right,
            std::cmp::Ordering::Equal => right - 1,
            std::cmp::Ordering::Greater => break,
        };
        heap[hole] = heap[child];
        hole = child;
    }
    while hole > top {
        let parent = (hole - 1) / 2;
        if !less(heap[parent], value) {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrambled(len: usize, spread: u64) -> Vec<(u64, usize)> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % spread
        };
        (0..len).map(|i| (next(), i)).collect()
    }

    #[test]
    fn order_is_that_of_the_keys() {
        let less = |a: (u64, usize), b: (u64, usize)| a.0 < b.0;
        for len in [0, 1, 2, 3, 5, 16, 17, 40, 1000] {
            let items = scrambled(len, 50);
            let mut keys: Vec<u64> = items.iter().map(|item| item.0).collect();
            keys.sort_unstable();
            let mut sorted = items.clone();
            sort(&mut sorted, &less);
            assert!(sorted.iter().map(|item| item.0).eq(keys.iter().copied()));
            for nth in [0, len / 3, len.saturating_sub(1)] {
                let mut chosen = items.clone();
                select(&mut chosen, nth, &less);
                assert_eq!(chosen.get(nth).map(|item| item.0), keys.get(nth).copied());
                let mut front = items.clone();
                partial_sort(&mut front, nth, &less);
                assert!(front[..nth].iter().map(|item| item.0).eq(keys[..nth].iter().copied()));
            }
        }
    }

    #[test]
    fn falling_rows_end() {
        let less = |a: u64, b: u64| a < b;
        let mut items: Vec<u64> = (0..5000).rev().collect();
        sort(&mut items, &less);
        assert!(items.is_sorted());
    }
}
