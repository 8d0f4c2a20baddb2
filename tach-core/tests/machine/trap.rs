//! The counter's instructions, refused by the kernel and answered by the simulated machine, or
//! counted one by one.
#![expect(unsafe_code, reason = "handles signals and changes the interrupted registers")]

use core::arch::asm;

use core::ffi::{c_int, c_ulong, c_void};
use core::mem;
use core::ptr;

use super::interpose::real_prctl;
use super::machine;
use super::word::Word;

const CPUID: [u8; 2] = [0x0f, 0xa2];
const RDTSC: [u8; 2] = [0x0f, 0x31];
const RDTSCP: [u8; 3] = [0x0f, 0x01, 0xf9];
/// The signal's code if an instruction, rather than an address, was refused.
const SI_KERNEL: c_int = 0x80;

/// Makes RDTSC and RDTSCP fault on this thread. Returns whether the kernel supports that.
pub(crate) fn refuse_counter() -> bool {
    // The flag is a small positive number.
    real_prctl(libc::PR_SET_TSC, c_ulong::from(libc::PR_TSC_SIGSEGV.unsigned_abs()), 0, 0, 0) == 0
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Installs the handler that answers the instructions. Returns whether that succeeded.
pub(crate) fn answer() -> bool {
    handle(libc::SIGSEGV, on_fault)
}

fn handle(signal: c_int, handler: Handler) -> bool {
    // SAFETY: a sigaction is made of integers and an empty optional function, for which zero is a
    // value.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
    // SAFETY: the action is whole, and its handlers change only words of this program.
    unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) == 0 }
}

extern "C" fn on_fault(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a valid siginfo.
    let code = unsafe { (*info).si_code };
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel gives a valid context, which nothing else accesses while the handler runs.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    let register = |index: c_int| index.unsigned_abs() as usize;
    let Some(length) = (if code == SI_KERNEL { counter_read(registers) } else { None }) else {
        // SAFETY: the default is a valid disposition; the instruction faults again, and ends the
        // process.
        unsafe {
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        }
        return;
    };
    let ticks = machine::read_counter();
    let half = |bits: u64| libc::greg_t::try_from(bits & 0xffff_ffff).unwrap_or(0);
    registers[register(libc::REG_RAX)] = half(ticks);
    registers[register(libc::REG_RDX)] = half(ticks >> 32);
    if length == RDTSCP.len() {
        registers[register(libc::REG_RCX)] = 0;
    }
    registers[register(libc::REG_RIP)] += libc::greg_t::try_from(length).unwrap_or(0);
}

/// Returns the length of the refused instruction, if it reads the counter.
fn counter_read(registers: &[libc::greg_t]) -> Option<usize> {
    [&RDTSC[..], &RDTSCP].into_iter().find(|read| is_next(registers, read)).map(<[u8]>::len)
}

/// Returns whether the instruction is the next one.
fn is_next(registers: &[libc::greg_t], instruction: &[u8]) -> bool {
    let address = registers[libc::REG_RIP.unsigned_abs() as usize];
    let Ok(address) = usize::try_from(address) else { return false };
    let code = ptr::with_exposed_provenance::<u8>(address);
    let byte = |offset: usize| {
        let place = code.wrapping_add(offset);
        // SAFETY: the CPU fetches the instruction from here. A byte is read only if those before it
        // begin an instruction that is longer.
        unsafe { place.read() }
    };
    (0..instruction.len()).all(|i| byte(i) == instruction[i])
}

static STEPS: Word = Word::new(0);
static QUESTIONS: Word = Word::new(0);

/// Runs `body` in single steps. Returns the number of its instructions, and how many of them read
/// the counter or ask the CPU for its features.
pub(crate) fn step(body: impl FnOnce()) -> (u64, u64) {
    const TRAP_FLAG: i32 = 1 << 8;
    assert!(handle(libc::SIGTRAP, on_step), "a signal can be handled");
    // SAFETY: the flag makes the kernel send SIGTRAP after each instruction, which is handled.
    unsafe { asm!("pushfq", "or qword ptr [rsp], {flag}", "popfq", flag = const TRAP_FLAG) };
    body();
    // SAFETY: clears the flag again.
    unsafe {
        asm!("pushfq", "and qword ptr [rsp], {rest}", "popfq", rest = const !TRAP_FLAG);
    };
    (STEPS.get(), QUESTIONS.get())
}

extern "C" fn on_step(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel gives a valid context, which nothing else accesses while the handler runs.
    let registers = unsafe { &(*context).uc_mcontext.gregs };
    STEPS.add(1);
    if is_next(registers, &CPUID) || counter_read(registers).is_some() {
        QUESTIONS.add(1);
    }
}
