// node perfetto.js FOLDER TRACE QUERY...: prints the rows of queries of a trace as JSON.
//
// FOLDER has a release of Perfetto's viewer, whose engine reads the trace, as it does in a browser.
// The messages are those of `TraceProcessorRpc` in Perfetto's `trace_processor.proto`.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder, trace, ...queries] = process.argv.slice(2);

const APPEND = 1;
const FINALIZE = 2;
const QUERY = 3;

// ## Protobuf

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  do {
    const more = rest > 127n ? 128 : 0;
    bytes.push(Number(rest & 127n) | more);
    rest >>= 7n;
  } while (rest);
  return Buffer.from(bytes);
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) =>
  Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

function takeVarint(from, at) {
  let [value, shift, byte] = [0n, 0n, 0];
  do {
    byte = from[at++];
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
  } while (byte & 128);
  return [value, at];
}

function* varints(from) {
  let [value, at] = [0n, 0];
  while (at < from.length) {
    [value, at] = takeVarint(from, at);
    yield BigInt.asIntN(64, value);
  }
}

function* fields(from) {
  const lengths = { 1: 8, 5: 4 };
  let [tag, value, at] = [0n, 0n, 0];
  while (at < from.length) {
    [tag, at] = takeVarint(from, at);
    const type = Number(tag & 7n);
    if (type !== 1 && type !== 5) [value, at] = takeVarint(from, at);
    if (type === 0) {
      yield [Number(tag >> 3n), value];
    } else {
      const length = lengths[type] ?? Number(value);
      yield [Number(tag >> 3n), from.subarray(at, at + length)];
      at += length;
    }
  }
}

// ## The engine, which takes this for a worker of a browser

const file = (name) => fs.readFileSync(path.join(folder, path.basename(name)));
const self = { location: { href: 'http://localhost/' } };
Object.assign(globalThis, { self, location: self.location, WorkerGlobalScope: Object });
globalThis.importScripts = () => {};
globalThis.XMLHttpRequest = class {
  open(_method, url) {
    this.url = url;
  }
  send() {
    this.response = file(this.url);
  }
};
process.type = 'renderer';
console.log = console.error;
vm.runInThisContext(file('engine_bundle.js').toString());

let answered = () => {};
const port = { postMessage: (answer) => answered(Buffer.from(answer)) };
self.onmessage({ data: port });

let sequence = 0;
// Calls a method. `take` returns whether it has taken the whole answer.
function call(method, args, take) {
  return new Promise((resolve, reject) => {
    answered = (answer) => {
      try {
        for (const [, message] of fields(answer)) {
          for (const [field, value] of fields(message)) {
            if (field === 5) throw new Error(value.toString());
            if (field > 200 && take(value)) resolve();
          }
        }
      } catch (error) {
        reject(error);
      }
    };
    const message = Buffer.concat([number(1, sequence++), number(2, method), args]);
    port.onmessage({ data: new Uint8Array(bytes(1, message)) });
  });
}

function checkError(result, field) {
  for (const [number, value] of fields(result)) {
    if (number === field) throw new Error(value.toString());
  }
  return true;
}

async function query(sql) {
  const [columns, cells] = [[], []];
  let isLast = false;
  const args = bytes(103, bytes(1, Buffer.from(sql)));
  await call(QUERY, args, (result) => {
    checkError(result, 2);
    for (const [field, value] of fields(result)) {
      if (field === 1) columns.push(value.toString());
      if (field !== 3) continue;
      const batch = Object.fromEntries(fields(value));
      const numbers = [...varints(batch[2] ?? [])];
      const floats = batch[3] ?? Buffer.alloc(0);
      const texts = (batch[5] ?? '').toString().split('\0');
      let float = 0;
      for (const kind of varints(batch[1] ?? [])) {
        if (kind === 1n) cells.push(null);
        if (kind === 2n) cells.push(numbers.shift().toString());
        if (kind === 3n) cells.push(floats.readDoubleLE(8 * float++).toString());
        if (kind === 4n) cells.push(texts.shift());
      }
      isLast = batch[6] === 1n;
    }
    return isLast;
  });
  const rows = [];
  while (cells.length) {
    rows.push(Object.fromEntries(columns.map((name) => [name, cells.shift()])));
  }
  return rows;
}

async function main() {
  // The engine has loaded its code by now, and takes messages in the next turn.
  await new Promise((resolve) => setTimeout(resolve, 0));
  await call(APPEND, bytes(101, fs.readFileSync(trace)), (result) => checkError(result, 2));
  await call(FINALIZE, Buffer.alloc(0), (result) => checkError(result, 1));
  const results = [];
  for (const sql of queries) results.push(await query(sql));
  fs.writeSync(1, JSON.stringify(results));
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
