//! A progress bar for work that turns out to be long.

use std::io::{IsTerminal, stderr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_millis(500);
const TEMPLATE: &str =
    "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";

/// Counts bytes; draws on a terminal's standard error once the work has lasted half a second. A
/// handle: its clones count together, and the bar goes with the last of them.
#[derive(Clone)]
pub struct Progress(Arc<Mutex<State>>);

struct State {
    label: &'static str,
    total: u64,
    done: u64,
    started: Instant,
    visible: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Nothing is drawn yet, and nothing ever when `quiet` or when standard error is no terminal.
    pub fn new(label: &'static str, total: u64, quiet: bool) -> Progress {
        let visible = !quiet && stderr().is_terminal();
        let state = State { label, total, done: 0, started: Instant::now(), visible, bar: None };
        Progress(Arc::new(Mutex::new(state)))
    }

    /// Counts from here on, when some of the work was done before.
    pub fn begin_at(&self, done: u64) {
        if let Ok(mut state) = self.0.lock() {
            state.done = done;
        }
    }

    /// Counts `bytes` more.
    pub fn advance(&self, bytes: u64) {
        if let Ok(mut state) = self.0.lock() {
            state.done += bytes;
            state.draw();
        }
    }

    /// Listens to one of the files that the work writes: bytes done, bytes in all. Where the total
    /// was not known before, it is the file's.
    pub fn listener(&self) -> impl Fn(u64, u64) + Send + Sync + 'static {
        let (progress, before) = (self.clone(), Mutex::new(0));
        move |done, total| {
            if let (Ok(mut before), Ok(mut state)) = (before.lock(), progress.0.lock()) {
                state.total = state.total.max(total);
                state.done += done.saturating_sub(*before);
                *before = done;
                state.draw();
            }
        }
    }
}

impl State {
    fn draw(&mut self) {
        if !self.visible {
            return;
        }
        if self.bar.is_none() && self.started.elapsed() >= PATIENCE {
            let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                bar.set_style(style);
            }
            bar.set_message(self.label);
            self.bar = Some(bar.with_elapsed(self.started.elapsed()));
        }
        if let Some(bar) = &self.bar {
            bar.set_length(self.total);
            bar.set_position(self.done);
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_work_count_together() {
        let progress = Progress::new("writing", 0, true);
        for file in [[30, 100], [50, 50]] {
            let listener = progress.listener();
            file.into_iter().for_each(|done| listener(done, 120));
        }
        progress.advance(5);
        let state = progress.0.lock().unwrap();
        assert_eq!((state.done, state.total, state.bar.is_none()), (155, 120, true));
    }
}
