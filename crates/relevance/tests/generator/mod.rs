//! Random functions in C that move values in every way that a compiler has a different idea of.

use std::fmt::Write;

/// A generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Declarations of all programs. `put` is the output.
const HEAD: &str = r#"
#include <stdatomic.h>
#include <string.h>
struct pair { long first, second; };
struct four { long a, b, c, d; };
struct mixed { int i; double d; };
struct seven { char c[7]; };
int g0, g1, g2, g3, g4, g5, table[16];
long w0, w1;
unsigned char b0, b1;
short s0;
double d0, d1;
float f0;
volatile int v0;
struct pair p0, p1;
struct four q0, q1;
struct mixed m0;
struct seven n0, n1;
char text[24];
atomic_int a0, a1;
atomic_long a2;
void put(long value);
void __tsan_init(void);
static int twice(int value) { return value * 2; }
int (*volatile pointer)(int) = twice;
static int gives(int which) { return which ? g4 : g1; }
static int (*const volatile giver)(int) = gives;
void reset(void)
{
    g0 = 3; g1 = 5; g2 = 7; g3 = 11; g4 = 13; g5 = 17; w0 = 19; w1 = 1l << 40; b0 = 200; b1 = 4; s0 = -3;
    d0 = 1.5; d1 = -2.25; f0 = 0.5f; v0 = 2; a0 = 5; a1 = 6; a2 = 7; m0.i = 4; m0.d = 8.5;
    p0.first = 1; p0.second = 2; p1.first = 3; p1.second = 4;
    q0.a = 1; q0.b = 2; q0.c = 3; q0.d = 4; q1 = q0;
    for (int i = 0; i < 16; i++) table[i] = 100 + i;
    for (int i = 0; i < 7; i++) n0.c[i] = i;
    memset(text, 9, sizeof text);
}
"#;

/// Functions that every program may call: by the ways in which arguments and results travel.
const HELPERS: &str = r#"
#define FUN static __attribute__((noinline))
FUN int one_(int a) { return a * 3 + 1; }
FUN int nine_(int a, int b, int c, int d, int e, int f, int g, int h, int i) { return a + g * 2 - h + i; }
FUN double reals_(double a, double b) { return a * b + 1.0; }
FUN struct pair pair_(int a, long b) { struct pair made = {a, b}; return made; }
FUN struct four four_(int a) { struct four made = {1, a, 3, w0}; return made; }
FUN struct mixed mixed_(int a, double b) { struct mixed made = {a, b}; return made; }
FUN long sum_(struct four of) { return of.a + of.b - of.d; }
FUN long pair_sum_(struct pair of) { return of.first * 2 + of.second; }
FUN void out_(int *to, int a) { *to = a + 1; }
FUN void outs_(int *to, int at, int a) { to[at & 3] = a; to[1] = g2; }
FUN int in_(const int *from, int at) { return from[at & 3] + from[0]; }
FUN void swap_(int *one, int *other) { int old = *one; *one = *other; *other = old; }
FUN int decides_(int a) { if (a > 6) g5 = 1; return a; }
FUN long shifts_(int a, long b) { return (long)a << (b & 31) | b >> 3; }
FUN int down_(int depth, int a) { return depth > 0 ? down_(depth - 1, a + 1) : a; }
struct holder_ { int *one; struct pair *other; };
FUN void through_(struct holder_ *of, int a) { *of->one = a; of->other->second = a + 2; }
FUN int second_(const struct holder_ *of) { return *of->one + (int)of->other->second; }
FUN int *choose_(int *one, int *other, int which) { return which ? one : other; }
FUN float narrow_(float a, int b) { return a + (float)b; }
FUN unsigned __int128 wide_(long a, long b) { return (unsigned __int128)(unsigned long)a * (unsigned long)b; }
FUN struct seven seven_(int a) { struct seven made = n0; made.c[3] = (char)a; return made; }
"#;

struct Writer {
    random: Random,
    text: String,
    /// Nested blocks.
    depth: u32,
}

