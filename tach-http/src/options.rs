//! What a layer does otherwise than by default.

use http::HeaderMap;
use tracing::Span;

use tach_tower::adapter::Hook;

type Extract = dyn Fn(&Span, &HeaderMap) + Send + Sync;
type Inject = dyn Fn(&Span, &mut HeaderMap) + Send + Sync;

/// The options of both sides.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) is_client: bool,
    pub(crate) extract: Option<Hook<Extract>>,
    pub(crate) inject: Option<Hook<Inject>>,
    pub(crate) is_without_baggage: bool,
}
