//! Memory for the bytes that are taken out of the queues.

/// Buffers that one reader takes and gives back.
#[derive(Default)]
pub struct Buffers {
    unused: Vec<Vec<u8>>,
    /// The fewest unused buffers since the last call of [`Buffers::trim`]: that many were never
    /// needed.
    fewest: usize,
}

impl Buffers {
    /// Returns an empty buffer.
    pub fn take(&mut self) -> Vec<u8> {
        let buffer = self.unused.pop().unwrap_or_default();
        self.fewest = self.fewest.min(self.unused.len());
        buffer
    }

    /// Keeps an empty buffer for later, unless it is longer than `most`.
    pub fn give_back(&mut self, buffer: Vec<u8>, most: usize) {
        if (1..=most).contains(&buffer.capacity()) {
            self.unused.push(buffer);
        }
    }

    /// Frees the buffers that nobody needed since the last call, but keeps at least one.
    pub fn trim(&mut self) {
        let surplus = self.fewest.min(self.unused.len().saturating_sub(1));
        self.unused.truncate(self.unused.len() - surplus);
        self.fewest = self.unused.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_nobody_needed_are_freed() {
        let mut buffers = Buffers::default();
        let use_some = |buffers: &mut Buffers, count| {
            let taken: Vec<_> = (0..count).map(|_| buffers.take()).collect();
            for mut buffer in taken {
                buffer.reserve(100);
                buffers.give_back(buffer, 100);
            }
        };
        use_some(&mut buffers, 10);
        buffers.trim();
        assert_eq!(buffers.unused.len(), 10);
        use_some(&mut buffers, 4);
        buffers.trim();
        assert_eq!(buffers.unused.len(), 4);
        buffers.trim();
        buffers.trim();
        assert_eq!(buffers.unused.len(), 1);
        buffers.give_back(Vec::with_capacity(101), 100);
        assert_eq!(buffers.unused.len(), 1);
    }
}
