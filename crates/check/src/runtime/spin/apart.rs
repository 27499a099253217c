//! Runs raddle's own code at a distance below the caller, so that the caller's stack and registers stay unchanged.

/// Distance below the caller at which raddle works, in bytes. Less than a page, so that the guard
/// page at the end of a stack cannot be missed.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const GAP: usize = 2048;

/// The function that [`apart`] runs, with its argument and the top of the caller's stack. The result is
/// 0: no register differs from run to run afterwards.
pub(in crate::runtime) type Work = unsafe extern "C-unwind" fn(*mut (), *const u8) -> u64;

/// Zeroes the [`GAP`] bytes below the caller's frame.
///
/// # Safety
///
/// No memory below the stack pointer may be in use.
#[cfg(all(target_arch = "x86_64", not(windows)))]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn clear_below() {
    std::arch::naked_asm!(
        "lea rdi, [rsp - {gap}]",
        "mov ecx, {gap} / 8",
        "xor eax, eax",
        "rep stosq",
        "ret",
        gap = const GAP,
    )
}

/// Does nothing: the first rounds of a loop may differ by what is left on the stack.
///
/// # Safety
///
/// None is needed.
#[cfg(not(all(target_arch = "x86_64", not(windows))))]
pub(super) unsafe extern "C" fn clear_below() {}

/// Runs `work` at some distance below the caller on the stack, so that the area of the caller's
/// next calls and the registers stay unchanged. The top of the stack that `work` gets holds the
/// callee-saved registers, then the return address.
///
/// # Safety
///
/// As for calling `work`.
#[cfg(all(target_arch = "x86_64", not(windows)))]
#[unsafe(naked)]
pub(in crate::runtime) unsafe extern "C-unwind" fn apart(work: Work, with: *mut ()) -> u64 {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rsp",
        // An overflow faults here, before any state changes.
        "test byte ptr [rsp - {probe}], 0",
        "sub rsp, {gap} + 8",
        ".cfi_def_cfa_offset {gap} + 64",
        "call rax",
        "add rsp, {gap} + 56",
        ".cfi_def_cfa_offset 8",
        "xor ecx, ecx",
        "xor edx, edx",
        "xor esi, esi",
        "xor edi, edi",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "ret",
        ".cfi_endproc",
        gap = const GAP,
        probe = const GAP + 1024,
    )
}

/// Runs `work` as on x86-64.
///
/// # Safety
///
/// As for calling `work`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(in crate::runtime) unsafe extern "C-unwind" fn apart(work: Work, with: *mut ()) -> u64 {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-160]!",
        ".cfi_def_cfa_offset 160",
        ".cfi_offset x29, -160",
        ".cfi_offset x30, -152",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, x0",
        "mov x0, x1",
        "mov x1, sp",
        "sub x10, sp, {probe}",
        "ldrb w10, [x10]",
        "sub sp, sp, {gap}",
        ".cfi_def_cfa_offset {gap} + 160",
        "blr x9",
        "add sp, sp, {gap}",
        ".cfi_def_cfa_offset 160",
        "ldp x29, x30, [sp], #160",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
        gap = const GAP,
        probe = const GAP + 1024,
    )
}

/// Runs `work` directly: spin loops are not detected on other processors.
///
/// # Safety
///
/// As for calling `work`.
#[cfg(not(any(all(target_arch = "x86_64", not(windows)), target_arch = "aarch64")))]
pub(in crate::runtime) unsafe extern "C-unwind" fn apart(work: Work, with: *mut ()) -> u64 {
    // SAFETY: the caller guarantees that `work` may be called with `with`.
    unsafe { work(with, std::ptr::null()) }
}
