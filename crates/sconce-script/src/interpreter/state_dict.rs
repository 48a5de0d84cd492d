//! State dicts: `module.load_state_dict(torch.load(path))`, strict, in PyTorch's words.

use std::path::Path;
use std::sync::Arc;

use sconce_checkpoint::{Checkpoint, Node, Object};
use sconce_kernels::{Importer, Tensor};

use super::Interpreter;
use super::control_flow::{Outcome, refuse};
use super::value::Value;

/// A tensor that a module keeps, by its name in state dicts.
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) tensor: Value,
    /// Whether old state dicts are without it: `num_batches_tracked` of batch normalisation.
    pub(super) is_optional: bool,
}

impl Interpreter<'_> {
    /// Loads a checkpoint into a module.
    pub(super) fn load_state(&mut self, module: &Value, path: &Path) -> Outcome<()> {
        let checkpoint = match Checkpoint::open(path) {
            Ok(checkpoint) => checkpoint,
            Err(error) => return refuse(error.to_string()),
        };
        self.load_entries(module, checkpoint.root())
    }

    /// `module.load_state_dict(root)`
    pub(super) fn load_entries(&mut self, module: &Value, root: Object<'_>) -> Outcome<()> {
        let class = self.class_of(module);
        let class = self.class_name(&class);
        let entries = match entries(root) {
            Ok(entries) => entries,
            Err(found) => {
                return refuse(format!(
                    "Expected state_dict to be dict-like, got <class '{found}'>."
                ));
            }
        };
        let slots = self.slots(module)?;
        let mut problems = Vec::new();
        let missing = slots.iter().filter(|slot| {
            !slot.is_optional && !entries.iter().any(|(name, _)| *name == slot.name)
        });
        problems.extend(listed("Missing", missing.map(|slot| slot.name.as_str())));
        let unexpected =
            entries.iter().filter(|(name, _)| !slots.iter().any(|slot| slot.name == *name));
        problems.extend(listed("Unexpected", unexpected.map(|(name, _)| name.as_str())));
        let mut importer = Importer::default();
        for slot in &slots {
            let Some((_, object)) = entries.iter().find(|(name, _)| *name == slot.name) else {
                continue;
            };
            if let Err(problem) = self.load_slot(&mut importer, slot, *object)? {
                problems.push(problem);
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        refuse(format!("Error(s) in loading state_dict for {class}:\n\t{}", problems.join("\n\t")))
    }

    fn load_slot(
        &mut self,
        importer: &mut Importer,
        slot: &Slot,
        object: Object<'_>,
    ) -> Outcome<Result<(), String>> {
        let name = &slot.name;
        let Node::Tensor(found) = object.data() else {
            return Ok(Err(format!(
                "While copying the parameter named \"{name}\", expected torch.Tensor or \
                 Tensor-like object from checkpoint but received <class '{}'>",
                object.class_name()
            )));
        };
        let numbers: Tensor = match importer.import(&found.tensor) {
            Ok(numbers) => numbers,
            Err(error) => return refuse(format!("{name}: {}", error.message())),
        };
        let Some(own) = self.arena.tensor(&slot.tensor) else { return refuse("no tensor") };
        let own = own.tensor.sizes();
        // Numbers of PyTorch 0.3 had one dimension.
        let is_old_number = own.is_empty() && numbers.sizes() == [1];
        if own != numbers.sizes() && !is_old_number {
            return Ok(Err(format!(
                "size mismatch for {name}: copying a param with shape torch.Size({:?}) from \
                 checkpoint, the shape in current model is torch.Size({own:?}).",
                numbers.sizes()
            )));
        }
        let numbers = match is_old_number {
            true => numbers.as_strided(&[], &[], None),
            false => Ok(numbers),
        };
        match numbers {
            Ok(numbers) => self.fill(&slot.tensor, numbers).map(Ok),
            Err(error) => refuse(format!("{name}: {}", error.message())),
        }
    }

    /// What a module and the modules in it keep, in PyTorch's order.
    pub(super) fn slots(&mut self, module: &Value) -> Outcome<Vec<Slot>> {
        let mut slots = Vec::new();
        self.add_slots(module, "", &mut slots)?;
        Ok(slots)
    }

    fn add_slots(&mut self, module: &Value, prefix: &str, slots: &mut Vec<Slot>) -> Outcome<()> {
        slots.extend(self.own_slots(module, prefix)?);
        for (name, child) in self.children(module)? {
            let prefix = format!("{prefix}{name}.");
            self.nested(|this| this.add_slots(&child, &prefix, slots))?;
        }
        Ok(())
    }

    /// The modules in a module, by their names.
    pub(super) fn children(&mut self, module: &Value) -> Outcome<Vec<(Arc<str>, Value)>> {
        let instance = self.arena.instance(module);
        let modules = instance.and_then(|instance| instance.attributes.get("_modules").cloned());
        let mut children = self.named(modules.as_ref())?;
        children.retain(|(_, child)| !matches!(child, Value::None));
        Ok(children)
    }

    /// What a module itself keeps.
    pub(super) fn own_slots(&mut self, module: &Value, prefix: &str) -> Outcome<Vec<Slot>> {
        self.step()?;
        let mut slots = Vec::new();
        let Some(instance) = self.arena.instance(module) else {
            return refuse("a state dict is for an nn.Module");
        };
        let member = |name: &str| instance.attributes.get(name).cloned();
        let (parameters, buffers) = (member("_parameters"), member("_buffers"));
        let transient = match member("_non_persistent_buffers_set") {
            Some(names) => self.iterate(&names)?,
            None => Vec::new(),
        };
        for (of, is_buffer) in [(parameters, false), (buffers, true)] {
            for (name, tensor) in self.named(of.as_ref())? {
                let is_transient =
                    transient.iter().any(|known| known.is(&Value::Str(name.clone())));
                if self.arena.tensor(&tensor).is_none() || (is_buffer && is_transient) {
                    continue;
                }
                let is_optional = is_buffer && &*name == "num_batches_tracked";
                slots.push(Slot { name: format!("{prefix}{name}"), tensor, is_optional });
            }
        }
        Ok(slots)
    }

    fn named(&mut self, dict: Option<&Value>) -> Outcome<Vec<(Arc<str>, Value)>> {
        let entries = dict.and_then(|dict| self.arena.dict(dict));
        let entries: Vec<(Value, Value)> =
            entries.map(|dict| dict.values().cloned().collect()).unwrap_or_default();
        let mut named = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            named.push((self.string(&name)?, value));
        }
        Ok(named)
    }
}

/// `Missing key(s) in state_dict: "a", "b". `
pub(super) fn listed<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    (!names.is_empty()).then(|| format!("{what} key(s) in state_dict: {}. ", names.join(", ")))
}

/// The entries of a state dict, which may be the entry `state_dict` of a larger one; the name of
/// the class where it is not a dict.
fn entries(root: Object<'_>) -> Result<Vec<(String, Object<'_>)>, String> {
    let root = match root.get("state_dict") {
        Some(inner) if is_dict(inner) => inner,
        _ => root,
    };
    if !is_dict(root) {
        return Err(root.class_name().to_string());
    }
    Ok(root
        .entries()
        .map(|(key, value)| (key.as_str().unwrap_or_default().to_owned(), value))
        .collect())
}

fn is_dict(object: Object<'_>) -> bool {
    matches!(object.data(), Node::Dict(_))
}
