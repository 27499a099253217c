//! Waiting at several ports at once: the macro and its expansion.

use super::Port;

#[cfg(feature = "check")]
use super::controlled::{Alternative, first_of};
#[cfg(not(feature = "check"))]
use crate::plain::port::Alternative;

/// Waits until one of several ports has a message, and runs the body of that port.
///
/// ```
/// use raddle::port::Port;
///
/// let (numbers, stop) = (Port::asynchronous(), Port::asynchronous());
/// numbers.sender().send(7);
/// let stopped = true;
/// let text = raddle::select! {
///     number = numbers.receive() => format!("{number}"),
///     () = stop.receive(), when !stopped => return,
/// };
/// assert_eq!(text, "7");
/// # stop.sender().send(());
/// ```
///
/// An alternative is `pattern = port.receive() => body`, with `, when guard` behind the receive if
/// it is not always open. Bodies are as in a `match`: a block, or an expression and a comma. The
/// value of the selection is that of the body that was run, and `break`, `continue`, `return` and
/// `?` in a body mean what they mean around the selection.
///
/// Guards are evaluated once and in order, before any wait; the port expression of a closed
/// alternative is not evaluated. Among open alternatives the message that arrived first decides.
/// Inside a check, any sent message may have arrived first, and all of them are explored.
///
/// # Panics
///
/// If no alternative is open, because the wait could never end. If two alternatives are open for
/// the same port, because nothing could choose between them.
#[macro_export]
macro_rules! select {
    ($($alternatives:tt)+) => {
        $crate::__select!(@pattern [] $($alternatives)+)
    };
}

/// Parses the alternatives one by one, then combines them. Each gets a name for its port; the names
/// look the same and are different, because each comes from a separate expansion.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@pattern [$($read:tt)+]) => {
        $crate::__select!(@whole $($read)+)
    };
    (@pattern $read:tt $pattern:pat = $($rest:tt)*) => {
        $crate::__select!(@port $read [$pattern] [] $($rest)*)
    };

    (@port $read:tt $pattern:tt [$($port:tt)+] .receive(), when $guard:expr => $($rest:tt)*) => {
        $crate::__select!(@body $read $pattern [$($port)+] [$guard] $($rest)*)
    };
    (@port $read:tt $pattern:tt [$($port:tt)+] .receive() => $($rest:tt)*) => {
        $crate::__select!(@body $read $pattern [$($port)+] [true] $($rest)*)
    };
    (@port $read:tt $pattern:tt $port:tt => $($rest:tt)*) => {
        $crate::__select!(@wrong)
    };
    (@port $read:tt $pattern:tt [$($port:tt)+] . $field:tt $($rest:tt)*) => {
        $crate::__select!(@port $read $pattern [$($port)+ . $field] $($rest)*)
    };
    (@port $read:tt $pattern:tt [$($port:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__select!(@port $read $pattern [$($port)* $next] $($rest)*)
    };

    (@body [$($read:tt)*] $pattern:tt $port:tt $guard:tt $body:block, $($rest:tt)*) => {
        $crate::__select!(@pattern [$($read)* (port $pattern $port $guard [$body])] $($rest)*)
    };
    (@body [$($read:tt)*] $pattern:tt $port:tt $guard:tt $body:block $($rest:tt)*) => {
        $crate::__select!(@pattern [$($read)* (port $pattern $port $guard [$body])] $($rest)*)
    };
    (@body [$($read:tt)*] $pattern:tt $port:tt $guard:tt $body:expr, $($rest:tt)*) => {
        $crate::__select!(@pattern [$($read)* (port $pattern $port $guard [$body])] $($rest)*)
    };
    (@body [$($read:tt)*] $pattern:tt $port:tt $guard:tt $body:expr) => {
        $crate::__select!(@pattern [$($read)* (port $pattern $port $guard [$body])])
    };

    // The message is taken in a separate statement, so that nothing is borrowed in the body.
    (@whole $(($name:ident [$pattern:pat] [$($port:tt)+] [$guard:expr] [$body:expr]))+) => {{
        let taken = match ($(
            if $guard {
                ::core::option::Option::Some($($port)+.__this())
            } else {
                ::core::option::Option::None
            },
        )+) {
            ($($name,)+) => {
                #[allow(unused_mut, reason = "a single alternative need not ask")]
                let mut chosen = $crate::port::__select::wait(&[
                    $($crate::port::__select::open($name)),+
                ]);
                $crate::__select!(@take chosen $($name)+)
            }
        };
        $crate::__select!(@run taken $([$pattern] [$body])+)
    }};

    (@take $chosen:ident $port:ident) => {
        $chosen.take($port)
    };
    (@take $chosen:ident $port:ident $($rest:ident)+) => {
        if $chosen.is_this() {
            $crate::port::__select::Taken::This($chosen.take($port))
        } else {
            $crate::port::__select::Taken::Later($crate::__select!(@take $chosen $($rest)+))
        }
    };

    (@run $message:ident [$pattern:pat] [$body:expr]) => {
        match $message {
            $pattern => $body,
        }
    };
    (@run $taken:ident $pattern:tt $body:tt $($rest:tt)+) => {
        match $taken {
            $crate::port::__select::Taken::This(message) => {
                $crate::__select!(@run message $pattern $body)
            }
            $crate::port::__select::Taken::Later(taken) => $crate::__select!(@run taken $($rest)+),
        }
    };

    ($($wrong:tt)*) => {
        compile_error!(
            "an alternative of `select!` is `pattern = port.receive() => body`, or \
             `pattern = port.receive(), when guard => body`"
        )
    };
}

/// The message of the chosen alternative: this one, or one of those after it.
pub enum Taken<This, Later> {
    /// This alternative.
    This(This),
    /// One of those after it.
    Later(Later),
}

/// An alternative, if it is open.
pub struct Open<'a>(Option<&'a dyn Alternative>);

