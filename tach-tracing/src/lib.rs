//! A better clock for tracing in one line.
