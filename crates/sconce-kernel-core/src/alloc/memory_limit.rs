//! The limit on the bytes that a run may hold.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::{caching_allocator, counting_allocator};
use crate::{Error, Result};

/// A count of bytes that storages and values hold, and its limit. Cloning gives another handle to one
/// count.
///
/// While a [`Memory`] is [entered](Memory::enter), every storage that its thread makes is charged to
/// it, and gives its bytes back when it goes, whatever is entered then. Counts of several threads do
/// not know of each other. What a kernel needs for itself during a call is not counted, unless
/// [`CountingAllocator`](crate::CountingAllocator) is installed: the limit then also binds all that the
/// process has allocated since the count was made.
///
/// ```
/// use sconce_kernel_core::{DType, Memory, Tensor};
/// let memory = Memory::new(Some(1000));
/// let entered = memory.enter();
/// let small = Tensor::zeros(&[100], DType::Float32)?;
/// assert_eq!(memory.used(), 400);
/// assert!(Tensor::zeros(&[200], DType::Float32).is_err());
/// drop((entered, small));
/// assert_eq!(memory.used(), 0);
/// # Ok::<(), sconce_kernel_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Memory(Rc<Count>);

#[derive(Debug)]
struct Count {
    limit: usize,
    used: Cell<usize>,
    peak: Cell<usize>,
    /// What the process held when the count was made, where that is known.
    before: Option<usize>,
}

thread_local! {
    static ENTERED: RefCell<Option<Memory>> = const { RefCell::new(None) };
}

/// Pieces below this pass without a look at what the process holds: who runs a program looks often
/// enough for them.
const SMALL: usize = 4096;

impl Memory {
    /// A count from 0; without a limit where that is `None`.
    pub fn new(limit: Option<usize>) -> Memory {
        let (used, peak) = (Cell::new(0), Cell::new(0));
        let before = limit.and_then(|_| counting_allocator::counted());
        Memory(Rc::new(Count { limit: limit.unwrap_or(usize::MAX), used, peak, before }))
    }

    /// Bytes that are charged now.
    pub fn used(&self) -> usize {
        self.0.used.get()
    }

    /// The most bytes that were charged at once.
    pub fn peak(&self) -> usize {
        self.0.peak.get()
    }

    /// Bytes held now: those that are charged, or all that the process has allocated since the count was
    /// made where that is known and more.
    pub fn held(&self) -> usize {
        self.used().max(self.held_by_process())
    }

    fn held_by_process(&self) -> usize {
        let before = self.0.before;
        let now = before.and_then(|_| counting_allocator::counted());
        now.unwrap_or(0).saturating_sub(before.unwrap_or(0))
    }

    /// Whether it sees all that the process allocates.
    pub fn counts_process(&self) -> bool {
        self.0.before.is_some()
    }

    /// Whether more is held than may be.
    pub fn is_exceeded(&self) -> bool {
        self.lacks(0)
    }

    /// Whether so many bytes more are too many. What kernels keep for later is given up first.
    fn lacks(&self, bytes: usize) -> bool {
        let room = |held: usize| held.saturating_add(bytes) <= self.0.limit;
        if !room(self.used()) {
            return true;
        }
        if (bytes > 0 && bytes < SMALL) || room(self.held_by_process()) {
            return false;
        }
        caching_allocator::give_back();
        !room(self.held_by_process())
    }

    /// Refuses so many bytes more than are held now.
    ///
    /// # Errors
    /// Where it would hold more than its limit.
    pub fn ask(&self, bytes: usize) -> Result<()> {
        match self.lacks(bytes) {
            true => Err(Error::out_of_memory(self.refusal(bytes))),
            false => Ok(()),
        }
    }

    /// Why so many bytes more are refused.
    #[cold]
    fn refusal(&self, bytes: usize) -> String {
        let (limit, held) = (size_text(self.0.limit), size_text(self.held()));
        match bytes {
            0 => format!("memory limit of {limit} exceeded: the program holds {held}"),
            _ => format!(
                "memory limit of {limit} exceeded: the program holds {held} and asks for {} more",
                size_text(bytes)
            ),
        }
    }

    /// Charges storages of this thread to it until what this gives is dropped; then to what was
    /// entered before.
    pub fn enter(&self) -> Entered {
        Entered(ENTERED.with(|entered| entered.replace(Some(self.clone()))))
    }

    /// The one that this thread has entered.
    pub fn entered() -> Option<Memory> {
        // A thread that ends has left everything.
        ENTERED.try_with(|entered| entered.borrow().clone()).ok().flatten()
    }

    /// Charges bytes that are about to be held to what is entered, if anything is.
    ///
    /// # Errors
    /// Where it would hold more than its limit.
    pub fn charge(bytes: usize) -> Result<Charge> {
        let Some(memory) = Memory::entered() else { return Ok(Charge::default()) };
        memory.ask(bytes)?;
        memory.set(memory.used().saturating_add(bytes));
        Ok(Charge { bytes, memory: Some(memory) })
    }

