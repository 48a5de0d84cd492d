//! Methods that PyTorch writes for containers as it compiles them: `__len__`, `__contains__`.

use std::sync::Arc;

use sconce_compiler::{Definition, Error, ModuleKind, Options, compile, completed, declare};
use sconce_ir::{ClassId, Function, Type, Unit};
use sconce_syntax::Source;

use crate::resolver::Python;

impl Python {
    /// Gives a container's class the methods that its Python class has and TorchScript cannot
    /// compile.
    pub(super) fn add_container_methods(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        names: &[Arc<str>],
    ) -> Result<(), Error> {
        let kind = self.modules.kind(class);
        if matches!(kind, Some(ModuleKind::List | ModuleKind::Dict))
            && unit.find_method(class, "__len__").is_none()
        {
            let text = format!("def __len__(self):\n   return {}\n", names.len());
            self.define_method(unit, class, &text)?;
        }
        if kind == Some(ModuleKind::Dict) && unit.find_method(class, "__contains__").is_none() {
            let answer = if names.is_empty() {
                "False".to_owned()
            } else {
                let keys: Vec<String> = names.iter().map(|name| quoted(name)).collect();
                format!("key in [{}]", keys.join(", "))
            };
            let text = format!("def __contains__(self, key: str):\n   return {answer}\n");
            self.define_method(unit, class, &text)?;
        }
        Ok(())
    }

    /// A method from TorchScript text: `ScriptModule.define`.
    fn define_method(&mut self, unit: &mut Unit, class: ClassId, text: &str) -> Result<(), Error> {
        let source = Source::new(text).with_filename("<string>").with_starting_line(1);
        let source = Arc::new(source);
        for def in sconce_syntax::parse_defs(&source)? {
            let owner = Arc::clone(&unit.class(class).name);
            let name: Arc<str> = format!("{owner}.{}", def.name.name).into();
            let own: Option<Type> = unit.find_type(&owner).cloned();
            let definition = Definition::new(Arc::new(def), Arc::clone(&source));
            let schema = declare(unit, self, &definition, own, Arc::clone(&name))?;
            let method = unit.add_function(Function {
                qualified_name: name,
                class: Some(class),
                schema: Arc::new(schema.clone()),
                graph: None,
            });
            unit.class_mut(class).methods.push(method);
            let graph = compile(unit, self, &definition, &schema, &Options::default())?;
            let function = unit.function_mut(method);
            function.schema = Arc::new(completed(&schema, &graph));
            function.graph = Some(Arc::new(graph));
        }
        Ok(())
    }
}

/// A string as Python's `repr` writes it, as far as PyTorch's lexer reads that.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn strings_are_quoted_as_python_does() {
        let cases = [("a", "'a'"), ("a'b", "\"a'b\""), ("a'\"", "'a\\'\"'"), ("\\", "'\\\\'")];
        for (text, expected) in cases {
            assert_eq!(quoted(text), expected);
        }
    }
}
