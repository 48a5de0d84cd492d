//! `match` statements: patterns as Python's reference describes them.

use std::sync::Arc;

use ruff_python_ast as py;

use super::super::control_flow::{Flow, Outcome, refuse};
use super::super::value::{Cell, ClassKind, Dict, Key, Value};
use super::super::{Frame, Interpreter};

/// Built-in classes whose only positional pattern is for the object itself.
const OF_ITSELF: &[&str] = &[
    "builtins.bool",
    "builtins.bytearray",
    "builtins.bytes",
    "builtins.dict",
    "builtins.float",
    "builtins.frozenset",
    "builtins.int",
    "builtins.list",
    "builtins.set",
    "builtins.str",
    "builtins.tuple",
];

/// Names that a pattern binds once all of it fits.
type Captured<'p> = Vec<(&'p str, Value)>;

impl Interpreter<'_> {
    pub(in super::super) fn run_match(
        &mut self,
        frame: &Frame,
        statement: &py::StmtMatch,
    ) -> Outcome<Flow> {
        let subject = self.evaluate(frame, &statement.subject)?;
        for case in &statement.cases {
            self.step()?;
            let mut captured = Captured::new();
            let fits =
                self.nested(|this| this.fits(frame, &case.pattern, &subject, &mut captured))?;
            if !fits {
                continue;
            }
            for (name, value) in captured {
                self.bind(frame, name, value)?;
            }
            if let Some(guard) = &case.guard {
                let holds = self.evaluate(frame, guard)?;
                if !self.truth(&holds)? {
                    continue;
                }
            }
            return self.run(frame, &case.body);
        }
        Ok(Flow::Next)
    }

    fn fits<'p>(
        &mut self,
        frame: &Frame,
        pattern: &'p py::Pattern,
        subject: &Value,
        captured: &mut Captured<'p>,
    ) -> Outcome<bool> {
        self.step()?;
        match pattern {
            py::Pattern::MatchValue(value) => {
                let value = self.evaluate(frame, &value.value)?;
                self.equal(subject, &value)
            }
            py::Pattern::MatchSingleton(singleton) => {
                self.check_known(subject)?;
                Ok(subject.is(&match singleton.value {
                    py::Singleton::None => Value::None,
                    py::Singleton::True => Value::Bool(true),
                    py::Singleton::False => Value::Bool(false),
                }))
            }
            py::Pattern::MatchSequence(sequence) => {
                self.check_known(subject)?;
                let items = match self.arena.cell(subject) {
                    Some(Cell::List(_) | Cell::Tuple(_) | Cell::Range(..)) => {
                        self.iterate(subject)?
                    }
                    _ => return Ok(false),
                };
                self.sequence_fits(frame, &sequence.patterns, &items, captured)
            }
            py::Pattern::MatchMapping(mapping) => {
                self.mapping_fits(frame, mapping, subject, captured)
            }
            py::Pattern::MatchClass(class) => self.class_fits(frame, class, subject, captured),
            py::Pattern::MatchStar(_) => refuse("a starred pattern stands in a sequence"),
            py::Pattern::MatchAs(pattern) => {
                if let Some(inner) = &pattern.pattern
                    && !self.nested(|this| this.fits(frame, inner, subject, captured))?
                {
                    return Ok(false);
                }
                if let Some(name) = &pattern.name {
                    captured.push((name.as_str(), subject.clone()));
                }
                Ok(true)
            }
            py::Pattern::MatchOr(or) => {
                let before = captured.len();
                for pattern in &or.patterns {
                    if self.nested(|this| this.fits(frame, pattern, subject, captured))? {
                        return Ok(true);
                    }
                    captured.truncate(before);
                }
                Ok(false)
            }
        }
    }

    fn sequence_fits<'p>(
        &mut self,
        frame: &Frame,
        patterns: &'p [py::Pattern],
        items: &[Value],
        captured: &mut Captured<'p>,
    ) -> Outcome<bool> {
        let star = patterns.iter().position(|pattern| matches!(pattern, py::Pattern::MatchStar(_)));
        let fits_length = match star {
            Some(_) => items.len() + 1 >= patterns.len(),
            None => items.len() == patterns.len(),
        };
        if !fits_length {
            return Ok(false);
        }
        for (at, pattern) in patterns.iter().enumerate() {
            let behind = patterns.len() - at;
            match (pattern, star) {
                (py::Pattern::MatchStar(starred), _) => {
                    let rest = items.get(at..items.len() + 1 - behind).unwrap_or_default();
                    if let Some(name) = &starred.name {
                        let rest = self.new_list(rest.to_vec())?;
                        captured.push((name.as_str(), rest));
                    }
                }
                (pattern, star) => {
                    let index =
                        if star.is_some_and(|star| at > star) { items.len() - behind } else { at };
                    let Some(item) = items.get(index).cloned() else { return Ok(false) };
                    if !self.nested(|this| this.fits(frame, pattern, &item, captured))? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    fn mapping_fits<'p>(
        &mut self,
        frame: &Frame,
        mapping: &'p py::PatternMatchMapping,
        subject: &Value,
        captured: &mut Captured<'p>,
    ) -> Outcome<bool> {
        self.check_known(subject)?;
        let Some(dict) = self.arena.dict(subject).cloned() else { return Ok(false) };
        let mut taken: Vec<Key> = Vec::new();
        for (key, pattern) in mapping.keys.iter().zip(&mapping.patterns) {
            let key = self.evaluate(frame, key)?;
            let key = self.key(&key)?;
            let Some((_, value)) = dict.get(&key) else { return Ok(false) };
            if !self.nested(|this| this.fits(frame, pattern, value, captured))? {
                return Ok(false);
            }
            taken.push(key);
        }
        if let Some(name) = &mapping.rest {
            let rest: Dict = dict.into_iter().filter(|(key, _)| !taken.contains(key)).collect();
            let rest = self.new_dict(rest)?;
            captured.push((name.as_str(), rest));
        }
        Ok(true)
    }

    fn class_fits<'p>(
        &mut self,
        frame: &Frame,
        pattern: &'p py::PatternMatchClass,
        subject: &Value,
        captured: &mut Captured<'p>,
    ) -> Outcome<bool> {
        let class = self.evaluate(frame, &pattern.cls)?;
        if !self.is_instance(subject, &class)? {
            return Ok(false);
        }
        let positional = &pattern.arguments.patterns;
        let is_of_itself = matches!(&class, Value::Library(name) if OF_ITSELF.contains(&&**name));
        if let ([only], true) = (positional.as_slice(), is_of_itself) {
            if !self.nested(|this| this.fits(frame, only, subject, captured))? {
                return Ok(false);
            }
        } else if !positional.is_empty() {
            let names = self.positional_names(&class)?;
            if positional.len() > names.len() {
                let message = format!(
                    "{}() accepts {} positional sub-pattern{} ({} given)",
                    self.class_name(&class),
                    names.len(),
                    if names.len() == 1 { "" } else { "s" },
                    positional.len()
                );
                return self.type_error(message);
            }
            for (name, pattern) in names.iter().zip(positional) {
                if !self.attribute_fits(frame, name, pattern, subject, captured)? {
                    return Ok(false);
                }
            }
        }
        for keyword in &pattern.arguments.keywords {
            let name = keyword.attr.as_str();
            if !self.attribute_fits(frame, name, &keyword.pattern, subject, captured)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn attribute_fits<'p>(
        &mut self,
        frame: &Frame,
        name: &str,
        pattern: &'p py::Pattern,
        subject: &Value,
        captured: &mut Captured<'p>,
    ) -> Outcome<bool> {
        match self.attribute_or_none(subject, name)? {
            Some(value) => self.nested(|this| this.fits(frame, pattern, &value, captured)),
            None => Ok(false),
        }
    }

    /// `__match_args__`: fields of data classes and named tuples have their order.
    fn positional_names(&mut self, class: &Value) -> Outcome<Vec<Arc<str>>> {
        if self.arena.class(class).is_some()
            && let Some(own) = self.attribute_or_none(class, "__match_args__")?
        {
            let mut names = Vec::new();
            for name in self.iterate(&own)? {
                names.push(self.string(&name)?);
            }
            return Ok(names);
        }
        Ok(match self.arena.class(class).map(|class| &class.kind) {
            Some(ClassKind::DataClass(fields) | ClassKind::NamedTuple(fields)) => fields.clone(),
            _ => Vec::new(),
        })
    }
}
