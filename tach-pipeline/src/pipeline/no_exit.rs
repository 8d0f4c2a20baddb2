//! In place of the flush when the process exits, where no function is called then.

use core::time::Duration;
use std::sync::Arc;

use crate::shared::Shared;

pub(crate) fn flush_at_exit(_: &Arc<Shared>, _: Duration) {}
