//! Memory plans of `forward`: for arguments of the same sizes as those of an earlier call, the tensors of a call lie in
//! blocks that were planned by their lifetimes.
//!
//! The first call with some sizes only leaves a mark, the second is recorded, and those after it follow the plan: sizes
//! that come once cost nothing. Plans of the sizes that were used last are kept.

use std::rc::Rc;

use sconce_kernels::memory_plan::{self, Following, MemoryPlan, Recording};

use crate::value::IValue;

/// How many sizes of arguments have plans at once.
const MAX_PLANS: usize = 8;

/// How often a call may go another way than the plan before its sizes have none.
const MAX_MISSES: u32 = 2;

/// The plans of a session, the one that was used last at the end.
#[derive(Debug, Default)]
pub(crate) struct MemoryPlans(Vec<Planned>);

#[derive(Debug)]
struct Planned {
    sizes: Vec<i64>,
    state: State,
    misses: u32,
}

#[derive(Debug)]
enum State {
    /// Called once with these sizes.
    Seen,
    Plan(Rc<MemoryPlan>),
    /// A plan brings nothing.
    Unplanned,
}

/// A call, and what is done about its memory until [`MemoryPlans::end`] takes it.
pub(crate) enum Call {
    Ordinary,
    Recorded(Recording),
    Planned(Following),
}

impl MemoryPlans {
    /// Begins a call with these arguments.
    pub(crate) fn begin(&mut self, args: &[IValue]) -> Call {
        let is_it = |planned: &Planned| planned.sizes.iter().copied().eq(sizes(args));
        let Some(at) = self.0.iter().rposition(is_it) else {
            if self.0.len() == MAX_PLANS {
                self.0.remove(0);
            }
            let sizes = sizes(args).collect();
            self.0.push(Planned { sizes, state: State::Seen, misses: 0 });
            return Call::Ordinary;
        };
        self.0[at..].rotate_left(1);
        match self.0.last().map(|planned| &planned.state) {
            Some(State::Seen) => Call::Recorded(memory_plan::record()),
            Some(State::Plan(plan)) => Call::Planned(memory_plan::follow(plan)),
            Some(State::Unplanned) | None => Call::Ordinary,
        }
    }

    /// Ends the call that was begun last; what it gave is still there.
    pub(crate) fn end(&mut self, call: Call) {
        let Some(planned) = self.0.last_mut() else { return };
        match call {
            Call::Ordinary => {}
            Call::Recorded(recording) => {
                let plan = recording.finish().map(Rc::new);
                planned.state = plan.map_or(State::Unplanned, State::Plan);
            }
            Call::Planned(following) if following.is_on_plan() => {}
            Call::Planned(_) => {
                planned.misses += 1;
                let is_lost = planned.misses == MAX_MISSES;
                planned.state = if is_lost { State::Unplanned } else { State::Seen };
            }
        }
    }
}

/// The number of dimensions of each argument that is a tensor, and its sizes after it.
fn sizes(args: &[IValue]) -> impl Iterator<Item = i64> {
    args.iter().flat_map(|arg| {
        let sizes = match arg {
            IValue::Tensor(tensor) => Some(tensor.sizes()),
            _ => None,
        };
        let dims = sizes.map_or(-1, |sizes| sizes.len() as i64);
        std::iter::once(dims).chain(sizes.unwrap_or_default().iter().copied())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tensor;
    use sconce_kernels::DType;

    fn of(size: i64) -> Vec<IValue> {
        vec![IValue::None, IValue::Tensor(Tensor::zeros(&[1, size], DType::Float32).unwrap())]
    }

    /// A call whose tensors have these megabytes, each made of the one before. Gives what is done about its memory.
    fn call(plans: &mut MemoryPlans, args: &[IValue], megabytes: &[i64]) -> &'static str {
        let call = plans.begin(args);
        let mut last = None;
        for size in megabytes {
            last = Some(Tensor::for_overwrite(&[size << 18], DType::Float32).unwrap());
        }
        let name = match &call {
            Call::Ordinary => "ordinary",
            Call::Recorded(_) => "recorded",
            Call::Planned(following) if following.is_on_plan() => "planned",
            Call::Planned(_) => "astray",
        };
        plans.end(call);
        drop(last);
        name
    }

    #[test]
    fn the_second_call_is_recorded_and_later_ones_follow() {
        let (mut plans, sizes) = (MemoryPlans::default(), [5, 4, 3, 2, 1]);
        let found: Vec<_> = (0..4).map(|_| call(&mut plans, &of(3), &sizes)).collect();
        assert_eq!(found, ["ordinary", "recorded", "planned", "planned"]);
        // Other sizes have a plan of their own, and little is not planned.
        let found: Vec<_> = (0..4).map(|_| call(&mut plans, &of(4), &[1, 1])).collect();
        assert_eq!(found, ["ordinary", "recorded", "ordinary", "ordinary"]);
        assert_eq!(call(&mut plans, &of(3), &sizes), "planned");
    }

    #[test]
    fn a_call_that_goes_astray_is_recorded_again_once() {
        let (mut plans, sizes) = (MemoryPlans::default(), [5, 4, 3, 2, 1]);
        let mut turn = |sizes: &[i64]| call(&mut plans, &of(3), sizes);
        let found = [turn(&sizes), turn(&sizes), turn(&[5, 3]), turn(&sizes), turn(&sizes)];
        assert_eq!(found, ["ordinary", "recorded", "astray", "recorded", "planned"]);
        assert_eq!([turn(&[5, 3]), turn(&sizes), turn(&sizes)], ["astray", "ordinary", "ordinary"]);
    }

    #[test]
    fn the_sizes_that_were_used_last_keep_their_plans() {
        let (mut plans, sizes) = (MemoryPlans::default(), [5, 4, 3, 2, 1]);
        for _ in 0..2 {
            call(&mut plans, &of(1), &sizes);
            call(&mut plans, &of(2), &sizes);
        }
        for size in 3..=9 {
            call(&mut plans, &of(size), &sizes);
        }
        // Nine have come, of which the first is forgotten.
        assert_eq!(call(&mut plans, &of(2), &sizes), "planned");
        assert_eq!(call(&mut plans, &of(1), &sizes), "ordinary");
    }
}
