//! Functions of other libraries that are known to come back without calling into the program, blocking or unwinding.

/// Arithmetic of libm in its `double` form; `f` and `l` forms are known too.
const MATH: [&str; 83] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cabs",
    "cacos",
    "carg",
    "casin",
    "catan",
    "cbrt",
    "ccos",
    "ccosh",
    "ceil",
    "cexp",
    "cimag",
    "clog",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "cpow",
    "creal",
    "csin",
    "csinh",
    "csqrt",
    "ctan",
    "ctanh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ilogb",
    "j0",
    "j1",
    "jn",
    "ldexp",
    "lgamma",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "modf",
    "nan",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "remquo",
    "rint",
    "round",
    "roundeven",
    "scalbln",
    "scalbn",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
    "yn",
];

/// Memory, text and single characters; and the ends of a program that run nothing of it.
const OTHERS: [&str; 75] = [
    "__assert_fail",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "__errno_location",
    "__memcpy_chk",
    "__memmove_chk",
    "__memset_chk",
    "__stack_chk_fail",
    "__strcat_chk",
    "__strcpy_chk",
    "__strncpy_chk",
    "__tls_get_addr",
    "_gfortran_compare_string",
    "_gfortran_string_index",
    "_gfortran_string_len_trim",
    "_gfortran_string_scan",
    "_gfortran_string_verify",
    "abort",
    "abs",
    "bcmp",
    "bcopy",
    "bzero",
    "div",
    "ffs",
    "ffsl",
    "ffsll",
    "imaxabs",
    "isalnum",
    "isalpha",
    "isdigit",
    "islower",
    "isprint",
    "ispunct",
    "isspace",
    "isupper",
    "isxdigit",
    "labs",
    "ldiv",
    "llabs",
    "lldiv",
    "memccpy",
    "memchr",
    "memcmp",
    "memcpy",
    "memmem",
    "memmove",
    "mempcpy",
    "memrchr",
    "memset",
    "rawmemchr",
    "stpcpy",
    "stpncpy",
    "strcasecmp",
    "strcat",
    "strchr",
    "strchrnul",
    "strcmp",
    "strcpy",
    "strcspn",
    "strlen",
    "strncasecmp",
    "strncat",
    "strncmp",
    "strncpy",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strspn",
    "strstr",
    "tolower",
    "toupper",
    "wcslen",
    "wmemcpy",
    "wmemset",
];

/// Families: vector forms of libm, integer powers of Fortran.
const PREFIXES: [&str; 2] = ["_ZGV", "_gfortran_pow_"];

/// Helpers that compilers call for what the machine cannot do in one instruction.
const ARITHMETIC: [&str; 16] = [
    "__divdc3",
    "__divsc3",
    "__divti3",
    "__divxc3",
    "__modti3",
    "__muldc3",
    "__mulsc3",
    "__multi3",
    "__mulxc3",
    "__popcountdi2",
    "__powidf2",
    "__powisf2",
    "__powitf2",
    "__powixf2",
    "__udivti3",
    "__umodti3",
];

/// Whether a function of another library always comes back (or ends the program) without calling into the program,
/// blocking or unwinding: libm, memory and text functions, and the arithmetic of the compiler's own library.
#[must_use]
pub fn is_harmless(name: &str) -> bool {
    let stem = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("_finite")).unwrap_or(name);
    let shorter = stem.strip_suffix(['f', 'l']);
    MATH.contains(&stem)
        || shorter.is_some_and(|shorter| MATH.contains(&shorter))
        || OTHERS.contains(&name)
        || ARITHMETIC.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn what_calls_back_blocks_or_unwinds_is_not_harmless() {
        for name in ["sin", "sinf", "fabsl", "memcpy", "__exp_finite", "_ZGVdN4v_sin", "strlen", "_gfortran_pow_i4_i4"] {
            assert!(is_harmless(name), "{name}");
        }
        for name in ["qsort", "bsearch", "MPI_Send", "pthread_mutex_lock", "printf", "malloc", "exit", "__cxa_throw", "f"] {
            assert!(!is_harmless(name), "{name}");
        }
    }
}
