//! ptp4l's own statement, by `pmc`.

use serde::Serialize;

use super::output;

/// The state of ptp4l (pmc(8)).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Ptp {
    /// The state of each port, such as `SLAVE` or `LISTENING`.
    pub(crate) ports: Vec<String>,
    /// Whether another clock is followed.
    pub(crate) has_grandmaster: bool,
    /// The clock minus the grandmaster's, without its sign; `null` if none is followed.
    pub(crate) offset_ns: Option<f64>,
}

/// Asks ptp4l by its socket, which only root opens.
pub(super) fn ask() -> Option<Ptp> {
    parse(&output("pmc", &["-u", "-b", "0", "GET PORT_DATA_SET", "GET TIME_STATUS_NP"])?)
}

fn parse(text: &str) -> Option<Ptp> {
    let values = |name: &'static str| {
        text.lines().filter_map(move |line| {
            let (own, value) = line.trim().split_once(char::is_whitespace)?;
            (own == name).then(|| value.trim())
        })
    };
    let has_grandmaster = values("gmPresent").next()? == "true";
    let offset_ns = values("master_offset").next().and_then(|value| value.parse::<f64>().ok());
    Some(Ptp {
        ports: values("portState").map(str::to_owned).collect(),
        has_grandmaster,
        offset_ns: offset_ns.filter(|_| has_grandmaster).map(f64::abs),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // By linuxptp 3.1.1.
    const FOLLOWING: &str = "sending: GET PORT_DATA_SET
sending: GET TIME_STATUS_NP
\t46a8e9.fffe.6a79c1-1 seq 0 RESPONSE MANAGEMENT PORT_DATA_SET 
\t\tportIdentity            46a8e9.fffe.6a79c1-1
\t\tportState               SLAVE
\t\tlogMinDelayReqInterval  0
\t46a8e9.fffe.6a79c1-0 seq 1 RESPONSE MANAGEMENT TIME_STATUS_NP 
\t\tmaster_offset              -4766
\t\tingress_time               1795715161533093693
\t\tlastGmPhaseChange          0x0000'0000000000000000.0000
\t\tgmPresent                  true
\t\tgmIdentity                 924250.fffe.197d76
";

    #[test]
    fn a_port_that_follows_has_an_offset() {
        let ptp = parse(FOLLOWING).unwrap();
        assert_eq!(ptp.ports, ["SLAVE"]);
        assert_eq!((ptp.has_grandmaster, ptp.offset_ns), (true, Some(4766.0)));
    }

    #[test]
    fn a_clock_without_a_grandmaster_has_no_offset() {
        let alone = FOLLOWING.replace("true", "false").replace("SLAVE", "LISTENING");
        let ptp = parse(&alone).unwrap();
        assert_eq!((ptp.has_grandmaster, ptp.offset_ns), (false, None));
        assert_eq!(ptp.ports, ["LISTENING"]);
    }

    #[test]
    fn requests_without_answers_say_nothing() {
        assert_eq!(parse("sending: GET TIME_STATUS_NP\n"), None);
    }
}
