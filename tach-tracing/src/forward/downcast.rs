//! The one unsafe function of this crate.
//!
//! Per-layer filters, layers that are `None` and tracing-opentelemetry's context are found by `downcast_raw`,
//! so a layer around others has to pass it on.

/// Finds what the layer in the given field finds, beside the layer itself.
macro_rules! downcast_to {
    ($layer:ident) => {
        #[expect(unsafe_code, reason = "the trait has it as an unsafe function")]
        unsafe fn downcast_raw(&self, id: core::any::TypeId) -> Option<*const ()> {
            if id == core::any::TypeId::of::<Self>() {
                return Some(core::ptr::from_ref(self).cast());
            }
            // SAFETY: what the layer within points to is of type `id` by its own promise, and is a part of
            // it, and so of this layer, or of static lifetime: it lives as long as `self`.
            unsafe { self.$layer.downcast_raw(id) }
        }
    };
}

pub(crate) use downcast_to;
