/* ThreadSanitizer's interface, doing nothing: programs that are only analysed are linked with it. */
#define CALLBACK(name) void name(void) { }
#define SIZES(name) CALLBACK(name##1) CALLBACK(name##2) CALLBACK(name##4) CALLBACK(name##8) CALLBACK(name##16)
SIZES(__tsan_read) SIZES(__tsan_write) SIZES(__tsan_unaligned_read) SIZES(__tsan_unaligned_write)
SIZES(__tsan_volatile_read) SIZES(__tsan_volatile_write)
CALLBACK(__tsan_init) CALLBACK(__tsan_func_entry) CALLBACK(__tsan_func_exit)
CALLBACK(__tsan_read_range) CALLBACK(__tsan_write_range) CALLBACK(__tsan_vptr_update) CALLBACK(__tsan_vptr_read)
CALLBACK(__tsan_memcpy) CALLBACK(__tsan_memmove) CALLBACK(__tsan_memset)
CALLBACK(__tsan_atomic_thread_fence) CALLBACK(__tsan_atomic_signal_fence)
#define ATOMICS(bits) CALLBACK(__tsan_atomic##bits##_load) CALLBACK(__tsan_atomic##bits##_store) \
    CALLBACK(__tsan_atomic##bits##_exchange) CALLBACK(__tsan_atomic##bits##_fetch_add) \
    CALLBACK(__tsan_atomic##bits##_fetch_sub) CALLBACK(__tsan_atomic##bits##_fetch_and) \
    CALLBACK(__tsan_atomic##bits##_fetch_or) CALLBACK(__tsan_atomic##bits##_fetch_xor) \
    CALLBACK(__tsan_atomic##bits##_fetch_nand) CALLBACK(__tsan_atomic##bits##_compare_exchange_strong) \
    CALLBACK(__tsan_atomic##bits##_compare_exchange_weak) CALLBACK(__tsan_atomic##bits##_compare_exchange_val)
ATOMICS(8) ATOMICS(16) ATOMICS(32) ATOMICS(64) ATOMICS(128)

/* Variables of the functions in Rust. */
unsigned long COUNT, PLAIN, OTHER;
unsigned char BYTES[16];
