//! Rights that a mode does not show: access control lists and labels.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use rustix::fs::{XattrFlags, getxattr, setxattr};
use tach_pipeline::{Pipeline, Sink};
use test_support::test_of_this_program;

use super::{FOLDER, fill, rotations, wait_until};
use crate::support::Folder;

const LIST: &str = "system.posix_acl_access";
const LIST_OF_NEW: &str = "system.posix_acl_default";
const LABEL: &str = "security.selinux";
/// The kinds of entries of a list (acl(5), and `posix_acl_xattr.h` of the kernel).
const OWNER: u16 = 1;
const USER: u16 = 2;
const GROUP: u16 = 4;
const MASK: u16 = 16;
const OTHER: u16 = 32;

/// Returns the list of these entries: a kind, the rights, and a user.
fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (kind, rights, user) in entries {
        list.extend([kind.to_le_bytes(), rights.to_le_bytes()].concat());
        list.extend(user.to_le_bytes());
    }
    list
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 1024];
    let length = getxattr(path, name, &mut *value).ok()?;
    value.truncate(length);
    Some(value)
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().unwrap().mode() & 0o777
}

/// Not a test: a program that rotates its log, in each of these ways.
#[test]
#[ignore = "the child of the next tests"]
fn rotates() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    for (at, rotation) in rotations().into_iter().enumerate() {
        let log = folder.join(format!("{at}.log"));
        let guard = Pipeline::builder().sink(Sink::file(&log).rotate(rotation)).build().unwrap();
        (0..3).for_each(|number| fill(guard.pipeline(), &number.to_string()));
        let is_tidy = |files: &[PathBuf]| {
            files.len() == 6 && files.iter().filter(|file| is_gzip(file)).count() == 2
        };
        wait_until(|| at == 0 || is_tidy(&files(&folder)));
    }
}

fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect()
}

/// Lets a program rotate logs that have this list, if any. Returns the files.
fn rotated(folder: &Folder, list: Option<&[u8]>, strace: &[&str]) -> Vec<PathBuf> {
    let folder = folder.path("");
    for at in 0..rotations().len() {
        let log = folder.join(format!("{at}.log"));
        fs::write(&log, "").unwrap();
        test_support::users::set_mode(&log, 0o640);
        if let Some(list) = list {
            setxattr(&log, LIST, list, XattrFlags::empty()).unwrap();
        }
    }
    // Files that are created from now on would have this list.
    let (owner, user, other) = ((OWNER, 7, NOBODY), (USER, 7, 5678), (OTHER, 0, NOBODY));
    let new = self::list(&[owner, user, (GROUP, 7, NOBODY), (MASK, 7, NOBODY), other]);
    setxattr(&folder, LIST_OF_NEW, &new, XattrFlags::empty()).unwrap();
    let program = test_of_this_program("strangers::rights::rotates");
    let mut traced = Command::new(strace.first().map_or("env", |_| "strace"));
    traced.args(strace).arg(program.get_program()).args(program.get_args());
    let output = traced.env(FOLDER, &folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = files(&folder);
    assert_eq!(files.len(), 3 * rotations().len());
    files
}

/// Nobody's id, in the entries that name nobody.
const NOBODY: u32 = u32::MAX;

/// Returns a list that gives one user alone the right to read. Its mode is 0640.
fn one_reader() -> Vec<u8> {
    list(&[
        (OWNER, 6, NOBODY),
        (USER, 4, 1234),
        (GROUP, 0, NOBODY),
        (MASK, 4, NOBODY),
        (OTHER, 0, NOBODY),
    ])
}

/// Returns whether files have lists here.
fn has_lists(folder: &Folder, test: &str) -> bool {
    let set = setxattr(folder.path(""), LIST_OF_NEW, &one_reader(), XattrFlags::empty());
    if set.is_err() {
        eprintln!("NOT RUN: {test} needs a file system with access control lists");
        assert_ne!(env::var("TACH_TESTS").as_deref(), Ok("all"));
    }
    let _had_none = rustix::fs::removexattr(folder.path(""), LIST_OF_NEW);
    set.is_ok()
}

#[test]
fn a_new_file_and_an_archive_keep_the_list_and_the_label() {
    for list in [None, Some(one_reader())] {
        let folder = Folder::new("list");
        if !has_lists(&folder, "a_new_file_and_an_archive_keep_the_list_and_the_label") {
            return;
        }
        for file in rotated(&folder, list.as_deref(), &[]) {
            assert_eq!((attribute(&file, LIST), mode(&file)), (list.clone(), 0o640), "{file:?}");
        }
    }
    // A system with labels decides for itself who may set one.
    let folder = Folder::new("label");
    let log = folder.path("app.log");
    fs::write(&log, "").unwrap();
    if setxattr(&log, LABEL, b"user:role:type", XattrFlags::empty()).is_err() {
        eprintln!("NOT RUN: the label needs root, and a kernel without SELinux");
        return;
    }
    let guard = Pipeline::builder().sink(Sink::file(&log).rotate(rotations()[0])).build().unwrap();
    (0..3).for_each(|number| fill(guard.pipeline(), &number.to_string()));
    for file in files(&folder.path("")) {
        assert_eq!(attribute(&file, LABEL).as_deref(), Some(&b"user:role:type"[..]), "{file:?}");
    }
}

/// If a file has a list, the group bits of its mode are the list's mask, and not the group's
/// rights.
#[test]
fn without_its_list_a_file_grants_its_group_no_more() {
    let folder = Folder::new("no-list");
    let mut strace = Command::new("strace");
    let works = strace.args(["-qq", "-o", "/dev/null", "true"]).status();
    if !works.is_ok_and(|status| status.success())
        || !has_lists(&folder, "without_its_list_a_file_grants_its_group_no_more")
    {
        eprintln!("NOT RUN: without_its_list_a_file_grants_its_group_no_more needs strace");
        return;
    }
    let list = one_reader();
    let fails = ["-f", "-qq", "-o", "/dev/null", "-e", "inject=fsetxattr:error=EOPNOTSUPP"];
    for file in rotated(&folder, Some(&list), &fails) {
        let is_old = attribute(&file, LIST) == Some(list.clone());
        assert_eq!(mode(&file), if is_old { 0o640 } else { 0o600 }, "{file:?}");
    }
}
