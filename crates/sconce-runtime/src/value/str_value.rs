//! Strings of programs.

use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use sconce_kernels::{Charge, Memory};

/// A string of a program, charged to the session that makes it. Cloning shares it.
#[derive(Clone)]
pub struct Text(Rc<Inner>);

struct Inner {
    text: Arc<str>,
    _charge: Charge,
}

impl Text {
    /// A string that the program's code holds anyway.
    pub(crate) fn constant(text: &Arc<str>) -> Self {
        Text(Rc::new(Inner { text: Arc::clone(text), _charge: Charge::default() }))
    }

    /// Its bytes, shared.
    pub fn shared(&self) -> &Arc<str> {
        &self.0.text
    }

    /// Whether both are the same object.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.text, &other.0.text)
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Self {
        const SHARED: usize = size_of::<Inner>() + 2 * crate::value::SHARED;
        let charge = Memory::charge_value(SHARED + text.len());
        Text(Rc::new(Inner { text, _charge: charge }))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Arc::<str>::from(text).into()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Arc::<str>::from(text).into()
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.text
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.is(other) || **self == **other
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
