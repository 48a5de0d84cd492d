//! The limit on the bytes that a run may hold.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::{Error, Result};

/// A count of bytes that storages hold, and its limit. Cloning gives another handle to one count.
///
/// While a [`Memory`] is [entered](Memory::enter), every storage that its thread makes is charged to
/// it, and gives its bytes back when it goes, whatever is entered then. Counts of several threads do
/// not know of each other. What a kernel needs for itself during a call is not counted.
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
}

thread_local! {
    static ENTERED: RefCell<Option<Memory>> = const { RefCell::new(None) };
}

impl Memory {
    /// A count from 0; without a limit where that is `None`.
    pub fn new(limit: Option<usize>) -> Memory {
        let (used, peak) = (Cell::new(0), Cell::new(0));
        Memory(Rc::new(Count { limit: limit.unwrap_or(usize::MAX), used, peak }))
    }

    /// Bytes held now.
    pub fn used(&self) -> usize {
        self.0.used.get()
    }

    /// The most bytes that were held at once.
    pub fn peak(&self) -> usize {
        self.0.peak.get()
    }

    /// Whether more is held than may be.
    pub fn is_exceeded(&self) -> bool {
        self.used() > self.0.limit
    }

    /// Charges storages of this thread to it until what this gives is dropped; then to what was
    /// entered before.
    pub fn enter(&self) -> Entered {
        Entered(ENTERED.with(|entered| entered.replace(Some(self.clone()))))
    }

    /// Charges bytes that are about to be held to what is entered, if anything is.
    ///
    /// # Errors
    /// Where it would hold more than its limit.
    pub fn charge(bytes: usize) -> Result<Charge> {
        let Some(memory) = entered() else { return Ok(Charge::default()) };
        let used = memory.used().saturating_add(bytes);
        if used > memory.0.limit {
            return Err(Error::out_of_memory(format!(
                "the program may hold {} bytes, holds {} and asks for {bytes} more",
                memory.0.limit,
                memory.used()
            )));
        }
        memory.set(used);
        Ok(Charge { bytes, memory: Some(memory) })
    }

    /// Refuses more bytes than what is entered, if anything is, may hold at all.
    ///
    /// # Errors
    /// Where it is more.
    pub fn check(bytes: usize) -> Result<()> {
        match entered() {
            Some(Memory(count)) if bytes > count.limit => Err(Error::out_of_memory(format!(
                "the program may hold {} bytes and asks for what takes {bytes}",
                count.limit
            ))),
            _ => Ok(()),
        }
    }

    /// As [`Memory::charge`], beyond the limit if need be: for what is found to have grown.
    pub fn charge_anyway(bytes: usize) -> Charge {
        let Some(memory) = entered() else { return Charge::default() };
        memory.set(memory.used().saturating_add(bytes));
        Charge { bytes, memory: Some(memory) }
    }

    fn set(&self, used: usize) {
        self.0.used.set(used);
        self.0.peak.set(self.0.peak.get().max(used));
    }
}

fn entered() -> Option<Memory> {
    // A thread that ends has left everything.
    ENTERED.try_with(|entered| entered.borrow().clone()).ok().flatten()
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
            "the program may hold 100 bytes, holds 0 and asks for 101 more"
        );
        drop(outer);
        assert!(Storage::zeroed(101).is_ok());
    }

    #[test]
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
    fn threads_count_for_themselves() {
        let memory = Memory::new(Some(10));
        let _entered = memory.enter();
        std::thread::spawn(|| assert!(Storage::zeroed(1 << 20).is_ok())).join().unwrap();
        assert_eq!(memory.peak(), 0);
    }
}
