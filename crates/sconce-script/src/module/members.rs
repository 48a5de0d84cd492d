//! What names of a module mean that are neither attributes nor compiled methods: functions,
//! static methods, and methods, which are compiled when they are first named.

use std::sync::Arc;

use sconce_compiler::{Definition, Error, ModuleMember, declare};
use sconce_ir::{Argument, ClassId, Type, Unit};

use super::compile::Stub;
use crate::concrete_module::Concrete;
use crate::frontend::Body;
use crate::loader::PyFunction;
use crate::loader::inheritance::MemberKind;
use crate::resolver::{Decorated, Defaults, Python, tree};

impl Python {
    /// What a name of a module means in a program.
    pub(crate) fn member_of_module(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        name: &str,
    ) -> Result<ModuleMember, Error> {
        let Some(concrete) = self.modules.concrete.get(&class).cloned() else {
            return Ok(ModuleMember::Missing(String::new()));
        };
        if let Some(method) = concrete.overloads.iter().find(|method| &*method.name == name) {
            let names = method.signatures.iter().map(|(name, _)| Arc::clone(name));
            return Ok(ModuleMember::Overloads(names.collect()));
        }
        let mut functions = concrete.functions.iter();
        if let Some((_, global)) = functions.find(|(known, _)| &**known == name) {
            return Ok(ModuleMember::Global(global.clone()));
        }
        // The class's own, whatever the object has in its place.
        let member = self.loader.class_member(&concrete.class, name)?;
        if let Some(member) = member
            && let MemberKind::Function(function) = member.kind
            && let Some(found) = self.method_of_module(unit, class, &function, name)?
        {
            return Ok(found);
        }
        Ok(ModuleMember::Missing(concrete.why_missing(name)))
    }

    /// What a function of a module's Python class means; nothing for a property.
    fn method_of_module(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        function: &PyFunction,
        name: &str,
    ) -> Result<Option<ModuleMember>, Error> {
        let decorators = self.decorator_names(function)?;
        let is = |wanted: &str| decorators.iter().any(|name| name == wanted);
        if is("property") || is("setter") {
            return Ok(None);
        }
        if is("staticmethod") {
            return Ok(self.function(unit, function)?.map(ModuleMember::Global));
        }
        match self.decorated(function)? {
            Decorated::Unused => self.dropped_method(unit, class, function).map(Some),
            Decorated::Ignored => Err(Error::without_range(format!(
                "the method '{}' is marked with @torch.jit.ignore: it runs in Python, which sconce \
                 does not have. @torch.jit.unused makes it an error of the compiled program instead",
                function.name()
            ))),
            Decorated::Plain => {
                let stub = Stub::new(self, function, name)?;
                self.define_methods(unit, class, Vec::new(), vec![stub])?;
                Ok(Some(ModuleMember::Compiled))
            }
        }
    }

    /// A method of which only the signature counts: calls of it raise.
    fn dropped_method(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        function: &PyFunction,
    ) -> Result<ModuleMember, Error> {
        let own = function.name();
        let tree = tree(function, own, Some("RecursiveScriptModule"), Body::Left, false)?;
        let definition = Definition::new(tree.def, Arc::clone(&tree.snippet.source));
        let module = Arc::clone(&function.module);
        let ty = unit.find_type(&Arc::clone(&unit.class(class).name)).cloned();
        let name: Arc<str> = own.into();
        let schema = self.in_scope(&module, |python| {
            let mut schema = declare(unit, python, &definition, ty, name)?;
            python.set_defaults(unit, &mut schema, &function.def, Defaults::All)?;
            if schema.returns.is_empty() {
                schema.returns.push(Argument::new("", Type::inferred_tensor()));
            }
            Ok::<_, Error>(schema)
        })?;
        Ok(ModuleMember::Dropped(Arc::new(schema)))
    }

    /// The last parts of the names of a function's decorators.
    pub(super) fn decorator_names(&mut self, function: &PyFunction) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for decorator in &function.def.decorator_list {
            let name = self.loader.decorator(&function.module, decorator)?;
            names.push(name.rsplit('.').next().unwrap_or_default().to_owned());
        }
        Ok(names)
    }
}

impl Concrete {
    /// The method that an attribute is.
    pub(super) fn bound(&self, name: &str) -> Option<&PyFunction> {
        self.bound.iter().find(|(known, _)| &**known == name).map(|(_, function)| function)
    }

    /// Why a program cannot have an attribute, as far as that is known.
    fn why_missing(&self, name: &str) -> String {
        let mut failed = self.failed.iter();
        if let Some((_, reason)) = failed.find(|(known, _)| &**known == name) {
            return reason.clone();
        }
        if self.ignored.iter().any(|known| &**known == name) {
            return "attribute was ignored during compilation".into();
        }
        String::new()
    }
}
