// node wasip2-ld.mjs JCO LINKER ARGUMENT...: links a module and turns it into a component, as rustc
// expects of this target's linker.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const [, , jco, linker, ...args] = process.argv;
execFileSync(linker, args, { stdio: 'inherit' });

const { $init, tools } = await import(`${jco}/jco-transpile/vendor/wasm-tools.js`);
await $init;
const output = args[args.indexOf('-o') + 1];
// A part of the C library still calls preview 1. The adapter turns those calls into preview 2.
const adapter = readFileSync(`${jco}/jco/lib/wasi_snapshot_preview1.command.wasm`);
writeFileSync(output, tools.componentNew(readFileSync(output), [['wasi_snapshot_preview1', adapter]]));
