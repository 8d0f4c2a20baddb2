//! A check of traits by the compiler.

/// Fails to compile unless each type implements all traits in the brackets.
///
/// ```
/// test_support::assert_implements!([Send + Sync + 'static] u8, Vec<u8>);
/// ```
///
/// ```compile_fail
/// test_support::assert_implements!([Send] u8, std::rc::Rc<u8>);
/// ```
#[macro_export]
macro_rules! assert_implements {
    ([$($bound:tt)+] $($type:ty),+ $(,)?) => {
        const _: () = {
            const fn assert<T: $($bound)+>() {}
            $(assert::<$type>();)+
        };
    };
}