impl Writer {
    /// Returns an expression that is an integer.
    fn integer(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.random.below(10) {
                0 => self.random.below(40).to_string(),
                1..=4 => self
                    .random
                    .pick(&["l0", "l1", "l2", "k[1]", "k[2]"])
                    .to_owned(),
                5 => "v0".to_owned(),
                6 => self
                    .random
                    .pick(&[
                        "b0",
                        "b1",
                        "s0",
                        "(int)w0",
                        "(int)p0.second",
                        "(int)q0.b",
                        "n0.c[2]",
                        "m0.i",
                    ])
                    .to_owned(),
                7 => self
                    .random
                    .pick(&[
                        "atomic_load(&a0)",
                        "atomic_load_explicit(&a1, memory_order_relaxed)",
                    ])
                    .to_owned(),
                _ => self.random.pick(&["g0", "g1", "g2", "g3", "g4"]).to_owned(),
            };
        }
        let one = self.integer(depth - 1);
        match self.random.below(26) {
            0..=5 => {
                let other = self.integer(depth - 1);
                let operator = self.random.pick(&["+", "-", "*", "&", "|", "^"]);
                format!("({one} {operator} {other})")
            }
            6 => format!("one_({one})"),
            7 => {
                let (two, three) = (self.integer(0), self.integer(0));
                format!("nine_(1, {two}, 3, 4, 5, 6, {one}, {three}, 2)")
            }
            8 => format!("(int)sum_(four_({one}))"),
            9 => format!("(int)pair_(2, {one}).second"),
            10 => format!("(int)pair_sum_(pair_({one}, 5))"),
            11 => format!("(int)reals_(d0, (double){one})"),
            12 => format!("(int)mixed_({one}, d1).d"),
            13 => format!("in_(k, 2) + {one}"),
            14 => format!("({one} > 4)"),
            15 => format!("(int)((unsigned){one} / ((unsigned)g3 | 1))"),
            16 => format!("(int)shifts_({one}, w0)"),
            17 => format!("(int)(signed char){one}"),
            18 => format!("(int)(wide_({one}, w1) >> 64)"),
            19 => format!("down_(2, {one})"),
            20 => format!("(int)narrow_(f0, {one})"),
            21 => format!("seven_({one}).c[3]"),
            22 => format!("__builtin_popcount((unsigned){one})"),
            23 if self.random.below(3) == 0 => format!("table[{one} & 15]"),
            24 if self.random.below(3) == 0 => format!("({one} > 9 ? g1 : l1)"),
            24 if self.random.below(2) == 0 => format!("(giver({}) + {one})", self.random.below(2)),
            25 if self.random.below(4) == 0 => format!("decides_({one})"),
            _ => format!("(~{one} << 1)"),
        }
    }

    fn line(&mut self, line: &str) {
        let indent = 4 * (self.depth as usize + 1);
        writeln!(self.text, "{:indent$}{line}", "").unwrap();
    }

    fn statement(&mut self) {
        let depth = 1 + self.random.below(2) as u32;
        let value = self.integer(depth);
        match self.random.below(34) {
            0..=4 => {
                let to = self.random.pick(&["l0", "l1", "l2", "k[0]", "k[1]", "k[2]"]);
                self.line(&format!("{to} = {value};"));
            }
            5..=9 => {
                let to = self.random.pick(&["g0", "g1", "g2", "g4", "w0", "b0", "b1", "s0", "p0.second", "q0.b", "m0.i", "n0.c[2]", "table[3]"]);
                self.line(&format!("{to} = {value};"));
            }
            10 => self.line(&format!("d1 = d0 * (double){value};")),
            11 => self.line(&format!("p1 = pair_({value}, w1);")),
            12 => self.line(&format!("q1 = four_({value});")),
            13 => self.line(&format!("out_(&l2, {value});")),
            14 => self.line(&format!("outs_(k, {value}, l0);")),
            15 => self.line("swap_(&k[0], &k[3]);"),
            16 => self.line("q0 = q1;"),
            17 => self.line("__tsan_init(); memcpy(&q1, &local, sizeof q1); local.c = l0;"),
            18 => self.line("__tsan_init(); memcpy(text, &q0, 20); l1 = text[8];"),
            19 => self.line(&format!("local = four_({value}); g4 = (int)local.d;")),
            20 => self.line(&format!("atomic_fetch_add(&a1, {value});")),
            21 => self.line(&format!("l1 = atomic_exchange(&a0, {value});")),
            22 => self.line(&format!("atomic_store_explicit(&a2, {value}, memory_order_release);")),
            23 => self.line(&format!("{{ struct holder_ h = {{&l0, &other}}; through_(&h, {value}); g3 = second_(&h); }}")),
            24 => self.line(&format!("other.first = {value}; p0 = other;")),
            25 => self.line("g1++; w1 += g1; b0 ^= 3;"),
            26 => self.line(&format!("n1 = seven_({value}); n0.c[6] = n1.c[0];")),
            27 => self.line("*choose_(&l0, &k[1], 1) = g0; "),
            28 if self.random.below(3) == 0 => self.line(&format!("k[{value} & 3] = l1;")),
            29 if self.random.below(3) == 0 => self.line(&format!("put({value});")),
            30 if self.random.below(4) == 0 => self.line(&format!("l2 = pointer({value});")),
            31 if self.depth < 2 => self.block("for (int i = 0; i < 3; i++) {"),
            32 if self.depth < 2 && self.random.below(3) == 0 => self.block(&format!("if ({value} > 3) {{")),
            33 if self.random.below(4) == 0 => self.line(&format!(
                "switch ({value} & 7) {{ case 0: g0 = 1; break; case 1: g1 = 2; break; case 2: l0 = 3; break; case 3: g2 = 4; break; case 5: put(1); break; }}"
            )),
            _ => self.line(&format!("l1 += {value};")),
        }
    }

    fn block(&mut self, head: &str) {
        self.line(head);
        self.depth += 1;
        for _ in 0..1 + self.random.below(3) {
            self.statement();
        }
        self.depth -= 1;
        self.line("}");
    }
}

/// Returns a source with this many random functions.
pub fn source(seed: u64, functions: u64) -> String {
    let mut writer = Writer {
        random: Random(seed),
        text: format!("{HEAD}{HELPERS}"),
        depth: 0,
    };
    for function in 0..functions {
        writeln!(writer.text, "static void random_{function}(void)\n{{").unwrap();
        writer.line("int l0 = 1, l1 = 2, l2 = 3, k[4] = {4, 5, 6, 7};");
        writer.line("struct four local = {1, 2, 3, 4}; struct pair other = {5, 6};");
        for _ in 0..3 + writer.random.below(6) {
            writer.statement();
        }
        writer.line("g5 += l0 ^ l1 ^ l2 ^ k[0] ^ k[1] ^ k[2] ^ k[3]; w1 = local.c + other.second;");
        writer.text.push_str("}\n");
    }
    writer.text.push_str("void (*const functions[])(void) = {");
    for function in 0..functions {
        write!(writer.text, "random_{function}, ").unwrap();
    }
    writer.text.push_str("0};\n");
    writer.text
}
