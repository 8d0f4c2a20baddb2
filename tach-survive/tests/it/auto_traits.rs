//! Properties that the compiler derives, and that a change of a private field could take away.

use test_support::assert_implements;

assert_implements!([Unpin] tach_survive::Parts);
