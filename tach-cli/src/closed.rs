//! Whether the reader of standard output has gone, as `head` does after its lines.

/// Returns whether nobody reads standard output any more, as far as the OS reports that without a
/// write.
#[cfg(target_os = "linux")]
pub(crate) fn is_closed() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdout = std::io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(PollFlags::ERR)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_closed() -> bool {
    false
}
