//! One clock for the spans and events of OpenTelemetry.
