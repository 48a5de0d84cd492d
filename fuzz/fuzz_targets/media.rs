//! Sound and pictures as arguments of programs.
#![no_main]

#[path = "../../crates/sconce-cli/src/call/input/picture.rs"]
#[allow(unreachable_pub, reason = "a part of the command")]
mod picture;
#[path = "../../crates/sconce-cli/src/call/input/pixels.rs"]
#[allow(unreachable_pub, reason = "a part of the command")]
mod pixels;
#[path = "../../crates/sconce-cli/src/call/input/resample.rs"]
#[allow(unreachable_pub, reason = "a part of the command")]
mod resample;
#[path = "../../crates/sconce-cli/src/call/input/sinc_resample.rs"]
#[allow(unreachable_pub, reason = "a part of the command")]
mod sinc_resample;
#[path = "../../crates/sconce-cli/src/call/input/sound.rs"]
#[allow(unreachable_pub, reason = "a part of the command")]
mod sound;

/// What those parts of the command need of the rest.
#[allow(unreachable_pub, reason = "a part of the command")]
mod error {
    pub struct Failure(String);

    impl Failure {
        pub fn unreadable(message: impl Into<String>) -> Failure {
            Failure(message.into())
        }

        pub fn usage(message: impl Into<String>) -> Failure {
            Failure(message.into())
        }

        pub fn in_file(self, _: impl Into<String>) -> Failure {
            self
        }

        pub fn message(&self) -> &str {
            &self.0
        }
    }
}

#[allow(unreachable_pub, reason = "a part of the command")]
mod arguments {
    pub mod call {
        #[derive(Default)]
        pub struct PictureOptions {
            pub resize: Option<(u32, u32)>,
            pub gray: bool,
            pub rgb: bool,
            pub mean: Vec<f32>,
            pub std: Vec<f32>,
        }

        #[derive(Clone, Copy, Default)]
        pub struct SoundOptions {
            pub sample_rate: Option<u32>,
            pub mono: bool,
        }
    }
}

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let rate = bytes.first().map(|&byte| 1 + u32::from(byte) * 100);
    let options = arguments::call::SoundOptions { sample_rate: rate, mono: bytes.len() % 3 == 0 };
    if let Err(error) = sound::read(bytes, options, "fuzz.wav") {
        assert!(!error.message().is_empty());
    }
    let gray = bytes.len() % 2 == 0;
    let options =
        arguments::call::PictureOptions { gray, resize: Some((3, 5)), ..Default::default() };
    if let Err(error) = picture::read(bytes, &options, "fuzz.png") {
        assert!(!error.message().is_empty());
    }
});
