// check.cjs FOLDER: compares the time of the module in the folder with the host's.
'use strict';
const assert = require('node:assert');
const path = require('node:path');
const { loop_ns, unix_ms } = require(path.resolve(process.argv[2], 'wasm32v1.js'));

// `Date` has whole milliseconds, and tach follows it within two.
const STEP_MS = 3;
unix_ms();
for (let round = 0; round < 100; round++) {
  const before = Date.now();
  const read = unix_ms();
  const after = Date.now();
  assert(before - STEP_MS <= read && read <= after + STEP_MS, `${before} ${read} ${after}`);
}
const start = performance.now();
const inside = loop_ns();
const outside = (performance.now() - start) * 1e6;
assert(inside > 0 && inside <= outside + 1e6, `${inside} ns in a loop of ${outside} ns`);
