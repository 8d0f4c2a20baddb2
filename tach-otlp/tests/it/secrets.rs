//! Collectors and proxies that repeat the secrets of a request, in all ways of an answer.

use core::fmt::Write as _;
use core::time::Duration;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use tach_otlp::{Otlp, Rejection, Signal};
use test_support::{receiver, test_of_this_program};

/// What a collector repeats: the header with the key, the key alone, a short one, another header,
/// and the request's target. It comes twice, so that a text may be cut in it.
const REPEATED: &str = "Bearer canary-token, canary-token, k3y, canary-tenant, POST \
    /v1/logs?api_key=canary-query&k=q3y HTTP/1.1, Bearer canary-token, k3y, canary-tenant";

fn otlp(endpoint: &str) -> Otlp {
    Otlp::new()
        .endpoint(endpoint)
        .header("authorization", "Bearer canary-token")
        .header("x-api-key", "k3y")
        .header("x-tenant", "canary-tenant")
        // Too short to be looked for, and no credential by its name.
        .header("x-shard", "1")
        .timeout(Duration::from_secs(10))
}

/// Serves one connection: writes `first`, reads a request by `read`, and writes `answer`.
fn serve(first: Vec<u8>, read: fn(&mut TcpStream), answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _the_client_has_gone = stream.write_all(&first);
            read(&mut stream);
            let _the_client_has_gone = stream.write_all(&answer);
            drop(stream.shutdown(Shutdown::Write));
            while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
        }
    });
    address.to_string()
}

fn read_http(stream: &mut TcpStream) {
    drop(receiver::request(&mut BufReader::new(stream.try_clone().unwrap())));
}

/// Sends a request, and returns all that is said of its failure.
fn said(otlp: &Otlp) -> String {
    let mut exporter = match otlp.exporter() {
        Ok(exporter) => exporter,
        Err(error) => return format!("{error} {error:?} {otlp:?}"),
    };
    let rejection = exporter.send(Signal::Logs, &[]).unwrap_err();
    let mut said = format!("{rejection:?} {exporter:?} {otlp:?} ");
    said.push_str(exporter.endpoint(Signal::Logs));
    match &rejection {
        Rejection::Later { error, .. } => write!(said, " {error} {:?}", error.get_ref()).unwrap(),
        Rejection::Whole { reason } | Rejection::Never { reason, .. } => said.push_str(reason),
    }
    said
}

fn assert_kept(case: &str, said: &str) {
    assert!(!["canary", "k3y", "q3y"].iter().any(|it| said.contains(it)), "{case}: {said}");
}

/// Returns whether the peer's text was there, without the secrets.
fn is_repeated(said: &str) -> bool {
    said.contains("[redacted], [redacted], [redacted], [redacted]")
}

#[test]
fn no_answer_of_http_repeats_a_secret() {
    let text = |head: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\n");
        let length = format!("content-length: {}\r\n\r\n", body.len());
        [head.as_bytes(), length.as_bytes(), body].concat()
    };
    let plain = REPEATED.as_bytes();
    // A `Status` and a partial success.
    let status = field(2, plain);
    let partial = field(1, &field(2, plain));
    let json = format!(r#"{{"partialSuccess":{{"errorMessage":"{REPEATED}"}}}}"#);
    let mut answers = vec![
        ("200 page", text("200 OK\r\ncontent-type: text/html", plain), true),
        ("200 partial", text("200 OK", &partial), true),
        ("200 JSON", text("200 OK\r\ncontent-type: application/json", json.as_bytes()), true),
        ("300 elsewhere", text(&format!("307 Moved\r\nlocation: http://{REPEATED}"), b""), true),
        ("300 path", text("308 Moved\r\nlocation: http://h/Bearer canary-token", b""), false),
        ("300 user", text("308 Moved\r\nlocation: http://canary-token@h/", b""), false),
        ("300 own", text("308 Moved\r\nlocation: /canary-token", b""), false),
        ("broken", format!("HTTP/1.1 200 OK\r\n{REPEATED}\r\n\r\n").into_bytes(), false),
        ("no HTTP", plain.to_vec(), false),
        ("no status", format!("HTTP/1.1 {REPEATED}\r\n\r\n").into_bytes(), false),
        ("ended", Vec::new(), false),
    ];
    for status_code in ["400", "401", "403", "404", "407", "413", "415", "429", "500", "503"] {
        let line = format!("{status_code} No");
        answers.push((status_code, text(&line, plain), true));
        answers.push((status_code, text(&line, &status), true));
    }
    // The text is cut where a secret stands.
    for length in 180..200 {
        let long = "x".repeat(length) + "canary-token";
        answers.push(("cut", text("400 No", long.as_bytes()), false));
        let long = "\u{1f511}".repeat(length) + "canary-token";
        answers.push(("cut partial", text("200 OK", &field(1, &field(2, long.as_bytes()))), false));
    }
    for (case, answer, repeats) in answers {
        let address = serve(Vec::new(), read_http, answer);
        let said = said(&otlp(&format!("http://{address}?api_key=canary-query&k=q3y")));
        assert_kept(case, &said);
        assert!(!repeats || is_repeated(&said), "{case}: {said}");
    }
}

