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

/// The pages by task.
#[cfg(doctest)]
mod tasks {
    #[doc = include_str!("../tach-pipeline/docs/tasks/service.md")]
    struct Service;
    #[doc = include_str!("../tach-pipeline/docs/tasks/command-line.md")]
    struct CommandLine;
    #[doc = include_str!("../tach-pipeline/docs/tasks/library.md")]
    struct Library;
    #[doc = include_str!("../tach-pipeline/docs/tasks/worker.md")]
    struct Worker;
    #[doc = include_str!("../tach-pipeline/docs/tasks/container.md")]
    struct Container;
    #[doc = include_str!("../tach-pipeline/docs/tasks/systemd.md")]
    struct Systemd;
}
