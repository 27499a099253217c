/* Runs functions of a program again and again; each time one of their reads is served another value. Prints what
   changed: "effect READ S WRITE" for a stored value, "effect READ A" for the address of an access, "effect READ O" for
   output, "effect READ B" for another operation; and "edge WRITE READ" for each read of what a write has stored,
   "store WRITE ADDRESS SIZE" for each write. Places
   are return addresses. It stands in for ThreadSanitizer's runtime. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef unsigned __int128 wide;
enum { MOST = 4096 };
struct event { char kind; void *code; char *address; int size; wide value; int is_range; };
static struct event events[2][MOST];
static int which, count, is_on;
/* The read that is served, counted from the first. */
static int served = -1, reads;
static wide value_served, value_before;
static char *changed;
static int changed_size;
static sigjmp_buf out;

/* Where the program begins, and where what can be written begins. */
extern char __executable_start, __data_start;

/* A pointer to a function of the program. */
extern int (*volatile pointer)(int);

/* Last writes of bytes. */
static struct { char *at; void *code; } writers[MOST];
static int written;

/* In `copies.c`, which sees the copies of the program. */
extern void *(*copied)(void *code, char *to, char *from, long size);

/* Copies bytes without being seen. */
static void move(void *to, const void *from, long size)
{
    char *into = to;
    const char *of = from;
    if (into < of) for (long at = 0; at < size; at++) into[at] = of[at];
    else for (long at = size; at-- > 0;) into[at] = of[at];
}

static wide load(const char *from, int size) { wide value = 0; move(&value, from, size); return value; }

/* The access of the last callback has been performed. */
static void finish(void)
{
    if (changed) {
        if (!memcmp(changed, &value_served, changed_size)) move(changed, &value_before, changed_size);
        changed = 0;
    }
    if (count > 0) {
        struct event *last = &events[which][count - 1];
        /* A copy is announced as a write, then as a read. */
        if (last->kind == 'r' && last->is_range && count > 1 && last[-1].is_range) last--;
        if (last->kind == 'w') last->value = load(last->address, last->size);
    }
}

static void add(char kind, void *code, char *address, int size, wide value)
{
    finish();
    if (count == MOST) siglongjmp(out, 1);
    events[which][count++] = (struct event){kind, code, address, size, value, 0};
}

static void wrote(void *code, char *address, int size)
{
    printf("store %lx %lx %x\n", (long)code, (long)address, size);
    for (int at = 0; at < size; at++) {
        int known = 0;
        while (known < written && writers[known].at != address + at) known++;
        if (known == MOST) siglongjmp(out, 1);
        if (known == written) written++;
        writers[known].at = address + at;
        writers[known].code = code;
    }
}

static void has_read(void *code, char *address, int size)
{
    void *last = 0;
    for (int at = 0; at < size; at++)
        for (int known = 0; known < written; known++)
            if (writers[known].at == address + at && writers[known].code != last) {
                last = writers[known].code;
                printf("edge %lx %lx\n", (long)last, (long)code);
            }
}

/* Of longer accesses the first bytes are served and compared. */
static int part(long size) { return size <= 16 ? (int)size : 16; }

static void plain_read(void *code, char *address, long whole)
{
    int size = part(whole);
    if (!is_on) return;
    add('r', code, address, size, 0);
    has_read(code, address, (int)whole);
    /* A constant has no other value. */
    int is_constant = address >= &__executable_start && address < &__data_start;
    /* A function at a wild address might never return. */
    if (reads++ == served && !is_constant && address != (char *)&pointer) {
        value_before = load(address, size);
        move(address, &value_served, size);
        changed = address;
        changed_size = size;
    }
}

static void plain_write(void *code, char *address, long size)
{
    if (!is_on) return;
    add('w', code, address, part(size), 0);
    wrote(code, address, (int)size);
}

#define CODE __builtin_return_address(0)
#define SIZES(prefix, size) \
    void __tsan_##prefix##read##size(void *address) { plain_read(CODE, address, size); } \
    void __tsan_##prefix##write##size(void *address) { plain_write(CODE, address, size); }
SIZES(, 1) SIZES(, 2) SIZES(, 4) SIZES(, 8) SIZES(, 16)
SIZES(unaligned_, 2) SIZES(unaligned_, 4) SIZES(unaligned_, 8) SIZES(unaligned_, 16)
SIZES(volatile_, 1) SIZES(volatile_, 2) SIZES(volatile_, 4) SIZES(volatile_, 8)
static void range(void) { if (is_on) events[which][count - 1].is_range = 1; }
void __tsan_read_range(void *address, long size) { plain_read(CODE, address, size); range(); }
void __tsan_write_range(void *address, long size) { plain_write(CODE, address, size); range(); }

static wide atomic_read(char kind, void *code, char *address, int size)
{
    wide found = load(address, size);
    if (!is_on) return found;
    add(kind, code, address, size, 0);
    has_read(code, address, size);
    if (reads++ == served) { found = 0; move(&found, &value_served, size); }
    return found;
}

static void atomic_write(void *code, char *address, int size, wide value)
{
    move(address, &value, size);
    if (!is_on) return;
    add('s', code, address, size, value);
    wrote(code, address, size);
}

