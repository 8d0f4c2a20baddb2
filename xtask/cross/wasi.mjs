// node wasi.mjs PROGRAM.wasm ARGUMENT...: runs a command of WASI preview 1.
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [, , program, ...rest] = process.argv;
const args = [program, ...rest];
const preopens = { '.': '.' };
const wasi = new WASI({ version: 'preview1', args, env: process.env, preopens, returnOnExit: true });
const module = await WebAssembly.compile(readFileSync(program));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);
