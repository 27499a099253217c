//! `select!`, whose order of branches is a choice inside a check.

/// The parts of `select!` that are functions.
pub(crate) mod support {
    pub use std::future::{Future, IntoFuture, poll_fn};
    pub use std::pin::pin;
    pub use std::task::Poll;

    /// Returns the branch that is polled first.
    #[track_caller]
    pub fn first_branch(branches: u32) -> u32 {
        match crate::object::is_controlled() {
            true if branches < 2 => 0,
            true => raddle::choose(0..branches),
            false => real::macros::support::thread_rng_n(branches),
        }
    }

    /// The branch that is ready.
    #[allow(missing_docs, reason = "branches are named by letters")]
    pub enum Ready<A, B = (), C = (), D = (), E = (), F = (), G = (), H = ()> {
        A(A),
        B(B),
        C(C),
        D(D),
        E(E),
        F(F),
        G(G),
        H(H),
        /// No branch can be ready any more.
        Disabled,
    }
}

/// Waits for the first of several futures, as `tokio::select!`; at most eight.
///
/// Inside a check the branch that is polled first is a choice, unless the first word is `biased;`.
#[macro_export]
macro_rules! select {
    (biased; $($rest:tt)*) => {
        $crate::__select!(@start(0) [A 0][B 1][C 2][D 3][E 4][F 5][G 6][H 7]; [] $($rest)*)
    };
    ($($rest:tt)*) => {
        $crate::__select!(@start(first) [A 0][B 1][C 2][D 3][E 4][F 5][G 6][H 7]; [] $($rest)*)
    };
}

/// Reads the branches of `select!`. Not for direct use.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // All branches are read.
    (@start($($start:tt)*) $($names:tt)*) => {
        $crate::__select!(@read ($($start)*) $($names)*)
    };
    (@read $start:tt $([$n:ident $i:tt])*; [$($branch:tt)*]) => {
        $crate::__select!(@expand $start [$($n)*] [$($branch)*]
            (panic!("all branches are disabled and there is no else branch")))
    };
    (@read $start:tt $([$n:ident $i:tt])*; [$($branch:tt)*] else => $else:expr $(,)?) => {
        $crate::__select!(@expand $start [$($n)*] [$($branch)*] ($else))
    };
    // A branch with a block, with or without a comma after it.
    (@read $start:tt [$n:ident $i:tt] $($names:tt)*) => {
        $crate::__select!(@branch $start [$n $i] $($names)*)
    };
    (@branch $start:tt $name:tt $([$n:ident $i:tt])*; [$($branch:tt)*]
        $pattern:pat = $future:expr, if $if:expr => $handler:block, $($rest:tt)*) => {
        $crate::__select!(@read $start $([$n $i])*;
            [$($branch)* {$name ($pattern) ($future) ($if) ($handler)}] $($rest)*)
    };
    (@branch $start:tt $name:tt $([$n:ident $i:tt])*; [$($branch:tt)*]
        $pattern:pat = $future:expr => $handler:block, $($rest:tt)*) => {
        $crate::__select!(@read $start $([$n $i])*;
            [$($branch)* {$name ($pattern) ($future) (true) ($handler)}] $($rest)*)
    };
    (@branch $start:tt $name:tt $([$n:ident $i:tt])*; [$($branch:tt)*]
        $pattern:pat = $future:expr, if $if:expr => $handler:block $($rest:tt)*) => {
        $crate::__select!(@read $start $([$n $i])*;
            [$($branch)* {$name ($pattern) ($future) ($if) ($handler)}] $($rest)*)
    };
    (@branch $start:tt $name:tt $([$n:ident $i:tt])*; [$($branch:tt)*]
        $pattern:pat = $future:expr => $handler:block $($rest:tt)*) => {
        $crate::__select!(@read $start $([$n $i])*;
            [$($branch)* {$name ($pattern) ($future) (true) ($handler)}] $($rest)*)
    };
    // A branch with an expression.
    (@branch $start:tt $name:tt $([$n:ident $i:tt])*; [$($branch:tt)*]
        $pattern:pat = $future:expr, if $if:expr => $handler:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@read $start $([$n $i])*;
            [$($branch)* {$name ($pattern) ($future) ($if) ($handler)}] $($($rest)*)?)
    };
    (@branch $start:tt $name:tt $([$n:ident $i:tt])*; [$($branch:tt)*]
        $pattern:pat = $future:expr => $handler:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@read $start $([$n $i])*;
            [$($branch)* {$name ($pattern) ($future) (true) ($handler)}] $($($rest)*)?)
    };
    (@infer $name:ident) => { _ };
    (@none $name:ident) => { () };
    (@first 0 $count:expr) => { 0 };
    (@first first $count:expr) => { $crate::__private::first_branch($count) };
    (@expand ($start:tt) [$($left:ident)*]
        [$({[$name:ident $index:tt] ($pattern:pat) ($future:expr) ($if:expr) ($handler:expr)})*]
        ($else:expr)) => {{
        #[allow(non_snake_case, reason = "branches are named by letters")]
        let ready: $crate::__private::Ready<
            $($crate::__select!(@infer $name),)*
            $($crate::__select!(@none $left),)*
        > = {
            // Conditions first, then futures, as tokio does. A disabled future is not polled.
            let mut enabled = [$($if),*];
            $(let mut $name = $crate::__private::pin!(
                $crate::__private::IntoFuture::into_future($future));)*
            let count = enabled.len() as u32;
            $crate::__private::poll_fn(|context| {
                let start: u32 = $crate::__select!(@first $start count);
                let mut is_pending = false;
                for offset in 0..count {
                    match (start + offset) % count {
                        $($index => if enabled[$index] {
                            match $crate::__private::Future::poll($name.as_mut(), context) {
                                $crate::__private::Poll::Pending => is_pending = true,
                                $crate::__private::Poll::Ready(output) => {
                                    enabled[$index] = false;
                                    #[allow(unused_variables, unused_mut, reason = "of the pattern")]
                                    let matches = match &output {
                                        $pattern => true,
                                        #[allow(unreachable_patterns, reason = "of the pattern")]
                                        _ => false,
                                    };
                                    if matches {
                                        return $crate::__private::Poll::Ready(
                                            $crate::__private::Ready::$name(output));
                                    }
                                }
                            }
                        })*
                        _ => unreachable!(),
                    }
                }
                match is_pending {
                    true => $crate::__private::Poll::Pending,
                    false => $crate::__private::Poll::Ready($crate::__private::Ready::Disabled),
                }
            })
            .await
        };
        #[allow(unreachable_patterns, reason = "a pattern may be irrefutable")]
        match ready {
            $($crate::__private::Ready::$name($pattern) => $handler,)*
            $crate::__private::Ready::Disabled => $else,
            _ => unreachable!(),
        }
    }};
}
