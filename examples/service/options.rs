//! The command line.

use std::env;

use crate::telemetry::Road;

pub(crate) const USAGE: &str = "\
usage: service [--demo] [--sdk] [--listen ADDRESS:PORT] [--upstream ADDRESS:PORT]

  --demo      drives itself and a second instance, prints a summary and stops
  --sdk       passes spans through OpenTelemetry's SDK
  --listen    serves here, by default at 127.0.0.1:3000
  --upstream  asks this instance for the work of /relay";

#[derive(Debug)]
pub(crate) struct Options {
    /// Whether to drive the service, print a summary and stop.
    pub(crate) demo: bool,
    pub(crate) listen: String,
    pub(crate) road: Road,
    /// Another instance, which does the work of `/relay`.
    pub(crate) upstream: Option<String>,
}

impl Options {
    /// Returns `None` if the usage is asked for.
    ///
    /// # Errors
    ///
    /// If an argument is not an option, or an option has no value.
    pub(crate) fn from_args() -> Result<Option<Self>, String> {
        let (mut demo, mut road, mut listen, mut upstream) = (false, Road::Direct, None, None);
        let mut arguments = env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "--demo" => demo = true,
                "--sdk" => road = Road::Sdk,
                "--listen" => {
                    let address = arguments.next().ok_or("--listen needs an address and a port")?;
                    listen = Some(address);
                }
                "--upstream" => {
                    let address =
                        arguments.next().ok_or("--upstream needs an address and a port")?;
                    upstream = Some(address);
                }
                other => return Err(format!("\"{other}\" is not an option")),
            }
        }
        // The demo works with any free port.
        let default = if demo { "127.0.0.1:0" } else { "127.0.0.1:3000" };
        let listen = listen.unwrap_or_else(|| default.to_owned());
        Ok(Some(Self { demo, listen, road, upstream }))
    }
}
