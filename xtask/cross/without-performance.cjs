// A JavaScript host need not have this clock.
delete globalThis.performance;
