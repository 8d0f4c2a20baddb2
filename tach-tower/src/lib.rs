//! Time budgets for tower services.
