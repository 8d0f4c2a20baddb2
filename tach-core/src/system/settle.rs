//! The rounds of questions and answers between a timeline and its caller.

use crate::line::Rate;
use crate::sample::{ClockPair, CounterFailure};
use crate::timeline::{Answers, Question, Round};

/// The caller's knowledge, which answers a timeline's questions. Each default method answers that
/// nothing is known.
pub(crate) trait Witness {
    /// Replaces a counter that failed, or keeps it.
    fn counter_failed(&self, _failure: CounterFailure) {}

    /// Returns whether the OS clock is ahead though the counter has lost no ticks since `since`. A
    /// timeline that follows its clock never asks.
    fn has_clock_jumped(&self, _ahead_ns: u64, _rate: Rate, _since: u64) -> bool {
        false
    }

    /// Returns the rate in ns per tick and its error in ppb, if the other timeline knows it.
    fn known_rate(&self) -> Option<(Rate, u32)> {
        None
    }
}

/// Repeats `attempt` with these clocks until no question is left. `witness` answers the questions.
#[inline]
pub(crate) fn settle<T>(
    witness: &dyn Witness,
    clocks: &dyn ClockPair,
    mut attempt: impl FnMut(&Round<'_>) -> Result<T, Question>,
) -> T {
    let mut result = attempt(&Round { clocks, answers: &Answers::NONE });
    let mut answers = Answers::NONE;
    loop {
        match result {
            Ok(result) => return result,
            // Answering is kept out of line: nearly every attempt returns at once.
            Err(question) => answer(witness, question, &mut answers),
        }
        result = attempt(&Round { clocks, answers: &answers });
    }
}

#[cold]
#[inline(never)]
fn answer(witness: &dyn Witness, question: Question, answers: &mut Answers) {
    match question {
        Question::CounterFailed(failure) => {
            witness.counter_failed(failure);
            answers.settled_failures[failure as usize] = true;
        }
        Question::DidClockJump { ahead_ns, rate, since } => {
            let jumped = witness.has_clock_jumped(ahead_ns, rate, since);
            answers.clock_jumped = Some((since, jumped));
            answers.jump_questions += 1;
        }
        Question::WhichRate => {
            answers.known_rate = witness.known_rate();
            answers.rate_is_settled = true;
        }
    }
}
