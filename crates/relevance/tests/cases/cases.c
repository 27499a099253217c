/* What the values of reads can do, one function each. A line "// NAME: VARIABLE=EFFECTS ..." says what the reads
   of a variable in a function do, whatever the compiler: B decides a branch, A is a part of an address, S is
   stored, U is not known, - nothing, and "none" that compilers may leave the read out or not instrument it; alternatives
   are separated by |. C's atomic_load is a macro with a variable of its own, to which some compilers store. "*" is a variable of no fixed address. */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE __attribute__((noinline, noclone))

int x, y, z, other, table[16];
long wide;
unsigned char byte;
double real, result;
long double longest;
atomic_int flag, counter;
atomic_long big;
volatile int device;
int *pointer;
pthread_mutex_t locks[2], *lock_in_use = &locks[0];
struct pair { long first, second; };
struct four { long a, b, c, d; };
struct four shared_four;

// increment: x=S
CASE void increment(void) { x++; }

// compare: x=B
CASE void compare(void) { if (x == 0) y = 1; }

// spin: flag=B|BS
CASE void spin(void) { while (!atomic_load_explicit(&flag, memory_order_acquire)) { } }

// copy: x=S
CASE void copy(void) { y = x; }

// indexed: x=A *=S
CASE void indexed(void) { y = table[x & 15]; }

// ignored: device=-
CASE void ignored(void) { (void)device; }

// overwritten: device=-
CASE void overwritten(void) { int local = device; local = 5; y = local; }

// printed: x=U
CASE void printed(void) { printf("%d\n", x); }

CASE static int scaled(int value) { return value * 3 + 1; }
// through_a_function: x=S
CASE void through_a_function(void) { y = scaled(x); }

CASE static int reduced(int value) { return value > 10 ? value - 10 : value; }
// branch_in_a_function: x=S|BS
CASE void branch_in_a_function(void) { y = reduced(x); }

CASE static int tells(int value) { if (value > 10) y = 1; return 0; }
// only_a_branch_in_a_function: x=B
CASE void only_a_branch_in_a_function(void) { tells(x); }

// locked: lock_in_use=A
CASE void locked(void) { pthread_mutex_t *used = lock_in_use; pthread_mutex_lock(used); y = 1; pthread_mutex_unlock(used); }

// chosen: x=B|S|BS other=S|B|BS|-
CASE void chosen(void) { y = x > 5 ? other : 7; }

// switched: x=B|AB|BS
CASE void switched(void)
{
    switch (x) {
    case 0: y = 3; break;
    case 1: z = 1; break;
    case 2: other = 9; break;
    case 3: wide = 4; break;
    case 4: y = 9; break;
    case 5: z = 6; break;
    }
}

// exchanged: counter=BS
CASE void exchanged(void) { int old = atomic_load(&counter); while (!atomic_compare_exchange_weak(&counter, &old, old * 2 + 1)) { } }

// added: counter=S
CASE void added(void) { atomic_fetch_add(&counter, 1); }

// ticket: counter=BS
CASE void ticket(void) { if (atomic_fetch_add(&counter, 1) == 3) y = 1; }

// loaded_and_ignored: flag=-|S
CASE void loaded_and_ignored(void) { (void)atomic_load_explicit(&flag, memory_order_relaxed); }

// returns_x: x=S
CASE static int returns_x(void) { return x; }
CASE void uses_what_is_returned(void) { z = returns_x() + 1; }

// returns_y: y=-|none
CASE static int returns_y(void) { return y; }
CASE void drops_what_is_returned(void) { returns_y(); }

// summed: *=S
CASE void summed(void) { int sum = 0; for (int i = 0; i < 16; i++) sum += table[i]; y = sum; }

// floating: real=S
CASE void floating(void) { result = real * 2.0; }

// floating_branch: real=B
CASE void floating_branch(void) { if (real > 1.5) y = 1; }