/// Returns a field of bytes in protobuf.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len();
    let low = u8::try_from(length & 0x7f).unwrap() | 0x80;
    let high = u8::try_from(length >> 7).unwrap();
    [&[number << 3 | 2, low, high], bytes].concat()
}

#[cfg(feature = "grpc")]
#[test]
fn no_answer_of_grpc_repeats_a_secret() {
    /// Returns a frame (RFC 9113, section 4.1).
    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
    }
    /// Returns headers as literals that enter no table (RFC 7541, section 6.2.2), after `:status:
    /// 200`.
    fn head(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = vec![0x88];
        for (name, value) in fields {
            block.push(0);
            for text in [name, value] {
                // A length of 127 or more goes on in groups of seven bits.
                match text.len().checked_sub(127) {
                    None => block.push(u8::try_from(text.len()).unwrap()),
                    Some(rest) => {
                        let low = u8::try_from(rest % 128).unwrap() | 128;
                        block.extend([127, low, u8::try_from(rest / 128).unwrap()]);
                    }
                }
                block.extend_from_slice(text.as_bytes());
            }
        }
        // The end of the headers, and of the stream.
        frame(1, 0b101, 1, &block)
    }
    fn read(stream: &mut TcpStream) {
        let mut head = [0; 9];
        let _the_client_has_gone = stream.read_exact(&mut [0; 24]);
        while stream.read_exact(&mut head).is_ok() && !(head[3] < 2 && head[4] & 1 != 0) {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let _the_client_has_gone = stream.read_exact(&mut vec![0; length as usize]);
        }
    }
    // gRPC has no query, so these two are no secrets of the request.
    let repeated = &*REPEATED.replace("canary-query", "").replace("q3y", "");
    let mut escaped = String::new();
    for byte in repeated.bytes() {
        write!(escaped, "%{byte:02X}").unwrap();
    }
    let late = " ".repeat(2390) + repeated;
    let mut answers = Vec::new();
    for code in ["1", "3", "5", "7", "8", "12", "14", "16", "99"] {
        for message in [repeated, &escaped, &late] {
            let status = [("grpc-status", code), ("grpc-message", message)];
            answers.push((code, head(&status), true));
        }
    }
    let debug = [&[0; 4], &11_u32.to_be_bytes()[..], repeated.as_bytes()].concat();
    answers.push(("go away", frame(7, 0, 0, &debug), true));
    answers.push(("reset", frame(3, 0, 1, &[0, 0, 0, 11]), false));
    answers.push(("no status", head(&[("x-text", repeated)]), false));
    answers.push(("no HTTP/2", format!("HTTP/1.1 401 {repeated}\r\n\r\n").into_bytes(), false));
    for (case, answer, repeats) in answers {
        let address = serve(frame(4, 0, 0, &[]), read, answer);
        let otlp = otlp(&format!("http://{address}")).protocol(tach_otlp::Protocol::Grpc);
        let said = said(&otlp);
        assert_kept(case, &said);
        assert!(!repeats || is_repeated(&said), "{case}: {said}");
    }
}

