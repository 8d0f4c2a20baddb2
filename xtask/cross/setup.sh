#!/usr/bin/env bash
# setup.sh TARGET...: fills $TACH_CROSS_HOME with the compiler, stds, linkers, emulators and
# browsers for these targets, which targets.rs describes. `cargo xtask cross` starts it. It needs
# x86_64 Debian 12.
#
# Everything comes from packages. Debian's are unpacked into the folder; zig (linker and C library
# of the Linux targets) and wasmtime are wheels from PyPI; JCO, which makes components, is from npm;
# wasm-bindgen is compiled from the crate registry. Nothing is installed on the system. Its own
# Rust, if there is one, only compiles wasm-bindgen.
#
# A finished step leaves a stamp and is not repeated. Delete the folder to start over.
set -euo pipefail
shopt -s inherit_errexit

: "${TACH_CROSS_HOME:?the folder to fill}" "${TACH_CROSS_MSRV:?1.85, say}"
: "${TACH_CROSS_WASM_BINDGEN:?the version in Cargo.lock}"
ZIG_VERSION=0.17.0
# The release of Debian after 12.
NEXT=trixie
WASMTIME_VERSION=50.0.1
# The parts of JCO that turn a module into a component.
JCO="jco@1.35.0 jco-transpile@0.15.0 preview2-shim@0.26.1"
HOST=x86_64-unknown-linux-gnu

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../packages.sh
. "$HERE/../packages.sh" cross "$TACH_CROSS_HOME"
RUST=$X/rust/usr
LIBS=lib/x86_64-linux-gnu

## Compilers

patchelf() { fetch amd64 "$X/patchelf" patchelf; }
rpath() { "$X/patchelf/usr/bin/patchelf" --force-rpath --set-rpath "$1" "$2"; }

