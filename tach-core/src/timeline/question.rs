//! Questions that a timeline can't answer from its own two clocks.

use crate::line::Rate;
use crate::sample::{ClockPair, CounterFailure};

/// The maximum number of questions about jumps in one conversion or look. After these, the last
/// answer holds.
const MOST_JUMP_QUESTIONS: u8 = 3;

/// The reason why a conversion or a look stopped before it had a result.
///
/// The caller adds its answer to [`Answers`] and repeats the attempt with all answers so far. No
/// question is asked twice, so few attempts suffice: there is one question for the rate, one about
/// each kind of failure, and one about a jump since each tick, at most [`MOST_JUMP_QUESTIONS`]. The
/// next conversion or look begins without answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// The counter failed. Ticks can continue from another source, if the caller replaces it.
    CounterFailed(CounterFailure),
    /// The OS clock is ahead by `ahead_ns`. Did it jump alone, or did the counter, whose ticks have
    /// this rate, lose ticks since the tick `since`?
    DidClockJump { ahead_ns: u64, rate: Rate, since: u64 },
    /// Is the rate known from elsewhere?
    WhichRate,
}

/// One attempt: the clocks that it reads, and the answers to the questions of earlier attempts.
pub(crate) struct Round<'a> {
    pub(crate) clocks: &'a dyn ClockPair,
    pub(crate) answers: &'a Answers,
}

/// The answers so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answers {
    /// For each [`CounterFailure`], whether the caller has replaced the counter or decided to keep
    /// it.
    pub(crate) settled_failures: [bool; 3],
    /// The tick `since` of the last question about a jump, and whether the OS clock jumped alone.
    pub(crate) clock_jumped: Option<(u64, bool)>,
    /// The number of questions about jumps.
    pub(crate) jump_questions: u8,
    /// Whether the caller was asked for the rate.
    pub(crate) rate_is_settled: bool,
    /// The rate in ns per tick and its error in ppb, if it is known from elsewhere.
    pub(crate) known_rate: Option<(Rate, u32)>,
}

impl Answers {
    /// No answers yet. A constant, so that an attempt without a question writes none to the stack.
    pub(crate) const NONE: Self = Self {
        settled_failures: [false; 3],
        clock_jumped: None,
        jump_questions: 0,
        rate_is_settled: false,
        known_rate: None,
    };

    /// Fails until the caller has decided to replace or keep a counter that failed.
    pub(super) fn about(&self, failure: CounterFailure) -> Result<(), Question> {
        if self.settled_failures[failure as usize] {
            Ok(())
        } else {
            Err(Question::CounterFailed(failure))
        }
    }

    /// Returns whether the OS clock, which is ahead by `ahead_ns`, jumped alone. A lead of up to
    /// [`SHORTEST_JUMP_NS`] counts as a slew.
    pub(super) fn clock_jumped(
        &self,
        ahead_ns: u64,
        rate: Rate,
        since: u64,
    ) -> Result<bool, Question> {
        if ahead_ns <= SHORTEST_JUMP_NS {
            return Ok(false);
        }
        match self.clock_jumped {
            Some((asked_since, jumped)) if asked_since == since => Ok(jumped),
            // With a coarse OS clock each attempt may find another tick `since`. Accept the last
            // answer, or the attempts would not end.
            Some((_, jumped)) if self.jump_questions == MOST_JUMP_QUESTIONS => Ok(jumped),
            _ => Err(Question::DidClockJump { ahead_ns, rate, since }),
        }
    }

    /// Returns the rate, if it is known from elsewhere. Fails until the caller was asked.
    pub(super) fn rate(&self) -> Result<Option<(Rate, u32)>, Question> {
        if self.rate_is_settled { Ok(self.known_rate) } else { Err(Question::WhichRate) }
    }
}

/// An OS clock that is ahead by no more than this may have been slewed.
const SHORTEST_JUMP_NS: u64 = 1_000_000;
