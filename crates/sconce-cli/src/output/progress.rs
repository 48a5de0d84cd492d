//! A progress bar for work that turns out to be long.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_millis(500);

/// Counts bytes; draws on a terminal's standard error once the work has lasted half a second.
pub struct Progress {
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
        Progress { label, total, done: 0, started: Instant::now(), visible, bar: None }
    }

    /// Counts `bytes` more.
    pub fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        if !self.visible {
            return;
        }
        if self.bar.is_none() && self.started.elapsed() >= PATIENCE {
            let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
            let template = "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {eta}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_message(self.label);
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
