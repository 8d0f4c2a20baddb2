"""python3 wasip2.py PROGRAM.wasm ARGUMENT...: runs a command of WASI preview 2."""
import sys

from wasmtime import Engine, ExitTrap, Store, WasiConfig, WasmtimeError
from wasmtime.component import Component, Linker

wasi = WasiConfig()
wasi.argv = sys.argv[1:]
wasi.inherit_env()
wasi.inherit_stdin()
wasi.inherit_stdout()
wasi.inherit_stderr()
wasi.preopen_dir(".", ".")

engine = Engine()
store = Store(engine)
store.set_wasi(wasi)
linker = Linker(engine)
linker.add_wasip2()

component = Component.from_file(engine, sys.argv[1])
# The last number of the version depends on the tool that made the component.
name = next(name for name in component.type.exports(engine) if name.startswith("wasi:cli/run@0.2."))
run = component.get_export_index("run", component.get_export_index(name))
try:
    result = linker.instantiate(store, component).get_func(store, run)(store)
except ExitTrap as exit:
    sys.exit(exit.code)
except WasmtimeError as trap:
    sys.exit(str(trap))
sys.exit(result.tag != "ok")
