//! Programs of torch.export: JSON, structures, expressions, guards, what is printed and written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce::export_program::{ExportedProgram, expression, guard};

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(expr) = expression::parse(text) {
            let _ = expr.to_string();
        }
        let _ = guard::parse(text);
    }
    if let Ok(program) = ExportedProgram::from_json(data) {
        let _ = program.text();
        let _ = program.user_inputs();
        let again = ExportedProgram::from_json(program.to_json().as_bytes());
        assert!(again.is_ok(), "what was read is written");
    }
});
