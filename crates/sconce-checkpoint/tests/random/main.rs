//! Random checkpoints survive being saved: what is read again is what was there, and saving that
//! gives the same bytes, in every format, layout and protocol.

mod make;
mod same;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sconce_checkpoint::{ArchiveLayout, Checkpoint, LoadOptions, SaveOptions};
use sconce_source::Source;
use sconce_tensor::DType;

/// Files that hold sparse tensors of no data are read without looking at their indices.
fn opened(bytes: Vec<u8>) -> Checkpoint {
    LoadOptions::new().open_source(Source::from_vec("random", bytes)).expect("a checkpoint")
}

fn ways() -> Vec<(&'static str, SaveOptions)> {
    let new = SaveOptions::new;
    vec![
        ("protocol 2", new()),
        ("protocol 3", new().protocol(3)),
        ("protocol 4", new().protocol(4)),
        ("protocol 5", new().protocol(5)),
        ("stream", new().legacy(true)),
        ("stream of protocol 4", new().legacy(true).protocol(4)),
        ("layout of 1.6", new().layout(ArchiveLayout::Torch1_6)),
        ("layout of 2.1", new().layout(ArchiveLayout::Torch2_1).storage_alignment(1)),
    ]
}

/// Before protocol 3, names are ASCII.
const NOT_ASCII: &str = "using pickle protocol 2";

fn check(steps: &[make::Step], dtypes: [DType; 6], protocol: u8) -> Result<(), TestCaseError> {
    let first = opened(make::file(steps, dtypes, protocol));
    for (way, save) in ways() {
        let once = match save.save_to(first.root(), Vec::new()) {
            Ok(once) => once,
            Err(error) => {
                prop_assert!(error.to_string().contains(NOT_ASCII), "{way}: {error}");
                continue;
            }
        };
        let again = opened(once.clone());
        // Keyword arguments become those of functools.partial before protocol 4.
        let is_other = way != "protocol 4" && steps_have_keywords(steps, protocol);
        if !is_other || way == "protocol 5" {
            prop_assert_eq!(same::difference(first.root(), again.root()), None, "{}", way);
        }
        let twice = save.save_to(again.root(), Vec::new());
        let twice = twice.map_err(|error| TestCaseError::fail(format!("{way}, again: {error}")))?;
        prop_assert!(once == twice, "{way}: the bytes change when it is saved again");
        let thrice = opened(twice);
        prop_assert_eq!(same::difference(again.root(), thrice.root()), None, "{}, again", way);
    }
    Ok(())
}

fn steps_have_keywords(steps: &[make::Step], protocol: u8) -> bool {
    protocol >= 4 && steps.iter().any(|step| matches!(step, make::Step::Keywords(..)))
}

fn dtypes() -> impl Strategy<Value = [DType; 6]> {
    let count = DType::all().len();
    prop::array::uniform6((0..count).prop_map(|at| DType::all().nth(at).expect("a dtype")))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        max_shrink_iters: 2000,
        failure_persistence: None,
        // The same cases on every machine.
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_checkpoints_come_back(
        steps in prop::collection::vec(make::step(), 0..40),
        dtypes in dtypes(),
        protocol in 2..=5u8,
    ) {
        check(&steps, dtypes, protocol)?;
    }
}
