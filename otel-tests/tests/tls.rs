//! TLS between the pipeline and the real Collector.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use std::{iter, thread};

use otel_tests::{Authority, Certified, Collector, Protocol, Settings};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tach_otlp::Compression;
use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

/// Long enough for any machine: no test fails by being slow.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);
/// Long enough for a few tries.
const SOON: Duration = Duration::from_secs(1);

/// The names of a Collector on this machine.
const HERE: [&str; 2] = ["localhost", "127.0.0.1"];

const PROTOCOLS: [Protocol; 2] = [Protocol::Http, Protocol::Grpc];

/// Returns options for an endpoint of that protocol.
fn otlp(protocol: Protocol, endpoint: &str) -> Otlp {
    Otlp::new().protocol(protocol.into()).endpoint(endpoint)
}

fn build(otlp: Otlp) -> Guard {
    let otlp = otlp.max_delay(SHORT);
    let pipeline = Pipeline::builder().sink(Sink::otlp(otlp.clone().signals([Signal::Logs])));
    pipeline.sink(Sink::otlp(otlp.signals([Signal::Traces]))).on_incident(|_| ()).build().unwrap()
}

/// Logs a record within a span.
fn log(pipeline: &Pipeline) {
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        tracing::info_span!("span").in_scope(|| tracing::info!("record"));
    });
}

fn collector(certified: &Certified) -> Option<Collector> {
    let mut collector = Collector::with(&Settings { tls: Some(certified), ..Settings::default() })?;
    collector.run();
    Some(collector)
}

/// Returns why a record can't be sent.
fn failure(otlp: Otlp) -> String {
    let guard = build(otlp);
    log(guard.pipeline());
    let error = guard.pipeline().flush(SOON).unwrap_err();
    assert!(error.is_sink() || error.is_timeout(), "{error}");
    let stats = guard.pipeline().stats();
    assert!(stats.sinks().iter().all(|sink| sink.written() == 0), "{stats:?}");
    error.to_string()
}

#[test]
fn records_and_spans_arrive_by_tls() {
    let authority = Authority::new("test");
    let hosts = HERE.iter().flat_map(|host| PROTOCOLS.map(|protocol| (host, protocol)));
    for (host, protocol) in hosts {
        for compression in [Compression::None, Compression::Gzip] {
            let Some(collector) = collector(&authority.issue(&HERE)) else { return };
            let endpoint = format!("https://{host}:{}", collector.port(protocol));
            let otlp = otlp(protocol, &endpoint).compression(compression);
            let guard = build(otlp.certificate(authority.certificate()));
            // The connection is kept, and then another one is made.
            for _ in 0..3 {
                log(guard.pipeline());
                guard.pipeline().flush(LONG).unwrap();
            }
            assert_eq!(collector.received("spans", 3)[0]["name"], "span");
            assert_eq!(collector.received("logRecords", 3)[0]["body"]["stringValue"], "record");
        }
    }
}

#[test]
fn a_server_that_was_not_meant_gets_nothing() {
    let [authority, other, namesake] = ["one", "other", "one"].map(Authority::new);
    let cases = [
        (authority.issue(&HERE), other.certificate(), "OTEL_EXPORTER_OTLP_CERTIFICATE"),
        (authority.issue(&HERE), namesake.certificate(), "OTEL_EXPORTER_OTLP_CERTIFICATE"),
        (authority.issue_until(&HERE, 2020), authority.certificate(), "needs a new certificate"),
        (authority.issue(&["elsewhere"]), authority.certificate(), "a host that the collector's"),
    ];
    for (certified, trusted, advice) in cases {
        let Some(collector) = collector(&certified) else { return };
        for protocol in PROTOCOLS {
            let endpoint = format!("https://localhost:{}", collector.port(protocol));
            let error = failure(otlp(protocol, &endpoint).certificate(trusted));
            assert!(error.contains(&endpoint) && error.contains(advice), "{error}");
        }
        let received = (collector.all("spans"), collector.all("logRecords"));
        assert_eq!(received, (Vec::new(), Vec::new()));
    }
}

/// The machine's own authorities are trusted if no file is set, and know nothing of this one.
#[test]
fn the_machine_s_authorities_are_the_default() {
    let authority = Authority::new("test");
    let Some(collector) = collector(&authority.issue(&HERE)) else { return };
    let otlp =
        Otlp::new().endpoint(format!("https://localhost:{}", collector.port(Protocol::Http)));
    let built = Pipeline::builder().sink(Sink::otlp(otlp.clone().signals([Signal::Logs]))).build();
    let error = match built {
        Ok(_) => failure(otlp),
        // A machine without authorities.
        Err(error) => error.to_string(),
    };
    assert!(error.contains("OTEL_EXPORTER_OTLP_CERTIFICATE"), "{error}");
}