#define UPDATE(bits, type, name, operator) \
    type __tsan_atomic##bits##_fetch_##name(type *at, type value, int order) \
    { type old = atomic_read('u', CODE, (char *)at, bits / 8); atomic_write(CODE, (char *)at, bits / 8, (type)(old operator value)); return old; }
#define ATOMICS(bits, type) \
    type __tsan_atomic##bits##_load(type *at, int order) { return atomic_read('r', CODE, (char *)at, bits / 8); } \
    void __tsan_atomic##bits##_store(type *at, type value, int order) { atomic_write(CODE, (char *)at, bits / 8, value); } \
    type __tsan_atomic##bits##_exchange(type *at, type value, int order) \
    { type old = atomic_read('u', CODE, (char *)at, bits / 8); atomic_write(CODE, (char *)at, bits / 8, value); return old; } \
    UPDATE(bits, type, add, +) UPDATE(bits, type, sub, -) UPDATE(bits, type, or, |) UPDATE(bits, type, and, &) UPDATE(bits, type, xor, ^) \
    int __tsan_atomic##bits##_compare_exchange_strong(type *at, type *expected, type value, int order, int failure) \
    { type old = atomic_read('u', CODE, (char *)at, bits / 8); if (old != *expected) { *expected = old; return 0; } \
      atomic_write(CODE, (char *)at, bits / 8, value); return 1; } \
    type __tsan_atomic##bits##_compare_exchange_val(type *at, type expected, type value, int order, int failure) \
    { type old = atomic_read('u', CODE, (char *)at, bits / 8); if (old == expected) atomic_write(CODE, (char *)at, bits / 8, value); return old; }
ATOMICS(32, uint32_t) ATOMICS(64, uint64_t)

/* Programs call it before a copy that has no callback. */
void __tsan_init(void) { if (is_on) finish(); }
void __tsan_func_entry(void *caller) { }
void __tsan_func_exit(void) { }
static void *copy_bytes(void *code, char *to, char *from, long size)
{
    plain_read(code, from, size);
    move(to, from, size);
    if (!is_on) return to;
    finish();
    for (long at = 0; at < size; at += 8) {
        int bytes = size - at < 8 ? (int)(size - at) : 8;
        /* A copy into a frame is no store, but what becomes of it is seen. */
        if (to < (char *)__builtin_frame_address(0)) add('s', code, to + at, bytes, load(to + at, bytes));
        wrote(code, to + at, bytes);
    }
    return to;
}
void *__tsan_memcpy(char *to, char *from, long size) { return copy_bytes(CODE, to, from, size); }
void *__tsan_memmove(char *to, char *from, long size) { return copy_bytes(CODE, to, from, size); }
void *__tsan_memset(char *to, int byte, long size)
{
    void *code = CODE;
    memset(to, byte, size);
    if (is_on) { add('s', code, to, 1, (unsigned char)byte); wrote(code, to, (int)size); }
    return to;
}

/* Output of the program; see `OUTPUT` in the generator. */
void put(long value)
{
    if (is_on) add('o', CODE, 0, 8, value);
}

extern void (*const functions[])(void);
extern void reset(void);

static void fault(int signal) { siglongjmp(out, 1); }

static __attribute__((noinline)) int run(void (*function)(void))
{
    count = reads = written = 0;
    changed = 0;
    reset();
    is_on = 1;
    int is_broken = sigsetjmp(out, 1);
    if (!is_broken) function();
    /* The address of an access that has failed cannot be read. */
    if (is_broken) changed = 0;
    else finish();
    is_on = 0;
    return is_broken;
}

static void compare(struct event *read, int other)
{
    int least = count < other ? count : other;
    for (int at = 0; at < least; at++) {
        struct event *one = &events[0][at], *two = &events[1][at];
        if (one->kind != two->kind || one->code != two->code) {
            printf("effect %lx B\n", (long)read->code);
            return;
        }
        if (one->address != two->address) printf("effect %lx A\n", (long)read->code);
        if (one->value != two->value)
            printf(one->kind == 'o' ? "effect %lx O\n" : "effect %lx S %lx\n", (long)read->code, (long)one->code);
    }
    if (count != other) printf("effect %lx B\n", (long)read->code);
}

int main(void)
{
    static const uint64_t values[] = {0, 1, 2, 3, 7, 20, -1ull, 0x80000000u, 0x3ff8000000000001ull, 0x123456789abcdefull};
    copied = copy_bytes;
    signal(SIGFPE, fault);
    signal(SIGSEGV, fault);
    signal(SIGBUS, fault);
    signal(SIGILL, fault);

    for (int function = 0; functions[function]; function++) {
        which = 0;
        served = -1;
        if (run(functions[function])) continue;
        int all = reads, other = count;
        static struct event *list[MOST];
        int found = 0;
        for (int at = 0; at < other; at++)
            if (events[0][at].kind == 'r' || events[0][at].kind == 'u') list[found++] = &events[0][at];
        for (int read = 0; read < all && read < found; read++) {
            printf("read %lx\n", (long)list[read]->code);
            for (unsigned value = 0; value < sizeof values / sizeof *values; value++) {
                which = 1;
                served = read;
                value_served = (wide)values[value] << 64 | values[value];
                if (run(functions[function])) printf("effect %lx B\n", (long)list[read]->code);
                else compare(list[read], other);
            }
        }
    }
    return 0;
}
