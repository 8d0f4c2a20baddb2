//! The crate's one unsafe function.
//!
//! tracing-subscriber and tracing-opentelemetry find inner layers with `downcast_raw`.

/// Finds the layer itself, or whatever the layer in the given field finds.
macro_rules! downcast_to {
    ($layer:ident) => {
        #[expect(unsafe_code, reason = "the trait declares the function as unsafe")]
        unsafe fn downcast_raw(&self, id: core::any::TypeId) -> Option<*const ()> {
            if id == core::any::TypeId::of::<Self>() {
                return Some(core::ptr::from_ref(self).cast());
            }
            // SAFETY: the inner layer promises a pointer to a value of type `id` that is part of it
            // or static. The inner layer is part of `self`, so the value lives as long as `self`.
            unsafe { self.$layer.downcast_raw(id) }
        }
    };
}

pub(super) use downcast_to;
