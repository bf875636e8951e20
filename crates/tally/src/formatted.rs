//! stdio's functions with a variable number of arguments: each makes a list of them, as a C compiler does at the start of such
//! a function (System V ABI for x86-64, 3.5.7), and calls the function of [`crate::streams`] that takes a list.

use crate::streams;

/// A function whose named arguments take `$named` bytes of the registers' save area; the list goes where `$list` says.
macro_rules! variadic {
    ($($name:ident, $named:literal, $list:literal => $target:path;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As in C.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "sub rsp, 216",
                ".cfi_adjust_cfa_offset 216",
                "mov [rsp + 32], rdi",
                "mov [rsp + 40], rsi",
                "mov [rsp + 48], rdx",
                "mov [rsp + 56], rcx",
                "mov [rsp + 64], r8",
                "mov [rsp + 72], r9",
                "test al, al",
                "jz 2f",
                "movaps [rsp + 80], xmm0",
                "movaps [rsp + 96], xmm1",
                "movaps [rsp + 112], xmm2",
                "movaps [rsp + 128], xmm3",
                "movaps [rsp + 144], xmm4",
                "movaps [rsp + 160], xmm5",
                "movaps [rsp + 176], xmm6",
                "movaps [rsp + 192], xmm7",
                "2:",
                concat!("mov dword ptr [rsp], ", $named),
                "mov dword ptr [rsp + 4], 48",
                "lea rax, [rsp + 224]",
                "mov [rsp + 8], rax",
                "lea rax, [rsp + 32]",
                "mov [rsp + 16], rax",
                concat!("mov ", $list, ", rsp"),
                "call {target}",
                "add rsp, 216",
                ".cfi_adjust_cfa_offset -216",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    )*};
}

variadic! {
    printf, 8, "rsi" => streams::vprintf;
    fprintf, 16, "rdx" => streams::vfprintf;
    dprintf, 16, "rdx" => streams::vdprintf;
    __printf_chk, 16, "rdx" => streams::__vprintf_chk;
    __fprintf_chk, 24, "rcx" => streams::__vfprintf_chk;
    __dprintf_chk, 24, "rcx" => streams::__vdprintf_chk;
    scanf, 8, "rsi" => streams::vscanf;
    fscanf, 16, "rdx" => streams::vfscanf;
    __isoc99_scanf, 8, "rsi" => streams::__isoc99_vscanf;
    __isoc99_fscanf, 16, "rdx" => streams::__isoc99_vfscanf;
}
