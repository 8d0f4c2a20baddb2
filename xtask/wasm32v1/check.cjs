// Asks the module in the folder that is named for the time, and compares it with the host's.
'use strict';
const assert = require('node:assert');
const path = require('node:path');
const { loop_ns, unix_ms } = require(path.resolve(process.argv[2], 'wasm32v1.js'));

// `Date` has whole milliseconds, which tach follows to two.
const STEP_MS = 3;
unix_ms();
for (let round = 0; round < 100; round++) {
  const before = Date.now();
  const told = unix_ms();
  const after = Date.now();
  assert(before - STEP_MS <= told && told <= after + STEP_MS, `${before} ${told} ${after}`);
}
const start = performance.now();
const inside = loop_ns();
const outside = (performance.now() - start) * 1e6;
assert(inside > 0 && inside <= outside + 1e6, `${inside} ns in a loop of ${outside} ns`);
