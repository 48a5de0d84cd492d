//! The table of upgraders against PyTorch's: `golden/upgraders.tsv`, written by
//! `golden/make_upgraders.py`, which also checks what the bodies compile to.

use sconce_ir::{Schema, operators};

const GOLDEN: &str = include_str!("golden/upgraders.tsv");

#[test]
fn the_table_is_that_of_pytorch() {
    let own: Vec<String> = operators::upgraders()
        .iter()
        .map(|u| format!("{}\t{}\t{}\t{}", u.operator, u.bumped_at, u.name, u.old_schema))
        .collect();
    assert_eq!(own, GOLDEN.lines().collect::<Vec<_>>());
}

#[test]
fn old_schemas_parse_and_their_operators_are_known() {
    for upgrader in operators::upgraders() {
        let schema = Schema::parse(upgrader.old_schema).unwrap();
        assert_eq!(schema.full_name(), upgrader.operator);
        assert!(operators::find_full(upgrader.operator).is_some(), "{}", upgrader.operator);
        assert!(upgrader.source.starts_with(&format!("def {}(", upgrader.name)));
    }
}

#[test]
fn an_upgrader_is_for_archives_before_its_bump() {
    let name = |operator, version| operators::upgrader(operator, version).map(|u| u.name);
    assert_eq!(name("aten::div.Tensor", 3), Some("div_Tensor_0_3"));
    assert_eq!(name("aten::div.Tensor", 4), None);
    assert_eq!(name("aten::gelu", 9), Some("gelu_0_9"));
    assert_eq!(name("aten::gelu", 10), None);
    assert_eq!(name("aten::add.Tensor", 0), None);
}

#[test]
fn saving_asks_for_the_version_of_the_last_change() {
    assert_eq!(operators::version_needed("aten::div.Tensor"), Some(4));
    assert_eq!(operators::version_needed("aten::full.out"), Some(5));
    assert_eq!(operators::version_needed("aten::linspace"), Some(8));
    assert_eq!(operators::version_needed("aten::add.Tensor"), None);
}
