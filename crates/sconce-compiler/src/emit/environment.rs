//! Variables: what names mean in which block.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_ir::{Attribute, Attributes, BlockId, Prim, Type, ValueId};
use sconce_syntax::{Range, ast::Ident};

use super::sugared::Sugared;
use super::{Emitter, Returns};
use crate::ssa::is_meaningful;
use crate::{Error, Global};

/// The frames of the blocks that are being emitted, outermost first.
#[derive(Default)]
pub(super) struct Environment {
    frames: Vec<Frame>,
    /// Why a variable that looks defined cannot be used.
    errors: FxHashMap<Arc<str>, Error>,
    /// The attributes of loads and stores, by name.
    attributes: FxHashMap<Arc<str>, Attributes>,
}

impl Environment {
    /// The attributes of a load or store of a variable: the same list for all.
    pub(super) fn name_attributes(&mut self, name: &Arc<str>) -> Attributes {
        let entry = self.attributes.entry(Arc::clone(name));
        let made =
            entry.or_insert_with(|| Attributes::one("name", Attribute::Str(Arc::clone(name))));
        made.clone()
    }
}

/// The variables of one block.
pub(super) struct Frame {
    block: BlockId,
    /// Those that are no values of the graph.
    sugared: FxHashMap<Arc<str>, Sugared>,
    /// Those that are, with the type they are stored under.
    types: FxHashMap<Arc<str>, Type>,
    /// The names of `types` in order of definition; deleted ones may be among them.
    order: Vec<Arc<str>>,
}

/// What a frame knows of a name.
enum Binding {
    Sugared(Sugared),
    Stored(Type),
}

impl Frame {
    fn new(block: BlockId) -> Self {
        Self {
            block,
            sugared: FxHashMap::default(),
            types: FxHashMap::default(),
            order: Vec::new(),
        }
    }

    fn find(&self, name: &str) -> Option<Binding> {
        if let Some(value) = self.sugared.get(name) {
            return Some(Binding::Sugared(value.clone()));
        }
        self.types.get(name).map(|ty| Binding::Stored(ty.clone()))
    }

    fn set_type(&mut self, name: &Arc<str>, ty: Type) {
        if self.types.insert(Arc::clone(name), ty).is_none() {
            self.order.push(Arc::clone(name));
        }
    }

    /// The variables that are stored in this block.
    pub(super) fn stored(&self) -> Vec<Arc<str>> {
        self.order.iter().filter(|name| self.types.contains_key(*name)).cloned().collect()
    }
}

