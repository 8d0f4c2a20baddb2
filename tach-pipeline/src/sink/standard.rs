//! A standard stream.

use std::io::{self, Write as _};

use super::target::Writer;
use crate::host::platform;
use crate::host::unlocked::Unlocked;

pub(super) struct Standard<S> {
    stream: Unlocked<S>,
    open: fn() -> S,
    most_together: usize,
}

impl<S: platform::Stream> Standard<S> {
    pub(super) fn new(open: fn() -> S) -> Self {
        let stream = open();
        let most_together = platform::most_together(&stream);
        Self { stream: Unlocked(stream), open, most_together }
    }
}

impl<S: platform::Stream + Send + 'static> Writer for Standard<S>
where
    Unlocked<S>: io::Write,
{
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }

    fn again(&self) -> Option<Box<dyn Writer>> {
        Some(Box::new(Self::new(self.open)))
    }

    fn most_together(&self) -> usize {
        self.most_together
    }

    fn ends_with_its_reader(&self) -> bool {
        true
    }
}
