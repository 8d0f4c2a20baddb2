// Lets a program under qemu believe the kernel that the CPU has FEAT_ECV: the emulator has its counter,
// CNTVCTSS_EL0, and does not tell.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>

// The programs that it starts are the host's.
__attribute__((constructor)) static void hide(void)
{
    unsetenv("LD_PRELOAD");
}

unsigned long getauxval(unsigned long type)
{
    unsigned long (*next)(unsigned long) = dlsym(RTLD_NEXT, "getauxval");
    return next(type) | (type == AT_HWCAP2 ? 1ul << 19 : 0);
}