    /// Refuses more bytes than what is entered, if anything is, may hold at all.
    ///
    /// # Errors
    /// Where it is more.
    pub fn check(bytes: usize) -> Result<()> {
        match Memory::entered() {
            Some(Memory(count)) if bytes > count.limit => Err(Error::out_of_memory(format!(
                "memory limit of {} exceeded: the program asks for what takes {}",
                size_text(count.limit),
                size_text(bytes)
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses scratch memory, which is not charged, beyond what may be held on top of what is held.
    ///
    /// # Errors
    /// Where it is more.
    pub fn check_scratch(bytes: usize) -> Result<()> {
        Memory::entered().map_or(Ok(()), |memory| memory.ask(bytes))
    }

    /// As [`Memory::charge`] for a value that is not a storage, beyond the limit if need be: who makes it has
    /// asked before. Nothing is charged where the allocator counts all the same.
    #[inline]
    pub fn charge_value(bytes: usize) -> Charge {
        let memory = ENTERED.try_with(|entered| {
            let entered = entered.borrow();
            entered.as_ref().filter(|memory| memory.0.before.is_none()).cloned()
        });
        let Some(memory) = memory.ok().flatten() else { return Charge::default() };
        memory.set(memory.used().saturating_add(bytes));
        Charge { bytes, memory: Some(memory) }
    }

    fn set(&self, used: usize) {
        self.0.used.set(used);
        self.0.peak.set(self.0.peak.get().max(used));
    }
}

/// A number of bytes as a person would write it: `64 MiB`, `1.5 GiB`, `17 B`.
pub fn size_text(bytes: usize) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let Some(&(unit, shift)) = UNITS.iter().find(|(_, shift)| bytes >> shift > 0) else {
        return format!("{bytes} B");
    };
    let text = format!("{:.1}", bytes as f64 / (1u64 << shift) as f64);
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// What [`Memory::enter`] gives.
#[derive(Debug)]
#[must_use = "dropping it leaves the count again"]
pub struct Entered(Option<Memory>);

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.0.take();
        // A thread that ends has left everything.
        let _ = ENTERED.try_with(|entered| *entered.borrow_mut() = before);
    }
}

/// Bytes charged to a [`Memory`]; dropping it gives them back.
#[derive(Debug, Default)]
pub struct Charge {
    bytes: usize,
    memory: Option<Memory>,
}

impl Charge {
    /// Charges another number of bytes from now on, beyond the limit if need be.
    pub fn resize(&mut self, bytes: usize) {
        if let Some(memory) = &self.memory {
            memory.set(memory.used().saturating_sub(self.bytes).saturating_add(bytes));
            self.bytes = bytes;
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Storage, Tensor};

    #[test]
    fn storages_give_their_bytes_back_wherever_they_end() {
        let (one, other) = (Memory::new(Some(100)), Memory::new(None));
        let outer = one.enter();
        let storage = Storage::zeroed(60).unwrap();
        let inner = other.enter();
        let more = Storage::zeroed(60).unwrap();
        assert_eq!((one.used(), other.used()), (60, 60));
        drop(storage);
        assert_eq!((one.used(), other.used()), (0, 60));
        drop(inner);
        drop(more);
        assert_eq!((other.used(), other.peak()), (0, 60));
        let Err(error) = Storage::zeroed(101) else { panic!("it was given") };
        assert_eq!(
            error.message(),
            "memory limit of 100 B exceeded: the program holds 0 B and asks for 101 B more"
        );
        drop(outer);
        assert!(Storage::zeroed(101).is_ok());
    }

    #[test]
    #[cfg_attr(
        miri,
        ignore = "Miri aligns no more than a type asks for, and such weights are copied when they are read"
    )]
    fn weights_count_when_they_are_copied_to_be_written() {
        let memory = Memory::new(Some(10));
        let _entered = memory.enter();
        let file = sconce_tensor::Tensor::from_vec(vec![1f32, 2.0, 3.0], &[3]).unwrap();
        let tensor = Tensor::from_file(&file).unwrap();
        assert_eq!(memory.used(), 0);
        let error = tensor.fill(0.into()).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::OutOfMemory);
        assert_eq!(tensor.read::<f32>().unwrap()[..], [1.0, 2.0, 3.0]);
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (64 << 20, "64 MiB"),
            (100_000_000, "95.4 MiB"),
            (3 << 30, "3 GiB"),
            (1 << 61, "2097152 TiB"),
        ] {
            assert_eq!(size_text(bytes), text);
        }
    }

    #[test]
    fn threads_count_for_themselves() {
        let memory = Memory::new(Some(10));
        let _entered = memory.enter();
        std::thread::spawn(|| assert!(Storage::zeroed(1 << 20).is_ok())).join().unwrap();
        assert_eq!(memory.peak(), 0);
    }
}
