//! Links that another user of the same group lays.

use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::{env, fs};

use tach_pipeline::{Builder, Pipeline, Sink};
use test_support::users::{Copy, SERVICE, STRANGER, can_be_others, give, set_mode};

use super::{FOLDER, SECRET, SHARED, fill, rotations, shared};
use crate::support::Folder;

/// Set if the links belong to the user of the program.
const IS_OWN: &str = "TACH_PIPELINE_COLLEAGUE_IS_OWN";

/// The name of a link, and what writes there.
type Road = (&'static str, fn(&Path) -> Builder);
const ROADS: &[Road] = &[
    ("log/app.log", |path| Pipeline::builder().sink(Sink::file(path).rotate(rotations()[0]))),
    ("folder-of-log", |path| {
        Pipeline::builder().sink(Sink::file(path.join("app.log")).rotate(rotations()[0]))
    }),
    #[cfg(feature = "tracing")]
    ("dumps", |path| {
        use tach_pipeline::{FlightFormat, FlightRecorder};
        let recorder = FlightRecorder::new().folder(path, FlightFormat::trace_events());
        Pipeline::builder().flight_recorder(recorder.slower_than(core::time::Duration::ZERO))
    }),
    #[cfg(all(feature = "survive", target_os = "linux"))]
    ("survivors", |path| {
        let log = path.with_file_name("survivors.log");
        Pipeline::builder().sink(Sink::file(log)).survive(path)
    }),
];

/// Not a test: the program, which another user has laid links for.
#[test]
#[ignore = "the child of the next test"]
fn child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    for (name, builder) in ROADS {
        let path = Path::new(&folder).join(name);
        let built = builder(&path).on_incident(|_| {}).build();
        if let Ok(guard) = &built {
            (0..3).for_each(|number| fill(guard.pipeline(), &number.to_string()));
        }
        if env::var_os(IS_OWN).is_some() {
            drop(built.expect(name));
        } else {
            let error = built.map(drop).expect_err(name).to_string();
            assert!(error.contains(&format!("a link of user {STRANGER}")), "{error}");
        }
    }
}

/// Tests the user of an unprivileged program, and root.
#[test]
fn a_colleague_s_link_chooses_no_file_of_any_process() {
    if !can_be_others("a_colleague_s_link_chooses_no_file_of_any_process") {
        return;
    }
    let folder = Folder::new("colleague");
    set_mode(&folder.path(""), 0o755);
    let copy = Copy::new("colleague", false);
    let home = folder.path("home");
    for user in [SERVICE, 0] {
        for kind in [SHARED[0], SHARED[1], SHARED[3], ("setgid", 0, 0o2775)] {
            let path = shared(&folder, kind);
            fs::create_dir(path.join("log")).unwrap();
            std::os::unix::fs::chown(path.join("log"), None, Some(STRANGER)).unwrap();
            set_mode(&path.join("log"), kind.2);
            fs::create_dir(&home).unwrap();
            set_mode(&home, 0o700);
            let secret = home.join("app.log");
            fs::write(&secret, SECRET).unwrap();
            give(&home, user);
            give(&secret, user);
            for is_own in [false, true] {
                for (name, _) in ROADS {
                    let link = path.join(name);
                    let target = if name.ends_with("log/app.log") { &secret } else { &home };
                    let _none = fs::remove_file(&link);
                    symlink(target, &link).unwrap();
                    give(&link, if is_own { user } else { STRANGER });
                }
                let mut program = copy.test_as(user, "strangers::colleague::child");
                program.gid(STRANGER).env(FOLDER, &path);
                if is_own {
                    program.env(IS_OWN, "");
                }
                let output = program.output().unwrap();
                let text = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "user {user}, {}, {is_own}: {text}", kind.0);
                let found = fs::read_dir(&home).unwrap().count();
                let is_left = fs::read_to_string(&secret).unwrap() == SECRET && found == 1;
                assert_eq!(is_left, !is_own, "user {user}, {}", kind.0);
            }
            fs::remove_dir_all(path).unwrap();
            fs::remove_dir_all(&home).unwrap();
        }
    }
}

/// Not a test: a service, which another user deploys.
#[test]
#[ignore = "the child of the next test"]
fn deployed() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let build = |name| Pipeline::builder().sink(Sink::file(Path::new(&folder).join(name))).build();
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(build("current/app.log").is_err(), is_root);
    let error = build("latest.log").map(drop).unwrap_err().to_string();
    assert!(error.contains(&format!("a link of user {STRANGER}")), "{error}");
}

/// A folder's owner leads other users' programs to other folders, and to no file.
#[test]
fn a_link_of_the_folder_s_owner_leads_to_a_folder() {
    if !can_be_others("a_link_of_the_folder_s_owner_leads_to_a_folder") {
        return;
    }
    let folder = Folder::new("deployed");
    set_mode(&folder.path(""), 0o755);
    let copy = Copy::new("deployed", false);
    let path = shared(&folder, SHARED[4]);
    let release = path.join("release");
    fs::create_dir(&release).unwrap();
    set_mode(&release, 0o777);
    symlink("release", path.join("current")).unwrap();
    symlink("release/app.log", path.join("latest.log")).unwrap();
    for name in ["current", "latest.log", "release"] {
        give(&path.join(name), STRANGER);
    }
    for user in [SERVICE, 0] {
        let mut program = copy.test_as(user, "strangers::colleague::deployed");
        let output = program.env(FOLDER, &path).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "user {user}: {text}");
    }
}
