//! Functions of other files about which more is known than nothing.

/// What a call does with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// The first arguments are addresses, sizes, orders or times, and decide what is called next; nothing else
    /// is read or written by which a value could flow.
    Operands(usize),
    /// Whatever the function does with its arguments, there are not more of them.
    Arguments(usize),
    /// `memcpy`: copies memory from the second to the first argument.
    Copy,
    /// The function that calls it cannot be followed.
    GiveUp,
}

/// Returns the model of a function.
pub(crate) fn of(name: &str) -> Option<Model> {
    let name = name.split('@').next().unwrap_or(name);
    if GIVE_UP.contains(&name) {
        return Some(Model::GiveUp);
    }
    if COPIES.contains(&name) {
        return Some(Model::Copy);
    }
    let known = ARGUMENTS.iter().find(|(known, _)| *known == name);
    if let Some(&(_, count)) = known {
        return Some(Model::Arguments(count));
    }
    let known = OPERANDS.iter().find(|(known, _)| *known == name);
    known.map(|&(_, count)| Model::Operands(count))
}

/// These return twice, or on another stack.
const GIVE_UP: &[&str] = &[
    "setjmp",
    "_setjmp",
    "__setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "vfork",
    "getcontext",
    "swapcontext",
    "makecontext",
];

const COPIES: &[&str] = &["memcpy", "memmove", "__memcpy_chk", "__memmove_chk"];

/// Functions that need a model only because their arguments are not on the stack.
const ARGUMENTS: &[(&str, usize)] = &[
    ("__cxa_begin_catch", 1),
    ("__cxa_end_catch", 0),
    ("__cxa_allocate_exception", 1),
    ("__cxa_free_exception", 1),
    ("__cxa_throw", 3),
    ("__cxa_rethrow", 0),
    ("__cxa_guard_acquire", 1),
    ("__cxa_guard_release", 1),
    ("__cxa_guard_abort", 1),
    ("__stack_chk_fail", 0),
    ("_Unwind_Resume", 1),
    ("_ZSt9terminatev", 0),
    ("abort", 0),
    ("exit", 1),
    ("posix_memalign", 3),
    ("pthread_create", 4),
    ("pthread_join", 2),
    ("memset", 3),
    ("memcmp", 3),
    ("bcmp", 3),
    ("strlen", 1),
    ("strcmp", 2),
    ("write", 3),
    ("read", 3),
];

/// Locks and memory: their arguments and how many there are. What they write to memory (a new block's
/// address, a time) comes from no read of the program.
const OPERANDS: &[(&str, usize)] = &[
    ("malloc", 1),
    ("calloc", 2),
    ("aligned_alloc", 2),
    ("free", 1),
    ("_Znwm", 1),
    ("_Znam", 1),
    ("_ZnwmSt11align_val_t", 2),
    ("_ZdlPv", 1),
    ("_ZdaPv", 1),
    ("_ZdlPvm", 2),
    ("_ZdaPvm", 2),
    ("_ZdlPvmSt11align_val_t", 3),
    ("pthread_mutex_lock", 1),
    ("pthread_mutex_trylock", 1),
    ("pthread_mutex_unlock", 1),
    ("pthread_rwlock_rdlock", 1),
    ("pthread_rwlock_wrlock", 1),
    ("pthread_rwlock_tryrdlock", 1),
    ("pthread_rwlock_trywrlock", 1),
    ("pthread_rwlock_unlock", 1),
    ("pthread_spin_lock", 1),
    ("pthread_spin_trylock", 1),
    ("pthread_spin_unlock", 1),
    ("pthread_cond_wait", 2),
    ("pthread_cond_signal", 1),
    ("pthread_cond_broadcast", 1),
    ("pthread_barrier_wait", 1),
    ("sem_wait", 1),
    ("sem_trywait", 1),
    ("sem_post", 1),
    ("mtx_lock", 1),
    ("mtx_trylock", 1),
    ("mtx_unlock", 1),
    ("cnd_wait", 2),
    ("cnd_signal", 1),
    ("cnd_broadcast", 1),
    ("sched_yield", 0),
    ("pthread_self", 0),
];
