//! Schemas against what PyTorch prints for them: `golden/schemas.tsv`, written by
//! `golden/make_schemas.py`. The operators' are read in `operators/mod.rs`.

use sconce_ir::Schema;

const GOLDEN: &str = include_str!("golden/schemas.tsv");

#[test]
fn schemas_print_as_in_pytorch() {
    let mut wrong = Vec::new();
    for line in GOLDEN.lines() {
        let (text, expected) = line.split_once('\t').unwrap();
        match Schema::parse(text) {
            Ok(schema) if schema.to_string() == expected => {}
            Ok(schema) => wrong.push(format!("{line}\n    found {schema}")),
            Err(error) => wrong.push(format!("{line}\n    {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
