//! Timestamps for log and slog back ends, from the CPU's counter.
