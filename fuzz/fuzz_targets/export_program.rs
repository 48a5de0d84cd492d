//! Programs of torch.export: JSON, structures, expressions, guards, what is printed and written again, graphs
//! to be run.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce::Tensor;
use sconce::export_program::{ExportedProgram, Program, expression, guard};

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
        let one = Tensor::from_slice(&[0f32], &[1]).expect("a tensor");
        if let Ok(imported) = Program::new(&program, &mut |_, _| Ok(one.clone())) {
            let _ = imported.module().frozen_graph_to_run("forward");
            let _ = sconce::run::needs(imported.module());
        }
        let again = ExportedProgram::from_json(program.to_json().as_bytes());
        assert!(again.is_ok(), "what was read is written");
    }
});
