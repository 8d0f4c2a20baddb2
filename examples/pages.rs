//! The snippets of the project's pages, compiled and run as doctests.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../tach-pipeline/docs/guide.md")]
struct Guide;

#[cfg(doctest)]
#[doc = include_str!("../docs/security.md")]
struct Security;

#[cfg(doctest)]
#[doc = include_str!("../docs/migrating.md")]
struct Migrating;

#[cfg(doctest)]
#[doc = include_str!("../tach-pipeline/docs/moving.md")]
struct Moving;
