//! Values held by reference.

use std::cell::{Ref, RefCell, RefMut};
use std::fmt;
use std::rc::Rc;

/// A value that everybody who holds it sees change: what a TorchScript list, dict or object is. A
/// session works on its values from one thread.
pub struct Shared<T>(Rc<RefCell<T>>);

impl<T> Shared<T> {
    /// A value of its own.
    pub fn new(value: T) -> Self {
        Shared(Rc::new(RefCell::new(value)))
    }

    /// Reads it.
    ///
    /// # Panics
    /// While it is being changed.
    pub fn read(&self) -> Ref<'_, T> {
        self.0.borrow()
    }

    /// Changes it.
    ///
    /// # Panics
    /// While it is being read.
    pub fn write(&self) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }

    /// Whether both are the same object: Python's `is`.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// A number that no other value has while this one is held.
    pub(crate) fn address(&self) -> usize {
        Rc::as_ptr(&self.0).cast::<()>() as usize
    }

    /// How many hold it.
    pub(crate) fn count(&self) -> usize {
        Rc::strong_count(&self.0)
    }

    /// The value itself when nobody else holds it.
    pub(crate) fn only(&mut self) -> Option<&mut T> {
        Rc::get_mut(&mut self.0).map(RefCell::get_mut)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(Rc::clone(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.try_borrow() {
            Ok(value) => value.fmt(f),
            Err(_) => f.write_str("<being changed>"),
        }
    }
}