/// A certificate whose key nobody has.
#[cfg(feature = "tls")]
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBhDCCASmgAwIBAgIUWkbX0C/cdfS53EoABlI0wasXibAwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLY2FuYXJ5LWZyZWUwIBcNMjYxMTI5MDUwOTQ1WhgPMjEyNjEx
MDUwNTA5NDVaMBYxFDASBgNVBAMMC2NhbmFyeS1mcmVlMFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEExRk3vJJZlYcUNVtlnidU994l9BV4q8OcXC/MmcVnAw1+C2n
wS7Uxp8N5+dwzywtL9oWcNcjQ3g/3x3CkUm7x6NTMFEwHQYDVR0OBBYEFPbA+OmF
zwD1liAyH9wetv/Hbf4rMB8GA1UdIwQYMBaAFPbA+OmFzwD1liAyH9wetv/Hbf4r
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAMomtmnaqRmRxgHV
dwvJgqC4ob6Wgl0z0Sk7b+DkI1cEAiEA9/Coc/+scq+Yr8XBrrRBfC0VGYdmDp/O
scyseowvIvo=
-----END CERTIFICATE-----";

#[cfg(feature = "tls")]
#[test]
fn neither_tls_nor_the_file_of_a_key_is_repeated() {
    use std::{env, fs};

    let folder = env::temp_dir().join(format!("tach-otlp-secrets-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    fs::write(&certificate, CERTIFICATE).unwrap();
    // Handshake failure, a broken record, and no TLS.
    let alert = vec![21, 3, 3, 0, 2, 2, 40];
    let broken = [&[22, 3, 3, 0, 200], REPEATED.as_bytes()].concat();
    for answer in [alert, broken, REPEATED.as_bytes().to_vec(), Vec::new()] {
        let read = |stream: &mut TcpStream| _ = stream.read(&mut [0; 1024]);
        let address = serve(Vec::new(), read, answer);
        let otlp = otlp(&format!("https://{address}?api_key=canary-query&k=q3y"));
        assert_kept("TLS", &said(&otlp.certificate(&certificate)));
    }
    for text in [
        "canary",
        "-----BEGIN PRIVATE KEY----- canary -----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY---- canary",
        "-----BEGIN PRIVATE KEY-----\ncanary",
        "-----BEGIN PRIVATE KEY-----\ncanary!\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nY2FuYXJ5\n-----END PRIVATE KEY-----",
        "-----BEGIN canary-----\nY2FuYXJ5\n-----END canary-----",
        "-----BEGIN canary",
    ] {
        fs::write(&key, text).unwrap();
        let otlp = otlp("https://127.0.0.1:1").certificate(&certificate);
        let said = said(&otlp.client_certificate(&certificate, &key));
        assert_kept(text, &said);
        assert!(said.contains("key.pem"), "{said}");
        // The file's text as a list of bytes.
        assert!(!said.contains("99, 97, 110, 97, 114, 121"), "{said}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Not a test: the program that the next test starts with variables.
#[test]
#[ignore = "the child of the next test"]
fn with_variables() {
    let otlp = Otlp::from_env();
    eprintln!("{} {:?}", said(&otlp), otlp.ignored_variables());
}

#[test]
fn no_variable_and_no_proxy_says_a_secret() {
    let refused = format!("HTTP/1.1 407 {REPEATED}\r\ncontent-length: 0\r\n\r\n");
    let proxy = serve(Vec::new(), read_connect, refused.into_bytes());
    let through = serve(Vec::new(), read_connect, b"HTTP/1.1 200 OK\r\n\r\nno canary".to_vec());
    for (name, value) in [
        ("HTTP_PROXY", format!("http://canary-user:canary-pass@{proxy}")),
        ("HTTP_PROXY", format!("http://canary-user:canary-pass@{through}")),
        ("ALL_PROXY", "socks5://canary:canary@127.0.0.1:1".to_owned()),
        ("HTTP_PROXY", "canary:canary@".to_owned()),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://canary:canary@127.0.0.1:1".to_owned()),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1 ?k=canary".to_owned()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Bearer canary".to_owned()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization:canary".to_owned()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=canary\n,=canary,canary".to_owned()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=canary%0A".to_owned()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "host=canary".to_owned()),
    ] {
        let mut child = test_of_this_program("secrets::with_variables");
        child
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://192.0.2.1:4318?api_key=canary-query&k=q3y");
        child
            .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20canary-token,x-api-key=k3y");
        child.env("HTTP_PROXY", "http://127.0.0.1:1").env(name, &value);
        let output = child.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success() && said.contains("1 passed"), "{value}: {said}");
        assert_kept(&value, &said);
    }
}

/// Reads the head of a request without a body.
fn read_connect(stream: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
    }
}