#[test]
fn a_client_shows_its_certificate_if_the_collector_asks_for_one() {
    let [authority, other] = ["one", "other"].map(Authority::new);
    let certified = authority.issue(&HERE);
    let clients = Some(authority.certificate());
    let settings = Settings { tls: Some(&certified), clients, ..Settings::default() };
    let Some(mut collector) = Collector::with(&settings) else { return };
    collector.run();
    for (number, protocol) in PROTOCOLS.into_iter().enumerate() {
        let endpoint = format!("https://localhost:{}", collector.port(protocol));
        let otlp = otlp(protocol, &endpoint).certificate(authority.certificate());
        let client = |authority: &Authority| {
            let Certified { certificate, key } = authority.issue(&["client"]);
            otlp.clone().client_certificate(certificate, key)
        };
        for refused in [otlp.clone(), client(&other)] {
            let error = failure(refused);
            assert!(error.contains("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"), "{error}");
        }
        let guard = build(client(&authority));
        log(guard.pipeline());
        guard.pipeline().flush(LONG).unwrap();
        assert_eq!(collector.received("spans", number + 1).len(), number + 1);
        assert_eq!(collector.received("logRecords", number + 1).len(), number + 1);
    }
}

#[test]
fn a_key_of_another_certificate_fails_the_start() {
    let authority = Authority::new("test");
    let (one, other) = (authority.issue(&["one"]), authority.issue(&["other"]));
    let otlp = Otlp::new().endpoint("https://localhost:4318").certificate(authority.certificate());
    let otlp = otlp.client_certificate(one.certificate, &other.key);
    let error =
        Pipeline::builder().sink(Sink::otlp(otlp.signals([Signal::Logs]))).build().unwrap_err();
    assert!(error.is_option(), "{error}");
    let error = error.to_string();
    assert!(error.contains(&other.key.display().to_string()), "{error}");
    assert!(error.contains("the key of the client's certificate"), "{error}");
}

#[test]
fn tls_and_plain_connections_that_meet_fail() {
    let authority = Authority::new("test");
    let Some(plain) = Collector::start() else { return };
    let Some(secured) = collector(&authority.issue(&HERE)) else { return };
    for protocol in PROTOCOLS {
        let endpoint = format!("https://localhost:{}", plain.port(protocol));
        let error = failure(otlp(protocol, &endpoint).certificate(authority.certificate()));
        assert!(error.contains("must begin with http://"), "{error}");
        // The Collector may answer with a reason, and may close the connection before it is read.
        let endpoint = format!("http://localhost:{}", secured.port(protocol));
        let _error = failure(otlp(protocol, &endpoint));
    }
}

/// Each byte comes before the timeout, and the handshake never ends.
#[test]
fn a_slow_handshake_ends_at_the_timeout() {
    let authority = Authority::new("test");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // The head of a record of 16 KiB.
            let mut bytes = [0x16, 3, 3, 0x40, 0].into_iter().chain(iter::repeat(0));
            while stream.write_all(&[bytes.next().unwrap()]).is_ok() {
                thread::sleep(SHORT);
            }
        }
    });
    let otlp = Otlp::new().endpoint(&endpoint).certificate(authority.certificate());
    let error = failure(otlp.timeout(5 * SHORT));
    assert!(error.contains("timed out"), "{error}");
}

#[test]
fn a_secured_connection_is_kept_until_an_answer_comes_that_nobody_asked_for() {
    let authority = Authority::new("test");
    let certified = authority.issue(&HERE);
    let certificate = CertificateDer::from_pem_file(&certified.certificate).unwrap();
    let key = PrivateKeyDer::from_pem_file(&certified.key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let answer = |status: &str| format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        let ok = || answer("200 OK");
        let mut kept = Vec::new();
        for answers in [vec![ok(), ok() + &answer("400 Too late")], vec![ok()]] {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let socket = listener.accept().unwrap().0;
            let mut stream = BufReader::new(StreamOwned::new(connection, socket));
            for answer in answers {
                let mut length = 0;
                let mut line = String::new();
                while line != "\r\n" {
                    line.clear();
                    stream.read_line(&mut line).unwrap();
                    if let Some(value) = line.strip_prefix("content-length: ") {
                        length = value.trim().parse().unwrap();
                    }
                }
                stream.read_exact(&mut vec![0; length]).unwrap();
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
                stream.get_mut().flush().unwrap();
            }
            kept.push(stream);
        }
    });
    let otlp = Otlp::new().endpoint(&endpoint).certificate(authority.certificate());
    let guard = Pipeline::builder()
        .sink(Sink::otlp(otlp.signals([Signal::Logs])))
        .on_incident(|_| ())
        .build()
        .unwrap();
    for _ in 0..3 {
        log(guard.pipeline());
        guard.pipeline().flush(LONG).unwrap();
    }
    server.join().unwrap();
}