/// Returns the alternative of this port, if it is open.
pub fn open<T>(port: Option<&Port<T>>) -> Open<'_> {
    Open(port.map(|port| port as &dyn Alternative))
}

/// The alternative that was chosen.
pub struct Chosen {
    /// Number of alternatives before it.
    before: usize,
    /// Number of its message.
    message: u32,
}

/// Waits until one of the open alternatives has a message.
#[track_caller]
pub fn wait(alternatives: &[Open<'_>]) -> Chosen {
    let mut positions = Vec::with_capacity(alternatives.len());
    let mut ports = Vec::with_capacity(alternatives.len());
    for (position, alternative) in alternatives.iter().enumerate() {
        let Some(port) = alternative.0 else { continue };
        assert!(
            ports
                .iter()
                .all(|&other: &&dyn Alternative| other.address() != port.address()),
            "raddle: two open alternatives of a select! are for the same port; have one, and look at \
             the message in its body"
        );
        positions.push(position);
        ports.push(port);
    }
    assert!(
        !ports.is_empty(),
        "raddle: no alternative of a select! is open, so it would wait for ever: every `when` guard \
         is false"
    );
    let (position, message) = first_of(&ports);
    Chosen {
        before: positions[position],
        message,
    }
}

/// Returns the position of the port whose next message is to be taken.
#[cfg(not(feature = "check"))]
fn first_of(ports: &[&dyn Alternative]) -> (usize, u32) {
    (crate::plain::port::first_of(ports), 0)
}

impl Chosen {
    /// True when it is the first of those that this method was not called for.
    pub fn is_this(&mut self) -> bool {
        let this = self.before == 0;
        self.before = self.before.saturating_sub(1);
        this
    }

    /// Returns its message.
    #[track_caller]
    pub fn take<T>(&self, port: Option<&Port<T>>) -> T {
        port.expect("only what is open is chosen")
            .__take(self.message)
    }
}
