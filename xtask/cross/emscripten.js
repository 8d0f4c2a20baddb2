// The differences between Debian's emscripten and the one that Rust's libc describes: a `timespec`
// has 64 bits of seconds there. The environment of a program is the host's.
mergeInto(LibraryManager.library, {
  $ENV: '=process.env',
  $writeTimespec: function(to, ns) {
    HEAP32[to >> 2] = Number(ns / 1000000000n);
    HEAP32[(to >> 2) + 1] = 0;
    HEAP32[(to >> 2) + 2] = Number(ns % 1000000000n);
  },
  clock_gettime__deps: ['$writeTimespec', '$setErrNo'],
  clock_gettime: function(clock, to) {
    switch (clock) {
      case {{{ cDefine('CLOCK_REALTIME') }}}: writeTimespec(to, BigInt(Date.now()) * 1000000n); return 0;
      case {{{ cDefine('CLOCK_MONOTONIC') }}}: writeTimespec(to, process.hrtime.bigint()); return 0;
      default: setErrNo({{{ cDefine('EINVAL') }}}); return -1;
    }
  },
  clock_getres__deps: ['$writeTimespec', '$setErrNo'],
  clock_getres: function(clock, to) {
    switch (clock) {
      case {{{ cDefine('CLOCK_REALTIME') }}}: writeTimespec(to, 1000000n); return 0;
      case {{{ cDefine('CLOCK_MONOTONIC') }}}: writeTimespec(to, 1n); return 0;
      default: setErrNo({{{ cDefine('EINVAL') }}}); return -1;
    }
  },
});
