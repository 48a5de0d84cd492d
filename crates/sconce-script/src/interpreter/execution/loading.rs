//! State dicts taken module by module, as PyTorch does: for modules that read them in a way of their own
//! (`_load_from_state_dict`) or have hooks before or after.

use std::sync::Arc;

use super::super::arguments::{Keywords, LibraryArguments};
use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Dict, Value};
use super::Interpreter;

/// By which a module reads its part of a state dict.
const METHOD: &str = "_load_from_state_dict";
const HOOKS_BEFORE: &str = "_load_state_dict_pre_hooks";
const HOOKS_AFTER: &str = "_load_state_dict_post_hooks";
/// Under which `_load_from_state_dict` finds whether tensors are put in the place of the module's.
const ASSIGN: &str = "assign_to_params_buffers";

/// Keys that are missing, keys that nothing takes, and what else is wrong.
type Problems = (Vec<String>, Vec<String>, Vec<String>);

/// What one `load_state_dict` is about.
struct Loading {
    metadata: Value,
    assign: bool,
    missing: Value,
    unexpected: Value,
    problems: Value,
}

impl Interpreter<'_> {
    /// Whether a module, or one in it, reads state dicts in a way of its own.
    pub(super) fn loads_its_own_way(&mut self, module: &Value) -> Outcome<bool> {
        self.step()?;
        let Some(instance) = self.arena.instance(module) else { return Ok(false) };
        let hooks = [HOOKS_BEFORE, HOOKS_AFTER];
        if hooks.iter().any(|hooks| instance.attributes.contains_key(*hooks))
            || self.overrides(instance.class, METHOD)
        {
            return Ok(true);
        }
        for (_, child) in self.children(module)? {
            if self.nested(|this| this.loads_its_own_way(&child))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a class that is not torch's has a method.
    pub(super) fn overrides(&self, class: super::super::Id, name: &str) -> bool {
        let order = self.arena.class(&Value::Ref(class)).map(|class| &class.order);
        order.into_iter().flatten().any(|class| {
            self.arena.class(class).is_some_and(|class| {
                !class.source.module.name.starts_with("torch.") && class.members.contains_key(name)
            })
        })
    }

    /// Loads a state dict into each module in its turn.
    pub(super) fn load_by_modules(
        &mut self,
        module: &Value,
        given: &Value,
        entries: Dict,
        assign: bool,
    ) -> Outcome<Problems> {
        let metadata = match given {
            Value::Ref(id) => self.metadata_of_dicts.get(id).cloned(),
            _ => None,
        };
        let loading = Loading {
            metadata: metadata.unwrap_or(Value::None),
            assign,
            missing: self.new_list(Vec::new())?,
            unexpected: self.new_list(Vec::new())?,
            problems: self.new_list(Vec::new())?,
        };
        let entries = self.new_dict(entries)?;
        self.load_part(&loading, module, &entries, "")?;
        let mut texts = |list: &Value| -> Outcome<Vec<String>> {
            let items = self.iterate(list)?;
            items.iter().map(|item| self.string(item).map(|text| text.to_string())).collect()
        };
        Ok((texts(&loading.missing)?, texts(&loading.unexpected)?, texts(&loading.problems)?))
    }

    fn load_part(
        &mut self,
        loading: &Loading,
        module: &Value,
        entries: &Value,
        prefix: &str,
    ) -> Outcome<()> {
        self.step()?;
        let metadata = self.metadata_of(loading, prefix)?;
        let args = vec![
            entries.clone(),
            Value::str(prefix),
            metadata,
            Value::Bool(true),
            loading.missing.clone(),
            loading.unexpected.clone(),
            loading.problems.clone(),
        ];
        let method = self.attribute(module, METHOD)?;
        self.call(&method, args, Keywords::new())?;
        for (name, child) in self.children(module)? {
            let prefix = format!("{prefix}{name}.");
            let all = self.arena.dict(entries).cloned().unwrap_or_default();
            self.steps = self.steps.saturating_add(all.len() as u64 / 16);
            let own: Dict = all
                .into_iter()
                .filter(|(_, (key, _))| matches!(key, Value::Str(key) if key.starts_with(&prefix)))
                .collect();
            let own = self.new_dict(own)?;
            self.nested(|this| this.load_part(loading, &child, &own, &prefix))?;
        }
        let hooks = self.arena.instance(module).and_then(|own| own.attributes.get(HOOKS_AFTER));
        let hooks: Vec<Value> = hooks
            .and_then(|hooks| self.arena.dict(hooks))
            .map(|hooks| hooks.values().map(|(_, hook)| hook.clone()).collect())
            .unwrap_or_default();
        if hooks.is_empty() {
            return Ok(());
        }
        let Some(class) = self.loader.defined("torch.nn.modules.module", "_IncompatibleKeys")?
        else {
            return refuse("no class of keys");
        };
        let class = self.object(class)?;
        let keys = vec![loading.missing.clone(), loading.unexpected.clone()];
        let keys = self.call(&class, keys, Keywords::new())?;
        for hook in hooks {
            self.call(&hook, vec![module.clone(), keys.clone()], Keywords::new())?;
        }
        Ok(())
    }

    /// What PyTorch wrote of a module beside its tensors: the version of its layout.
    fn metadata_of(&mut self, loading: &Loading, prefix: &str) -> Outcome<Value> {
        let of = Value::str(prefix.strip_suffix('.').unwrap_or(prefix));
        let key = self.key(&of)?;
        let known = self.arena.dict(&loading.metadata).and_then(|known| known.get(&key)).cloned();
        let own = known.and_then(|(_, own)| self.arena.dict(&own).cloned()).unwrap_or_default();
        let own = self.new_dict(own)?;
        if loading.assign {
            self.set_item(&own, &Value::str(ASSIGN), Value::Bool(true))?;
        }
        Ok(own)
    }

    /// `Module._load_from_state_dict`: what a module itself keeps, of the entries below a prefix.
    pub(super) fn load_own_state(&mut self, given: &mut LibraryArguments) -> Outcome<Value> {
        let module = self.needed(given, 0, "self")?;
        let entries = self.needed(given, 1, "state_dict")?;
        let prefix = self.needed(given, 2, "prefix")?;
        let prefix = self.string(&prefix)?;
        let strict = self.needed(given, 3, "strict")?;
        let strict = self.truth(&strict)?;
        let assign = self.needed(given, 4, "assign")?;
        let assign = self.truth(&assign)?;
        let missing = self.needed(given, 5, "missing_keys")?;
        let unexpected = self.needed(given, 6, "unexpected_keys")?;
        let problems = self.needed(given, 7, "error_msgs")?;
        self.check_known(&entries)?;
        let Some(dict) = self.arena.dict(&entries).cloned() else {
            return self.type_error("Expected state_dict to be dict-like");
        };
        let slots = self.own_slots(&module, &prefix)?;
        for slot in &slots {
            let key = self.key(&Value::str(slot.name.as_str()))?;
            match dict.get(&key).cloned() {
                Some((_, value)) => {
                    if let Some(problem) = self.take_entry(slot, &value, assign)? {
                        self.add_text(&problems, problem)?;
                    }
                }
                None if slot.is_optional || !strict => {}
                None => self.add_text(&missing, slot.name.clone())?,
            }
        }
        if strict {
            let children: Vec<Arc<str>> =
                self.children(&module)?.into_iter().map(|(name, _)| name).collect();
            for (name, _) in dict.values() {
                let Value::Str(name) = name else { continue };
                let Some(rest) = name.strip_prefix(&*prefix) else { continue };
                let is_taken = match rest.split_once('.') {
                    Some((child, _)) => children.iter().any(|known| **known == *child),
                    None => slots.iter().any(|slot| *slot.name == **name),
                };
                if !is_taken {
                    self.add_text(&unexpected, name.to_string())?;
                }
            }
        }
        Ok(Value::None)
    }

    fn add_text(&mut self, list: &Value, text: String) -> Outcome<()> {
        self.spend(text.len() + size_of::<Value>())?;
        let Value::Ref(id) = list else { return refuse("no list") };
        match self.arena.list_mut(*id) {
            Some(items) => items.push(Value::str(text)),
            None => return refuse("no list"),
        }
        Ok(())
    }
}
