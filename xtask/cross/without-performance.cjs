// Not every JavaScript host has this clock.
delete globalThis.performance;