# compiler ROOT VERSION: rustc, rustdoc and cargo with the host's std. An rpath finds their
# libraries, because LD_LIBRARY_PATH would also reach linkers and tests. With jemalloc, which
# Debian's rustc lacks, rustc takes an eighth less time.
compiler() {
  local root=$1 v=$2 minor llvm name
  minor=$(cut -d. -f1,2 <<<"$v")
  llvm=$(APT_CONFIG=$X/apt/amd64/apt.conf apt-cache show "libstd-rust-web-$minor=$v" | grep -o 'libllvm[0-9]*' | sort -u)
  # The last line has the libraries of cargo.
  fetch amd64 "$root" "rustc-web=$v" "cargo-web=$v" "libstd-rust-web-dev=$v" "libstd-rust-web-$minor=$v" "$llvm" \
    libgit2-1.5 libhttp-parser2.9 libpcre3 libmbedtls14 libmbedcrypto7 libmbedx509-1 libssh2-1 libjemalloc2
  if [ -d "$root/$LIBS" ]; then cp -P "$root/$LIBS"/* "$root/usr/$LIBS/"; fi
  "$X/patchelf/usr/bin/patchelf" --add-needed libjemalloc.so.2 "$root/usr/bin/rustc"
  for name in rustc rustdoc cargo; do
    rpath "\$ORIGIN/../$LIBS" "$root/usr/bin/$name"
    "$root/usr/bin/$name" -V
  done
}

rust() {
  local v llvm
  v=$(version amd64 rustc-web "")
  compiler "$X/rust" "$v"
  # The source of the library and its dependencies.
  ONLY='./usr/src/rustc-*/library ./usr/lib/rustlib/src*' fetch amd64 "$X/rust" "rust-web-src=$v"
  # The linker of the wasm targets.
  llvm=$("$RUST/bin/rustc" -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
  ONLY="./usr/lib/llvm-$llvm/bin/lld" fetch amd64 "$X/rust" "lld-$llvm"
  rpath '$ORIGIN/../../x86_64-linux-gnu' "$RUST/lib/llvm-$llvm/bin/lld"
  mkdir -p "$RUST/lib/rustlib/$HOST/bin"
  ln -sfn "../../../llvm-$llvm/bin/lld" "$RUST/lib/rustlib/$HOST/bin/rust-lld"
  echo "$v" >"$X/rust/version"
}
need_rust() { need_lists amd64; step patchelf patchelf; step rust rust; }

msrv() {
  local v; v=$(version amd64 rustc-web "$TACH_CROSS_MSRV.")
  [ -n "$v" ] || { echo "there is no rustc $TACH_CROSS_MSRV"; return 1; }
  rm -rf "$X/rust-msrv"
  compiler "$X/rust-msrv" "$v"
}

# build_std TARGET [CRATES]: a target's std, from the compiler's own source into its own sysroot, so
# that tests need no nightly features. It is not optimized, because no speed is measured with it,
# and has no backtraces, which are a fifth of its compilation. For targets that are only checked it
# is built, too: checking it would take as long.
build_std() {
  local t=$1 crates=${2-std,panic_unwind,panic_abort,test} d=$X/build/std-$1 lib=$RUST/lib/rustlib/$1/lib
  mkdir -p "$d/src"
  printf '[package]\nname = "std-maker"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n' >"$d/Cargo.toml"
  printf '#![no_std]\n' >"$d/src/lib.rs"
  # The dependencies are in the source. A CARGO_HOME of its own keeps the user's settings out.
  (cd "$d"; PATH=$RUST/bin:$X/mingw/usr/bin:$PATH CARGO_HOME=$X/build/cargo-home RUSTC_BOOTSTRAP=1 \
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_DEBUG=0 \
    cargo build --offline --release "-Zbuild-std=$crates" -Zbuild-std-features=panic-unwind \
    --target "$t" --target-dir "$d/target" \
    --config 'source.crates-io.replace-with="vendored"' \
    --config "source.vendored.directory='$RUST/lib/rustlib/src/rust/library/vendor'")
  rm -rf "$lib"; mkdir -p "$lib"
  cp "$d/target/$t"/release/deps/*.{rlib,rmeta} "$lib/"
  rm -rf "$lib"/libstd_maker-* "$d/target"
}
build_core() { build_std "$1" core,alloc; }

# debian_std TARGET LISTS...: Debian's std for one of its architectures, if a list has exactly the
# compiler's version. Built from the same source, it fits a compiler of another release of Debian.
debian_std() {
  local t=$1 upstream lists v; shift
  upstream=$(cut -d+ -f1 "$X/rust/version")
  for lists in "$@"; do
    v=$(version "$lists" libstd-rust-web-dev "$upstream+")
    if [ -n "$v" ]; then fetch "$lists" "$X/rust" "libstd-rust-web-dev=$v"; return; fi
  done
  build_std "$t"
}

## Linkers and C libraries

# wheel FOLDER PACKAGE==VERSION: unpacks a package of PyPI.
wheel() {
  local to=$1 package=$2 tmp; tmp=$(mktemp -d "$X/build/wheel.XXXXXX")
  python3 -m pip download -q --no-deps --only-binary=:all: -d "$tmp" "$package"
  rm -rf "$to"
  python3 -m zipfile -e "$tmp"/*.whl "$to"; rm -rf "$tmp"
}

zig() {
  wheel "$X/zig" "ziglang==$ZIG_VERSION"
  chmod +x "$X/zig/ziglang/zig"
}

# zig_linker NAME ZIG-TARGET ARGUMENT...: zig as the C compiler that rustc links with.
zig_linker() {
  local name=$1; shift
  step "zig-$ZIG_VERSION" zig
  program "$name" <<SH
export ZIG_GLOBAL_CACHE_DIR=\$X/zig-cache ZIG_LOCAL_CACHE_DIR=\$X/zig-cache
exec "\$X/zig/ziglang/zig" cc -target ${*@Q} "\$@"
SH
}

libc() { fetch "$1" "$X/$1" libc6 libgcc-s1; }
riscv64_libc() { fetch amd64 "$X/riscv64" libc6-riscv64-cross libgcc-s1-riscv64-cross; }

# wasi_libc TARGET LISTS FOLDER: std is written for a newer wasi-libc than Debian's, which has no
# functions of threads. These targets have no threads either, so functions that return an error do.
wasi_libc() {
  local t=$1 lists=$2 folder=$3 d=$X/build/$1
  local self=$RUST/lib/rustlib/$t/lib/self-contained
  mkdir -p "$d" "$self"
  ONLY="./usr/lib/$folder/*" fetch "$lists" "$d" wasi-libc
  cp "$d/usr/lib/$folder"/{crt1-command.o,crt1-reactor.o,libc.a} "$self/"
  cat >"$d/threads.rs" <<'RS'
#![no_std]
macro_rules! functions { ($($name:ident($($kind:ty),*) = $value:expr;)*) => {
    $(#[no_mangle] pub extern "C" fn $name($(_: $kind),*) -> i32 { $value })*
} }
const EAGAIN: i32 = 6;
const EINVAL: i32 = 28;
functions! {
    pthread_attr_init(usize) = 0;
    pthread_attr_destroy(usize) = 0;
    pthread_attr_setstacksize(usize, usize) = 0;
    pthread_create(usize, usize, usize, usize) = EAGAIN;
    pthread_join(usize, usize) = EINVAL;
    pthread_detach(usize) = EINVAL;
}
RS
  "$RUST/bin/rustc" --edition 2021 --crate-type lib --emit obj -O -Ccodegen-units=1 -Cpanic=abort \
    --target "$t" "$d/threads.rs" -o "$d/threads.o"
  "$X/zig/ziglang/zig" ar rs "$self/libc.a" "$d/threads.o"
  rm -rf "$d"
}

# Leaves out the packages that only JCO's other commands need. They are ten times its size.
jco() {
  local tmp package to; tmp=$(mktemp -d "$X/build/jco.XXXXXX")
  rm -rf "$X/jco"
  for package in $JCO; do
    to=$X/jco/node_modules/@bytecodealliance/${package%@*}
    mkdir -p "$to"
    tar -xz -C "$to" --strip-components 1 \
      -f "$tmp/$(npm pack --silent --pack-destination "$tmp" "@bytecodealliance/$package")"
  done
  rm -rf "$tmp"
}

# Debian's emscripten is older than the compiler, so it gets the compiler's own linker. It neither
# compiles nor optimizes nor strips here, so it needs few of its files and nothing else of LLVM.
emscripten() {
  local d=$X/emscripten share=./usr/share/emscripten name
  local libs=$share/cache/sysroot/lib/wasm32-emscripten
  rm -rf "$d"
  ONLY="$share/emcc.py $share/emscripten* $share/src $share/tools $share/third_party/leb128
    $share/cache/sysroot_install.stamp $libs/struct_info.json $(printf "$libs/lib%s.a " GL al c++-except \
      c++abi-except c-debug compiler_rt dlmalloc html5 noexit sockets stubs-debug unwind-except)" \
    fetch amd64 "$d" emscripten
  ONLY='./usr/bin/wasm-emscripten-finalize ./usr/lib/*' fetch amd64 "$d" binaryen
  mkdir -p "$d/llvm"
  for name in clang-14 llvm-objcopy-14; do ln -s "$X/bin/emscripten-llvm" "$d/llvm/$name"; done
  ln -s "$X/bin/emscripten-ld" "$d/llvm/wasm-ld-14"
  cat >"$d/config.py" <<PY
EMSCRIPTEN_ROOT = '$d/usr/share/emscripten'
CACHE = EMSCRIPTEN_ROOT + '/cache'
FROZEN_CACHE = True
LLVM_ROOT = '$d/llvm'
LLVM_ADD_VERSION = CLANG_ADD_VERSION = '14'
BINARYEN_ROOT = '$d/usr'
NODE_JS = '$(command -v node)'
PY
}

mingw() {
  fetch amd64 "$X/mingw" binutils-mingw-w64-x86-64 gcc-mingw-w64-x86-64-win32 \
    gcc-mingw-w64-x86-64-win32-runtime mingw-w64-x86-64-dev mingw-w64-common
}
windows_std() {
  local t=x86_64-pc-windows-gnu name
  build_std $t
  # The start and end of a program are in no crate.
  for name in rsbegin rsend; do
    RUSTC_BOOTSTRAP=1 "$RUST/bin/rustc" --target $t --crate-type lib --emit obj -Cpanic=abort \
      "$RUST"/src/rustc-*/library/rtstartup/$name.rs -o "$RUST/lib/rustlib/$t/lib/$name.o"
  done
}

## Emulators and browsers

# The emulators of Debian stable and of its backports. The newer ones have LSX, which code for
# loongarch64 uses, and report 0 as CNTFRQ_EL0 on aarch64; the older one reports the frequency.
qemu() {
  ONLY='./usr/bin/qemu-aarch64-static' fetch amd64 "$X/qemu/stable" qemu-user-static
}
backports() { (. /etc/os-release; echo "$VERSION_CODENAME-backports"); }
qemu_new() {
  ONLY='./usr/bin/qemu-aarch64 ./usr/bin/qemu-riscv64 ./usr/bin/qemu-loongarch64 ./usr/bin/qemu-s390x' \
    fetch "amd64-$(backports)" "$X/qemu/new" qemu-user
}

# qemu_runner NAME EMULATOR ROOT: a command that runs foreign programs. The kernel can't start them,
# so a test that starts itself again does so with TACH_RUNNER.
qemu_runner() {
  need_lists amd64 "$(backports)"
  step qemu qemu; step qemu-new qemu_new
  program "$1" <<SH
export TACH_RUNNER=\$X/bin/$1
exec "\$X/qemu/$2" -L "\$X/$3" "\$@"
SH
}

wine() {
  local dlls=$X/wine/usr/$LIBS/wine/x86_64-windows c=$X/build/prng.c
  fetch amd64 "$X/wine" wine64 libwine libunwind8 libz-mingw-w64
  rm -rf "$X/wine/usr/$LIBS/wine/i386-windows"
  # Debian's are a script and a link with absolute paths.
  ln -sfn wineserver64 "$X/wine/usr/lib/wine/wineserver"
  cp "$X/wine/usr/x86_64-w64-mingw32/lib/zlib1.dll" "$dlls/"
  # Every Rust program imports this library, which wine 8 lacks.
  cat >"$c" <<'C'
__declspec(dllimport) unsigned char SystemFunction036(void *, unsigned long);
__declspec(dllexport) int ProcessPrng(unsigned char *bytes, unsigned long long count) {
  for (; count; count--) if (!SystemFunction036(bytes++, 1)) return 0;
  return 1;
}
int DllMainCRTStartup(void *a, unsigned long b, void *c) { return 1; }
C
  "$X/bin/cc-windows" -shared -nostdlib -O1 -Wl,-e,DllMainCRTStartup -o "$dlls/bcryptprimitives.dll" "$c" -ladvapi32
  # The first start creates the prefix, and complains about parts that are not needed.
  "$X/bin/run-wine" wineboot -i || true
  cp "$dlls/bcryptprimitives.dll" "$X/wineprefix/drive_c/windows/system32/"
}

# The tool's version must be the library's. Without --locked, because a mirror of the registry may
# lack the locked versions. Not optimized, because it runs only a few times. The system's compiler
# takes two thirds of the time of Debian's, which is used if the system has none or an older one.
wasm_bindgen() {
  wasm_bindgen_with "$PATH" || wasm_bindgen_with "$RUST/bin:$PATH"
  rm -rf "$X/build/wasm-bindgen"
}
wasm_bindgen_with() {
  PATH=$1 CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 \
    cargo install wasm-bindgen-cli --version "$TACH_CROSS_WASM_BINDGEN" --debug \
    --no-default-features --bin wasm-bindgen --bin wasm-bindgen-test-runner \
    --root "$X/wasm-bindgen/$TACH_CROSS_WASM_BINDGEN" --target-dir "$X/build/wasm-bindgen"
}

# Chromium without a window, and all its libraries except the C library and the compiler's.
chromium() {
  local packages
  packages=$(APT_CONFIG=$X/apt/amd64/apt.conf apt-get -s -o Debug::NoLocking=1 --no-install-recommends \
    install chromium-headless-shell | awk '$1 == "Inst" {print $2}' | grep -E '^(lib|chromium|font)' |
    grep -vE '^lib(c6|gcc-s1|stdc\+\+6|llvm.*)$')
  # shellcheck disable=SC2086 # It is a list.
  fetch amd64 "$X/chromium" chromium-driver $packages
  rm -rf "$X/chromium/usr/share/"{doc,man,locale}
  # The sandbox refuses to run as root, and the only page is our own.
  cat >"$X/chromium/webdriver.json" <<JSON
{"goog:chromeOptions": {
  "binary": "$X/chromium/usr/lib/chromium/chromium-headless-shell",
  "args": ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
}}
JSON
}

## The targets

target_msrv() { need_lists amd64; step patchelf patchelf; step "msrv-$TACH_CROSS_MSRV" msrv; }

target_native() { need_rust; }

# The kernel can run it; only the C library is foreign. The program itself names the library's path,
# so it can start itself again.
target_i686() {
  need_rust; need_lists i386; need_lists i386 $NEXT
  step i386-glibc libc i386
  step i686-std debian_std i686-unknown-linux-gnu i386 i386-$NEXT
  zig_linker cc-i686 x86-linux-gnu.2.36 \
    "-Wl,--dynamic-linker=$X/i386/lib/ld-linux.so.2" "-Wl,-rpath,$X/i386/lib/i386-linux-gnu"
}
target_aarch64() {
  need_rust; need_lists arm64; need_lists arm64 $NEXT
  step arm64-glibc libc arm64
  step aarch64-std debian_std aarch64-unknown-linux-gnu arm64 arm64-$NEXT
  zig_linker cc-aarch64 aarch64-linux-gnu.2.36
  qemu_runner run-aarch64 new/usr/bin/qemu-aarch64 arm64
}
target_aarch64_cntfrq() {
  target_aarch64
  qemu_runner run-aarch64-cntfrq stable/usr/bin/qemu-aarch64-static arm64
}
aarch64_ecv() { "$X/bin/cc-aarch64" -shared -fPIC -O1 "$HERE/ecv.c" -o "$X/arm64/ecv.so"; }
target_aarch64_ecv() {
  target_aarch64
  step aarch64-ecv aarch64_ecv
  program run-aarch64-ecv <<SH
export TACH_RUNNER=\$X/bin/run-aarch64-ecv
exec "\$X/qemu/new/usr/bin/qemu-aarch64" -L "\$X/arm64" -E LD_PRELOAD="\$X/arm64/ecv.so" "\$@"
SH
}
target_riscv64() {
  need_rust; need_lists riscv64 $NEXT
  step riscv64-glibc riscv64_libc
  step riscv64-std debian_std riscv64gc-unknown-linux-gnu riscv64-$NEXT
  zig_linker cc-riscv64 riscv64-linux-gnu.2.36
  qemu_runner run-riscv64 new/usr/bin/qemu-riscv64 riscv64/usr/riscv64-linux-gnu
}
# tach reads no counter here, and the byte order is the other one.
target_s390x() {
  need_rust; need_lists s390x; need_lists s390x $NEXT
  step s390x-glibc libc s390x
  step s390x-std debian_std s390x-unknown-linux-gnu s390x s390x-$NEXT
  zig_linker cc-s390x s390x-linux-gnu.2.36
  qemu_runner run-s390x new/usr/bin/qemu-s390x s390x
}
# Static, with zig's musl: Debian has no C library for this target yet.
target_loongarch64() {
  need_rust
  step loongarch64-std build_std loongarch64-unknown-linux-musl
  zig_linker cc-loongarch64 loongarch64-linux-musl
  qemu_runner run-loongarch64 new/usr/bin/qemu-loongarch64 none
}
target_windows() {
  need_rust
  step mingw mingw
  step windows-std windows_std
  program cc-windows <<<'exec "$X/mingw/usr/bin/x86_64-w64-mingw32-gcc-win32" "$@"'
  program run-wine <<'SH'
export WINEPREFIX=$X/wineprefix WINEDEBUG=-all DISPLAY= WINEDLLOVERRIDES='mscoree=d;mshtml=d;winemenubuilder.exe=d'
exec "$X/wine/usr/lib/wine/wine64" "$@"
SH
  step wine wine
}
# bindgen_tool NAME PROGRAM
bindgen_tool() {
  step "bindgen-$TACH_CROSS_WASM_BINDGEN" wasm_bindgen
  program "$1" <<<"exec \"\$X/wasm-bindgen/$TACH_CROSS_WASM_BINDGEN/bin/$2\" \"\$@\""
}
target_wasm_node() {
  need_rust
  step wasm-std build_std wasm32-unknown-unknown
  bindgen_tool run-wasm wasm-bindgen-test-runner
}
target_wasm_bare() { target_wasm_node; }
target_wasm_otel() { target_wasm_node; }
target_wasm_page() {
  target_wasm_node
  step chromium chromium
  program chromedriver <<'SH'
libs=$X/chromium/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH=$libs:$libs/nss:$libs/pulseaudio:$X/chromium/lib/x86_64-linux-gnu
exec "$X/chromium/usr/bin/chromedriver" "$@"
SH
}
target_wasm_worker() { target_wasm_page; }
target_wasi() {
  need_rust
  step "zig-$ZIG_VERSION" zig
  step wasi-std build_std wasm32-wasip1
  step wasi-libc wasi_libc wasm32-wasip1 amd64 wasm32-wasi
  program run-wasi <<SH
if [ "\$1" = --version ]; then echo "WASI of Node \$(node --version)"; exit; fi
exec node --no-warnings ${HERE@Q}/wasi.mjs "\$@"
SH
}
# Debian's source lacks a compiled archive. wasi-libc has the function that was in it.
wasip2_std() {
  local rt
  for rt in "$RUST"/lib/rustlib/src/rust/library/vendor/wit-bindgen-*/src/rt; do
    printf '!<arch>\n' >"$rt/libwit_bindgen_cabi.a"
  done
  build_std wasm32-wasip2
}
target_wasip2() {
  need_rust; need_lists amd64 "$(backports)"
  step "zig-$ZIG_VERSION" zig
  step wasip2-std wasip2_std
  step wasip2-libc wasi_libc wasm32-wasip2 "amd64-$(backports)" wasm32-wasip2
  step "${JCO//[ @]/-}" jco
  step "wasmtime-$WASMTIME_VERSION" wheel "$X/wasmtime" "wasmtime==$WASMTIME_VERSION"
  program ld-wasip2 <<SH
exec node ${HERE@Q}/wasip2-ld.mjs "\$X/jco/node_modules/@bytecodealliance" \
  "\$X/rust/usr/lib/rustlib/$HOST/bin/rust-lld" "\$@"
SH
  program run-wasip2 <<SH
if [ "\$1" = --version ]; then echo "wasmtime $WASMTIME_VERSION"; exit; fi
PYTHONPATH=\$X/wasmtime exec python3 ${HERE@Q}/wasip2.py "\$@"
SH
}
target_macos() {
  need_rust
  step macos-aarch64-std build_std aarch64-apple-darwin
  step macos-x86_64-std build_std x86_64-apple-darwin
}
target_freebsd() { need_rust; step freebsd-std build_std x86_64-unknown-freebsd; }
target_windows_aarch64() { need_rust; step windows-aarch64-std build_std aarch64-pc-windows-gnullvm; }
target_emscripten() {
  need_rust
  step emscripten-std build_std wasm32-unknown-emscripten
  program emscripten-llvm <<<'echo "clang version 14.0"'
  # emscripten expects the data where older linkers put it.
  program emscripten-ld <<SH
exec "\$X/rust/usr/lib/rustlib/$HOST/bin/rust-lld" -flavor wasm --no-stack-first "\$@"
SH
  step emscripten emscripten
  program cc-emscripten <<SH
export EM_CONFIG=\$X/emscripten/config.py PATH=\$X/emscripten/usr/bin:\$PATH
exec python3 "\$X/emscripten/usr/share/emscripten/emcc.py" "\$@" -O0 -sENVIRONMENT=node \
  -sALLOW_MEMORY_GROWTH -sREVERSE_DEPS=all --js-library ${HERE@Q}/emscripten.js
SH
  program run-emscripten <<'SH'
if [ "$1" = --version ]; then echo "emscripten in Node $(node --version)"; exit; fi
# With `fetch` it would load the program like a page.
exec node --import 'data:text/javascript,delete globalThis.fetch' "$@"
SH
}
target_wasm32v1() {
  need_rust
  step wasm32v1-core build_core wasm32v1-none
  bindgen_tool wasm-bindgen wasm-bindgen
}
target_bare_metal() {
  need_rust
  step bare-metal-aarch64-core build_core aarch64-unknown-none
  step bare-metal-riscv64-core build_core riscv64gc-unknown-none-elf
}

[ "$(uname -sm) $(. /etc/os-release; echo "${VERSION_CODENAME-}")" = "Linux x86_64 bookworm" ] ||
  { say "this is not Debian 12 (bookworm) on x86_64, which setup.sh is for"; exit 1; }
for tool in apt-get apt-cache dpkg dpkg-deb tar python3 cc node npm flock; do
  command -v $tool >/dev/null || { say "$tool is not there"; exit 1; }
done
for target in "$@"; do "target_${target//-/_}"; done
