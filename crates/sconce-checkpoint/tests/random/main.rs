//! Random checkpoints survive being saved: what is read again is what was there, and saving that
//! gives the same bytes, in every format, layout and protocol.

mod make;
mod numpy;
mod same;
mod steps;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
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

/// Before protocol 4, keyword arguments are copied, and cannot hold the object made with them.
const CYCLE: &str = "that its own keyword arguments hold cannot be written";

fn before_4(way: &str) -> bool {
    !matches!(way, "protocol 4" | "protocol 5" | "stream of protocol 4")
}

fn check(steps: &[steps::Step], dtypes: [DType; 6], protocol: u8) -> Result<(), TestCaseError> {
    let has_keywords = steps_have_keywords(steps, protocol);
    let first = opened(make::file(steps, dtypes, protocol));
    for (way, save) in ways() {
        let once = match save.save_to(first.root(), Vec::new()) {
            Ok(once) => once,
            Err(error) => {
                let message = error.to_string();
                let in_partial = has_keywords && before_4(way) && message.contains(CYCLE);
                prop_assert!(in_partial || message.contains(NOT_ASCII), "{way}: {error}");
                continue;
            }
        };
        let again = opened(once.clone());
        // Keyword arguments become those of functools.partial before protocol 4.
        if !(has_keywords && before_4(way)) {
            prop_assert_eq!(same::difference(first.root(), again.root()), None, "{}", way);
        }
        let save_again = |checkpoint: &Checkpoint| {
            let bytes = save.save_to(checkpoint.root(), Vec::new());
            bytes.map_err(|error| TestCaseError::fail(format!("{way}, again: {error}")))
        };
        let (once, again) = match steps.iter().any(steps::Step::is_swapped) {
            true => {
                let settled = save_again(&again)?;
                (settled.clone(), opened(settled))
            }
            false => (once, again),
        };
        let twice = save_again(&again)?;
        prop_assert!(once == twice, "{way}: the bytes change when it is saved again");
        let thrice = opened(twice);
        prop_assert_eq!(same::difference(again.root(), thrice.root()), None, "{}, again", way);
    }
    Ok(())
}

fn steps_have_keywords(steps: &[steps::Step], protocol: u8) -> bool {
    protocol >= 4 && steps.iter().any(|step| matches!(step, steps::Step::Keywords(..)))
}

fn dtypes() -> impl Strategy<Value = [DType; 6]> {
    let count = DType::all().len();
    prop::array::uniform6((0..count).prop_map(|at| DType::all().nth(at).expect("a dtype")))
}

/// As many as a second or two allows, or `PROPTEST_CASES`: other ones each time.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 20_000,
        // Seeds of cases that failed come first in every later run.
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/random/failed.txt",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_checkpoints_come_back(
        steps in prop::collection::vec(steps::step(), 0..40),
        dtypes in dtypes(),
        protocol in 2..=5u8,
    ) {
        check(&steps, dtypes, protocol)?;
    }
}

/// An object with two keyword arguments, by the first of which it is held.
fn object_in_its_keywords() -> Vec<steps::Step> {
    use steps::Step::{Instance, Keywords, SetItems};

    // What a number picks is that of its seventh part; None has the number 0.
    let (second, object) = (7 * 2, 7 * 3);
    vec![
        Instance(false, 0, Vec::new()),
        Instance(false, 0, Vec::new()),
        Keywords(0, Vec::new(), vec![second, 0]),
        SetItems(0, vec![object]),
        SetItems(1, vec![object]),
    ]
}

#[test]
fn an_object_in_its_own_keywords_needs_protocol_4() {
    let steps = object_in_its_keywords();
    let dtypes = [DType::Float32; 6];
    check(&steps, dtypes, 4).expect("that the same comes back");
    let checkpoint = opened(make::file(&steps, dtypes, 4));
    for (way, save) in ways() {
        let saved = save.save_to(checkpoint.root(), Vec::new());
        match before_4(way) {
            true => {
                let error = saved.expect_err(way).to_string();
                assert!(error.contains(CYCLE), "{way}: {error}");
            }
            false => assert!(saved.is_ok(), "{way}"),
        }
    }
}
