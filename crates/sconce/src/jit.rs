//! TorchScript: archives loaded, looked at, changed and saved; Python source compiled.
//!
//! ```
//! # let path = std::env::temp_dir().join(format!("sconce-script-{}.py", std::process::id()));
//! # std::fs::write(&path, "def twice(x: int) -> int:\n    return x * 2\n")?;
//! let twice = sconce::jit::ScriptOptions::new().name("twice").module_name("m").open(&path)?;
//! let schema = twice.schema().map(ToString::to_string);
//! assert_eq!(schema.as_deref(), Some("__torch__.m.twice(int x) -> int"));
//! // As torch.jit.save(torch.jit.script(twice), f) writes it.
//! let written = sconce::jit::SaveOptions::new().save_to(twice.module(), Vec::new())?;
//! assert!(written.starts_with(b"PK"));
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "script")]
pub use sconce_script::{Error as ScriptError, ScriptLimits, ScriptOptions, Scripted, script};
pub use sconce_torchscript::*;
