// Reports FEAT_ECV to a program under qemu: the emulator has the feature's counter, CNTVCTSS_EL0,
// but does not report it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>

// The programs that it starts are programs of the host.
__attribute__((constructor)) static void hide(void)
{
    unsetenv("LD_PRELOAD");
}

unsigned long getauxval(unsigned long type)
{
    unsigned long (*next)(unsigned long) = dlsym(RTLD_NEXT, "getauxval");
    return next(type) | (type == AT_HWCAP2 ? 1ul << 19 : 0);
}
