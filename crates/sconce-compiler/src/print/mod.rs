//! Graphs back to code: PyTorch's `PythonPrint`.
//!
//! What is printed is what an archive's `code/` holds, and what `.code` of a scripted function or
//! method shows, byte for byte. Reading it back gives the same graph.
//!
//! A [`Printer`] prints one file: the names of temporaries are numbered through it. What goes through
//! a whole save (constants, dependencies, names of types) is in a [`Session`].

mod constants;
mod definitions;
mod dependencies;
mod expressions;
mod inline;
mod names;
mod scope;
mod statements;
mod tagged;
mod version;

use std::sync::Arc;

use sconce_ir::{Constant, FunctionId, Type, Unit};
use sconce_syntax::SourceRange;

pub use constants::ConstantTable;
pub use dependencies::Dependencies;
pub use names::is_identifier;
pub use tagged::Record;

use crate::Error;
use names::Names;
use tagged::Tagged;

/// The name that a class, interface, NamedTuple, enum or function has in print, from its qualified
/// name; `None` where that is it.
pub type Rename<'a> = dyn Fn(&str) -> Option<Arc<str>> + 'a;

/// What all files of one save share.
pub struct Session<'a> {
    /// Where classes and functions are looked up.
    pub unit: &'a Unit,
    /// Names of types in print.
    pub rename: &'a Rename<'a>,
    /// What is printed as `CONSTANTS.cN`.
    pub constants: &'a mut ConstantTable,
    /// What was mentioned.
    pub dependencies: &'a mut Dependencies,
    /// Whether the code will be read back, so that what cannot be is an error.
    pub importable: bool,
}

impl Session<'_> {
    fn annotation(&self, ty: &Type) -> String {
        ty.annotation_with(self.rename)
    }

    fn mention(&mut self, ty: &Type) {
        self.dependencies.add_all(self.unit, ty);
    }
}

/// A file of code in the making.
#[derive(Debug)]
pub struct Printer {
    body: Tagged,
    names: Names,
    level: usize,
    min_version: u64,
}

/// A file of code.
#[derive(Clone, Debug)]
pub struct CodeFile {
    /// The text.
    pub text: String,
    /// Where its pieces come from, by increasing offset; neighbours differ.
    pub records: Vec<Record>,
    /// The least archive version whose readers understand its operators.
    pub min_version: u64,
}

impl Default for Printer {
    fn default() -> Self {
        Self::new()
    }
}

impl Printer {
    /// An empty file.
    pub fn new() -> Self {
        Self { body: Tagged::new(None), names: Names::default(), level: 0, min_version: 1 }
    }

    /// The file.
    pub fn finish(self) -> CodeFile {
        let (text, records) = self.body.into_parts();
        CodeFile { text, records, min_version: self.min_version }
    }

    /// Adds the definition of a class, interface, NamedTuple or enum, or of the function whose type
    /// it is. PyTorch's `printNamedType`.
    ///
    /// # Errors
    /// When a graph has something that code cannot say.
    pub fn print_type(&mut self, session: &mut Session<'_>, ty: &Type) -> Result<(), Error> {
        definitions::named_type(self, session, ty)
    }

    /// Adds a function. PyTorch's `printFunction`.
    ///
    /// # Errors
    /// When it is not compiled, or its graph has something that code cannot say.
    pub fn print_function(
        &mut self,
        session: &mut Session<'_>,
        function: FunctionId,
    ) -> Result<(), Error> {
        definitions::function(self, session, session.unit.function(function), true)
    }

    /// Adds a method whose class goes without saying: the type of `self` is left out. PyTorch's
    /// `printMethod`.
    ///
    /// # Errors
    /// When it is not compiled, or its graph has something that code cannot say.
    pub fn print_method(
        &mut self,
        session: &mut Session<'_>,
        method: FunctionId,
    ) -> Result<(), Error> {
        definitions::function(self, session, session.unit.function(method), false)
    }

    fn put(&mut self, text: &str) {
        self.body.push_str(text);
    }

    /// Begins a line.
    fn indent(&mut self) {
        for _ in 0..self.level {
            self.put("  ");
        }
    }

    /// Says what the text to come is printed for, and gives what it was before.
    fn enter(&mut self, range: Option<&SourceRange>) -> Option<SourceRange> {
        let original = range.and_then(SourceRange::original);
        self.body.set_range(original.or_else(|| range.cloned()))
    }

    fn leave(&mut self, before: Option<SourceRange>) {
        self.body.set_range(before);
    }

    /// Whether an expression is too long to be part of a line.
    fn is_long(&self, text: &str) -> bool {
        text.len() + 2 * self.level >= 40
    }
}

/// What PyTorch shows as the `code` of a function or method.
///
/// # Errors
/// When it is not compiled, or its graph has something that code cannot say.
pub fn code(unit: &Unit, function: FunctionId) -> Result<String, Error> {
    code_with_constants(unit, function).map(|(code, _)| code)
}

/// What PyTorch gives as the `code_with_constants` of a function or method: the code, and what it
/// calls `CONSTANTS.c0`, `CONSTANTS.c1`…
///
/// # Errors
/// When it is not compiled, or its graph has something that code cannot say.
pub fn code_with_constants(
    unit: &Unit,
    function: FunctionId,
) -> Result<(String, Vec<Constant>), Error> {
    let mut constants = ConstantTable::new();
    let mut session = Session {
        unit,
        rename: &|_| None,
        constants: &mut constants,
        dependencies: &mut Dependencies::new(),
        importable: false,
    };
    let mut printer = Printer::new();
    if unit.function(function).class.is_some() {
        printer.print_method(&mut session, function)?;
    } else {
        printer.print_function(&mut session, function)?;
    }
    Ok((printer.finish().text, constants.into_values()))
}
