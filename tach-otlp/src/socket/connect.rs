//! The first of a host's addresses that answers (RFC 8305, "Happy Eyeballs").

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::net::TcpStream;
use std::time::Instant;

use super::left;

/// How long an address has in the first round: the RFC's delay before the next address is tried.
const FIRST_ROUND: Duration = Duration::from_millis(250);
/// The most addresses that are tried. A resolver may return any number.
const MOST_ADDRESSES: usize = 16;

/// Connects to the first address that answers.
///
/// In a first round an address has 250 ms. So a dead address before a good one costs no more, and
/// the RFC's parallel tries, for which std would need a thread each, would save nothing. If no
/// address answers, those that said nothing share the rest of the time: they may be far away.
///
/// # Errors
///
/// Returns the error of the last try.
pub(super) fn first(addresses: &[SocketAddr], deadline: Instant) -> io::Result<TcpStream> {
    let addresses = by_turns(addresses);
    let left = || left(deadline);
    first_of(&addresses, left, TcpStream::connect_timeout)
}

/// Like [`first`], with the time that is left, and a function that tries an address for a time.
fn first_of<S>(
    addresses: &[SocketAddr],
    left: impl Fn() -> io::Result<Duration>,
    mut connect: impl FnMut(&SocketAddr, Duration) -> io::Result<S>,
) -> io::Result<S> {
    let mut last = io::Error::other("the host has no address");
    let mut silent = Vec::new();
    if let [_] = addresses {
        silent.extend(addresses);
    } else {
        for address in addresses {
            match connect(address, left()?.min(FIRST_ROUND)) {
                Ok(stream) => return Ok(stream),
                Err(error) => {
                    if error.kind() == io::ErrorKind::TimedOut {
                        silent.push(address);
                    }
                    last = error;
                }
            }
        }
    }
    for (untried, address) in (1..=u32::try_from(silent.len()).unwrap_or(1)).rev().zip(silent) {
        match connect(address, left()? / untried) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns the addresses by turns of their two families, so that a family that does not work costs
/// one try (RFC 8305, section 4). The family of the first address begins.
fn by_turns(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let is_of_first = |address: &&SocketAddr| address.is_ipv4() == addresses[0].is_ipv4();
    let (first, second): (Vec<_>, Vec<_>) = addresses.iter().partition(is_of_first);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let turns = core::iter::from_fn(|| {
        let pair = [first.next(), second.next()];
        pair.iter().any(Option::is_some).then_some(pair)
    });
    turns.flatten().flatten().copied().take(MOST_ADDRESSES).collect()
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use std::net::TcpListener;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    /// What an address does with a try.
    #[derive(Clone, Copy)]
    enum Does {
        Refuse,
        /// Answers after that time, or never.
        Answer(Duration),
    }

    const DEAD: Does = Does::Answer(Duration::MAX);
    const NEAR: Does = Does::Answer(Duration::from_millis(20));
    const FAR: Does = Does::Answer(Duration::from_millis(800));

    fn address(number: usize) -> SocketAddr {
        format!("192.0.2.{number}:4318").parse().unwrap()
    }

    /// Tries simulated addresses. Returns the number of the one that answers, and the time.
    fn tried(addresses: &[Does], timeout: Duration) -> (Result<usize, io::ErrorKind>, Duration) {
        let now = Cell::new(Duration::ZERO);
        let all: Vec<_> = (0..addresses.len()).map(address).collect();
        let left = || match timeout.saturating_sub(now.get()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(left),
        };
        let result = first_of(&all, left, |address, time| {
            let number = all.iter().position(|it| it == address).unwrap();
            match addresses[number] {
                Does::Refuse => Err(io::ErrorKind::ConnectionRefused.into()),
                Does::Answer(after) if after <= time => {
                    now.set(now.get() + after);
                    Ok(number)
                }
                Does::Answer(_) => {
                    now.set(now.get() + time);
                    Err(io::ErrorKind::TimedOut.into())
                }
            }
        });
        (result.map_err(|error| error.kind()), now.get())
    }

    #[test]
    fn a_dead_address_costs_a_quarter_of_a_second() {
        let ms = Duration::from_millis;
        for (addresses, answers, time) in [
            (&[NEAR][..], Ok(0), ms(20)),
            (&[FAR], Ok(0), ms(800)),
            (&[NEAR, DEAD], Ok(0), ms(20)),
            (&[DEAD, NEAR], Ok(1), ms(270)),
            (&[Does::Refuse, NEAR], Ok(1), ms(20)),
            (&[DEAD, Does::Refuse, DEAD, NEAR], Ok(3), ms(520)),
            // Far addresses get enough time in the second round.
            (&[FAR, DEAD], Ok(0), ms(500 + 800)),
            (&[Does::Refuse, FAR], Ok(1), ms(250 + 800)),
            (&[DEAD, DEAD], Err(io::ErrorKind::TimedOut), ms(10_000)),
            (&[Does::Refuse, Does::Refuse], Err(io::ErrorKind::ConnectionRefused), ms(0)),
            (&[DEAD, Does::Refuse], Err(io::ErrorKind::TimedOut), ms(10_000)),
            (&[], Err(io::ErrorKind::Other), ms(0)),
        ] {
            assert_eq!(tried(addresses, 10 * SECOND), (answers, time), "{}", addresses.len());
        }
        // The first round leaves no time for a second one.
        let end = ms(200);
        assert_eq!(tried(&[DEAD, NEAR], end), (Err(io::ErrorKind::TimedOut), end));
    }

    #[test]
    fn families_take_turns() {
        let of = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        for (given, expected) in [
            (&["[::1]:1", "[::2]:1", "1.1.1.1:1"][..], &["[::1]:1", "1.1.1.1:1", "[::2]:1"][..]),
            (&["1.1.1.1:1", "[::1]:1", "[::2]:1"], &["1.1.1.1:1", "[::1]:1", "[::2]:1"]),
            (&["1.1.1.1:1", "1.1.1.2:1"], &["1.1.1.1:1", "1.1.1.2:1"]),
            (&[], &[]),
        ] {
            assert_eq!(by_turns(&of(given)), of(expected));
        }
        let many: Vec<_> = (0..100).map(address).collect();
        assert_eq!(by_turns(&many), many[..MOST_ADDRESSES]);
    }

    /// Returns a listener that answers no further connection, its address, and the connections that
    /// fill its queue.
    fn deaf() -> Option<(SocketAddr, TcpListener, Vec<TcpStream>)> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut queued = Vec::new();
        while queued.len() < 512 {
            match TcpStream::connect_timeout(&address, FIRST_ROUND) {
                Ok(stream) => queued.push(stream),
                Err(_) => return Some((address, listener, queued)),
            }
        }
        eprintln!("this system completes any number of connections, so none is silent");
        None
    }

    #[test]
    fn a_silent_address_leads_to_the_next() {
        let Some((deaf, _listener, _queued)) = deaf() else { return };
        let good = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = good.local_addr().unwrap();
        let stream = first(&[deaf, address], Instant::now() + LONG).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), address);
        let end = Instant::now() + 2 * FIRST_ROUND;
        assert_eq!(first(&[deaf], end).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn an_address_that_refuses_leads_to_the_next() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let good = listener.local_addr().unwrap();
        let stream = first(&[nobody, good], Instant::now() + LONG).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        assert!(first(&[nobody], Instant::now() + LONG).is_err());
    }
}
