//! The command line.

use std::env;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Options {
    /// Drive the service, print a summary, stop.
    pub(crate) demo: bool,
    /// Where to listen.
    pub(crate) listen: String,
}

impl Options {
    pub(crate) fn from_args() -> Result<Self, String> {
        let (mut demo, mut listen) = (false, None);
        let mut arguments = env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--demo" => demo = true,
                "--listen" => {
                    let address = arguments.next().ok_or("--listen needs an address and a port")?;
                    listen = Some(address);
                }
                other => return Err(format!("\"{other}\" is not an option")),
            }
        }
        // The demo finds its service by itself, so any free port will do.
        let default = if demo { "127.0.0.1:0" } else { "127.0.0.1:3000" };
        Ok(Self { demo, listen: listen.unwrap_or_else(|| default.to_owned()) })
    }
}