// fill_x: x=BS
CASE static void fill_x(int *out) { *out = x; }
CASE void through_an_out_parameter(void) { int local; fill_x(&local); if (local) y = 1; }

CASE static int seventh(int a, int b, int c, int d, int e, int f, int g) { return a + g; }
// on_the_stack: x=S
CASE void on_the_stack(void) { y = seventh(1, 2, 3, 4, 5, 6, x); }

CASE static int seventh_branch(int a, int b, int c, int d, int e, int f, int g) { if (g) z = a; return 0; }
// branch_on_the_stack: x=B
CASE void branch_on_the_stack(void) { seventh_branch(1, 2, 3, 4, 5, 6, x); }

CASE static struct pair paired(int value) { struct pair made = {1, value}; return made; }
// in_two_registers: x=S
CASE void in_two_registers(void) { struct pair got = paired(x); y = (int)got.second; }

CASE static struct four quadruple(int value) { struct four made = {1, 2, 3, value}; return made; }
// in_hidden_memory: x=S|SU
CASE void in_hidden_memory(void) { struct four got = quadruple(x); y = (int)got.d; }

CASE static int sum_of(struct four of) { return (int)(of.a + of.d); }
// by_value: x=S|SU
CASE void by_value(void) { struct four made = {1, 2, 3, x}; y = sum_of(made); }

static int twice(int value) { return value * 2; }
int (*volatile function)(int) = twice;
// called_by_pointer: function=B|BU x=U
CASE void called_by_pointer(void) { y = function(x); }

CASE static int gives_y(void) { return y; }
int (*volatile giver)(void) = gives_y;
// gives_y: y=U
// called_back: giver=B|BU
CASE void called_back(void) { if (giver()) z = 1; }

// carried: x=S
CASE void carried(void) { unsigned __int128 sum = (unsigned __int128)(unsigned long)-(long)x + 5ul; y = (int)(sum >> 64); }

// converted: x=S
CASE void converted(void) { result = (double)x + 0.5; }

CASE static int recursive(int depth, int value) { return depth ? recursive(depth - 1, value + 1) : value; }
// in_a_recursion: x=S
CASE void in_a_recursion(void) { y = recursive(3, x); }

CASE static int counts_down(int value) { return value ? counts_down(value - 1) : 0; }
// decides_a_recursion: x=B|BS|-
CASE void decides_a_recursion(void) { counts_down(x); }

CASE static void fill(int *to, int value) { to[1] = value; }
// in_a_local_array: x=S|SU
CASE void in_a_local_array(void) { int local[3] = {0, 0, 0}; fill(local, x); y = local[1]; }

// as_a_truth_value: x=S
CASE void as_a_truth_value(void) { y = x > 5; }

// through_pointer: pointer=A *=S
CASE void through_pointer(void) { y = *pointer; }

// stored_at: x=S pointer=A
CASE void stored_at(void) { *pointer = x; }

// both: x=B other=B
CASE void both(void) { if (x == other) y = 1; }

// in_the_sum: x=S other=S
CASE void in_the_sum(void) { y = x + other; }

// of_a_byte: byte=B
CASE void of_a_byte(void) { if (byte & 4) y = 1; }

// freed: pointer=A
CASE void freed(void) { free(pointer); }

// allocated: x=A
CASE void allocated(void) { pointer = malloc((size_t)x); }

// after_setjmp: x=U|SU
jmp_buf buffer;
CASE void after_setjmp(void) { if (!setjmp(buffer)) y = x; }

// in_long_double: longest=B|none
CASE void in_long_double(void) { if (longest > 2.5L) y = 1; }

// in_the_kernel: x=U
CASE void in_the_kernel(void) { long number = x; asm volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory"); }

// dividend: x=S other=S
CASE void dividend(void) { y = x / (other | 1); }

// shifted: x=S other=S
CASE void shifted(void) { y = x << (other & 31); }

// wide_atomic: big=S
CASE void wide_atomic(void) { wide = atomic_load(&big); }

int main(void)
{
    return 0;
}