impl Emitter<'_> {
    pub(super) fn push_frame(&mut self, block: BlockId) {
        self.environment.frames.push(Frame::new(block));
    }

    pub(super) fn pop_frame(&mut self) -> Frame {
        let root = self.graph.root();
        self.environment.frames.pop().unwrap_or_else(|| Frame::new(root))
    }

    /// A frame that also begins a definition.
    pub(super) fn push_definition(&mut self, block: BlockId) {
        self.returns.push(Returns::default());
        self.push_frame(block);
    }

    /// The block that is being emitted.
    pub(super) fn block(&self) -> BlockId {
        self.environment.frames.last().map_or(self.graph.root(), |frame| frame.block)
    }

    /// Loads a variable. The load gets the variable's name, which pushes others aside, as in
    /// PyTorch.
    fn load(&mut self, name: &Arc<str>, ty: Type) -> Sugared {
        let value = self.insert_with(Prim::Load, &[], ty);
        let node = self.graph.value(value).node();
        let attributes = self.environment.name_attributes(name);
        self.graph.node_mut(node).set_attributes(attributes);
        self.straight_line.log(node);
        if is_meaningful(name) {
            self.graph.set_name(value, name);
        }
        Sugared::Simple(value)
    }

    fn known(&mut self, name: &Arc<str>, known: Binding) -> Sugared {
        match known {
            Binding::Sugared(value) => value,
            Binding::Stored(ty) => self.load(name, ty),
        }
    }

    /// A variable of the innermost frame that has it, the first `depth` frames considered.
    fn find_within(&mut self, name: &Arc<str>, depth: usize) -> Option<Sugared> {
        let frames = self.environment.frames.get(..depth)?;
        let known = frames.iter().rev().find_map(|frame| frame.find(name))?;
        Some(self.known(name, known))
    }

    pub(super) fn find_in_any_frame(&mut self, name: &Arc<str>) -> Option<Sugared> {
        self.find_within(name, self.environment.frames.len())
    }

    fn find_in_parent_frame(&mut self, name: &Arc<str>) -> Option<Sugared> {
        self.find_within(name, self.environment.frames.len().saturating_sub(1))
    }

    /// A variable as a frame that has been left sees it.
    pub(super) fn find_from(&mut self, frame: &Frame, name: &Arc<str>) -> Option<Sugared> {
        match frame.find(name) {
            Some(known) => Some(self.known(name, known)),
            None => self.find_in_any_frame(name),
        }
    }

    /// Says why a variable must not be used.
    pub(super) fn set_variable_error(&mut self, name: &Arc<str>, error: Error) {
        self.environment.errors.insert(Arc::clone(name), error);
    }

    /// Enters a variable that has been stored.
    pub(super) fn set_type(&mut self, name: &Arc<str>, ty: Type) {
        if let Some(frame) = self.environment.frames.last_mut() {
            frame.set_type(name, ty);
        }
    }

    pub(super) fn insert_store(&mut self, name: &Arc<str>, at: Option<Range>, value: ValueId) {
        let store = self.insert(Prim::Store, &[value]);
        let attributes = self.environment.name_attributes(name);
        self.graph.node_mut(store).set_attributes(attributes);
        self.straight_line.log(store);
        if let Some(at) = at {
            self.set_range(store, at);
        }
    }

    pub(super) fn set_variable(
        &mut self,
        at: Range,
        name: &Arc<str>,
        value: ValueId,
    ) -> Result<(), Error> {
        self.set_sugared(at, name, Sugared::Simple(value), None)
    }

    /// Assigns to a variable: `Environment::setSugaredVar`.
    pub(super) fn set_sugared(
        &mut self,
        at: Range,
        name: &Arc<str>,
        value: Sugared,
        annotated: Option<Type>,
    ) -> Result<(), Error> {
        let mut simple = value.simple();
        if let Some(value) = simple {
            self.name_after_variable(value, name);
        }
        if let Some(parent) = self.find_in_parent_frame(name) {
            simple = Some(self.reassign(at, name, &value, parent, annotated.as_ref())?);
        }
        let Some(value_id) = simple else {
            if let Some(frame) = self.environment.frames.last_mut() {
                frame.sugared.insert(Arc::clone(name), value);
            }
            self.straight_line.note_sugared();
            return Ok(());
        };
        if let Some(annotated) = &annotated
            && !self.is_subtype(value_id, annotated)
        {
            let message = format!(
                "Variable '{name}' is annotated with type {} but is being assigned to a value of \
                 type {}",
                annotated.message_text(),
                self.type_text(value_id)
            );
            return Err(self.error(at, message));
        }
        let stored_as = annotated.unwrap_or_else(|| self.graph.ty(value_id).clone());
        self.insert_store(name, Some(at), value_id);
        self.set_type(name, stored_as);
        Ok(())
    }

    /// A value without a name gets the name of the variable it is assigned to in its own block.
    fn name_after_variable(&mut self, value: ValueId, name: &str) {
        let known = self.graph.value(value);
        let own_block = self.graph.node(known.node()).owner() == Some(self.block());
        if known.name().is_none() && own_block && is_meaningful(name) {
            self.graph.set_name(value, name);
        }
    }

    /// The value as the variable of an outer block can hold it.
    fn reassign(
        &mut self,
        at: Range,
        name: &Arc<str>,
        value: &Sugared,
        parent: Sugared,
        annotated: Option<&Type>,
    ) -> Result<ValueId, Error> {
        const ONLY: &str =
            "is not a first-class value.  Only reassignments to first-class values are allowed";
        if annotated.is_some() {
            let message = format!(
                "Attempting to declare and annotate the type of variable '{name}' but it is \
                 already defined in an outer block"
            );
            return Err(self.error(at, message));
        }
        let Some(simple) = value.simple() else {
            let kind = self.kind_text(value);
            let message = format!(
                "Cannot re-assign '{name}' to a value of type {kind} because {name} {ONLY}"
            );
            return Err(self.error(at, message));
        };
        let Some(parent) = parent.simple() else {
            let kind = self.kind_text(value);
            let message =
                format!("Cannot re-assign '{name}' because it has type {kind} and {name} {ONLY}");
            return Err(self.error(at, message));
        };
        let ty = self.graph.ty(parent).unshaped(self.unit);
        let converted = self.convert(Some(at), &ty, simple, true)?;
        if let Err(reason) = self.graph.ty(converted).check_subtype_of(&ty, self.unit) {
            let mut message = format!(
                "Variable '{name}' previously had type {} but is now being assigned to a value of \
                 type {}",
                self.type_text(parent),
                self.type_text(converted)
            );
            let both = (self.graph.ty(parent), self.graph.ty(converted));
            if matches!(both, (Type::List(_), Type::List(_))) {
                message.push_str(
                    "\nEmpty lists default to List[Tensor]. Add a variable annotation to the \
                     assignment to create an empty list of another type \
                     (torch.jit.annotate(List[T, []]) where T is the type of elements in the list \
                     for Python 2)",
                );
            }
            message.push('\n');
            message.push_str(&reason);
            return Err(self.error(at, message));
        }
        Ok(converted)
    }

    /// What a name means: a variable, one of the language's own functions, or what the resolver
    /// says.
    pub(super) fn variable(&mut self, name: &Ident) -> Result<Sugared, Error> {
        self.named(&name.name, name.range)
    }

    pub(super) fn named(&mut self, name: &Arc<str>, at: Range) -> Result<Sugared, Error> {
        if let Some(value) = self.find_in_any_frame(name) {
            return Ok(value);
        }
        if let Some(value) = Sugared::of_the_language(name) {
            return Ok(value);
        }
        let global = self.resolver.value(self.unit, name);
        if let Some(global) = global.map_err(|error| error.or_at(self.source_range(at)))? {
            return Ok(self.global(global, at));
        }
        match self.resolver.ty(self.unit, name)? {
            Some(ty @ (Type::Class(_) | Type::Tuple(_) | Type::Enum(_))) => {
                Ok(self.global(Global::Type(ty), at))
            }
            _ => Err(self.not_found(name, at)),
        }
    }

    /// A variable that must be a value.
    pub(super) fn variable_value(&mut self, name: &Arc<str>, at: Range) -> Result<ValueId, Error> {
        let value = self.named(name, at)?;
        self.as_value(value, at)
    }

    fn not_found(&self, name: &str, at: Range) -> Error {
        match self.environment.errors.get(name) {
            Some(reason) => self.error(at, format!("{}and was used here", reason.report())),
            None => self.error(at, format!("undefined value {name}")),
        }
    }

    /// `del name`
    pub(super) fn remove_variable(&mut self, name: &Ident) -> Result<(), Error> {
        let mut removed = false;
        for frame in self.environment.frames.iter_mut().rev() {
            let sugared = frame.sugared.remove(&name.name).is_some();
            let stored = frame.types.remove(&name.name).is_some();
            if stored {
                frame.order.retain(|other| *other != name.name);
            }
            // As in PyTorch: what counts is the outermost frame.
            removed = sugared || stored;
        }
        if removed { Ok(()) } else { Err(self.not_found(&name.name, name.range)) }
    }
}
