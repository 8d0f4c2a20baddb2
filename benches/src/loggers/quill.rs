//! quill, a logger for C++, as `benches/quill/shim.cpp` exports it.
#![expect(unsafe_code, reason = "calls a library of C++")]

use core::ffi::{CStr, c_char};
use std::env;
use std::ffi::CString;
use std::path::Path;
use std::sync::OnceLock;

use libloading::Library;

use super::Opened;

/// The variable that names the library.
const VARIABLE: &str = "TACH_QUILL";

/// The functions of the library.
struct Quill {
    open: unsafe extern "C" fn(*const c_char),
    log: unsafe extern "C" fn(u64),
    message: unsafe extern "C" fn(*const u8, usize),
    close: unsafe extern "C" fn(),
}

/// Returns whether there is a library to compare with.
pub(super) fn is_built() -> bool {
    env::var_os(VARIABLE).is_some()
}

pub(super) fn open(path: &Path) -> Opened {
    let quill = quill();
    let path = CString::new(path.as_os_str().as_encoded_bytes()).expect("no path has a zero");
    open_file(quill, &path);
    Opened {
        // SAFETY: the shim logs a number, from any thread, between `open` and `close`.
        log: Box::new(|number| unsafe { (quill.log)(number) }),
        // SAFETY: the shim copies so many bytes, from any thread, between `open` and `close`.
        message: Box::new(|text| unsafe { (quill.message)(text.as_ptr(), text.len()) }),
        // SAFETY: the shim ends quill once, after all calls.
        close: Box::new(|| unsafe { (quill.close)() }),
    }
}

fn open_file(quill: &Quill, path: &CStr) {
    // SAFETY: the shim reads the path during the call. It opens one file in a process.
    unsafe { (quill.open)(path.as_ptr()) }
}

/// Loads the library, which stays.
fn quill() -> &'static Quill {
    static QUILL: OnceLock<Quill> = OnceLock::new();
    QUILL.get_or_init(|| {
        let path = env::var_os(VARIABLE).expect("TACH_QUILL names the library");
        // SAFETY: the shim's initialization has no conditions.
        let library = unsafe { Library::new(path) }.expect("the library of benches/quill");
        let library = Box::leak(Box::new(library));
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the shim defines it with this type.
                *unsafe { library.get($name) }.expect("the shim's function")
            };
        }
        Quill {
            open: function!(b"quill_open"),
            log: function!(b"quill_log"),
            message: function!(b"quill_message"),
            close: function!(b"quill_close"),
        }
    })
}
