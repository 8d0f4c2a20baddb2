//! Checks of the packages as their users get them.

pub(crate) mod api;
pub(crate) mod dependencies;
pub(crate) mod features;
pub(crate) mod lower_bounds;
pub(crate) mod msrv;
pub(crate) mod packages;
