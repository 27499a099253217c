//! Reading from descriptors and writing to them.

use std::ffi::{c_int, c_uint, c_void};

use super::{DescriptorKind, Way, kind, operate};
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::abi::trampoline::departing;
use crate::execution::shadow_stack;
use crate::host::system::outcome;
use crate::host::{mode, phase};
use crate::process::{harness, output, rust_panics};
use crate::threads::interpose::system_calls;
use crate::threads::{interrupts, signals};

type Bytes = *mut c_void;
type Pieces = GuestPtr<libc::iovec>;
type Message = *mut libc::msghdr;

/// Bytes that are written to a pipe in one step, if it has any free space (`PIPE_BUF`).
const STEP: usize = 4096;

/// Writes all bytes, one step at a time, as a blocking descriptor does.
fn write_all(
    descriptor: c_int,
    from: Bytes,
    size: usize,
    code: usize,
    write: impl Fn(Bytes, usize) -> isize,
) -> Result<isize, c_int> {
    if !matches!(kind(descriptor), DescriptorKind::Inside(_)) || super::is_nonblocking(descriptor) {
        return operate(descriptor, Way::Out, false, code, || {
            outcome(write(from, size))
        });
    }
    let mut written = 0;
    loop {
        let step = (size - written).min(STEP);
        let rest = from.wrapping_byte_add(written);
        let result = operate(descriptor, Way::Out, false, code, || {
            outcome(write(rest, step))
        });
        match result {
            Ok(count) => written += count as usize,
            Err(error) if written == 0 => return Err(error),
            Err(_) => return Ok(written as isize),
        }
        if written >= size {
            return Ok(written as isize);
        }
    }
}

/// True if the output is not shown.
fn is_hidden(descriptor: c_int, pieces: &[libc::iovec]) -> bool {
    match descriptor {
        libc::STDOUT_FILENO if phase::is_test() => {
            output::print(&bytes(pieces));
            true
        }
        libc::STDERR_FILENO => rust_panics::prints(&bytes(pieces)) || !output::is_shown(),
        _ => false,
    }
}

/// Returns the bytes that the program writes.
fn bytes(pieces: &[libc::iovec]) -> Vec<u8> {
    pieces.iter().flat_map(piece_bytes).collect()
}

fn piece_bytes(piece: &libc::iovec) -> Vec<u8> {
    // SAFETY: `write` and `writev` demand of their caller that the pieces can be read, and the program has
    // called one of them with this one.
    let start = unsafe { GuestPtr::new(piece.iov_base.cast::<u8>()) };
    start.to_vec(piece.iov_len)
}

fn is_at_once(flags: c_int) -> bool {
    flags & libc::MSG_DONTWAIT != 0
}

departing! {
    fn write(descriptor: c_int, from: Bytes, size: usize) -> isize as on_write("rcx");
}

extern "C" fn on_write(descriptor: c_int, from: Bytes, size: usize, code: usize) -> isize {
    let piece = libc::iovec {
        iov_base: from,
        iov_len: size,
    };
    if !mode::is_guest() || shadow_stack::is_ours(code) {
        if phase::is_harness_main() && descriptor == libc::STDOUT_FILENO {
            output::add_harness_output(&piece_bytes(&piece));
            if output::has_passed() {
                harness::exit(0);
            }
            return size as isize;
        }
        let descriptor = output::of_messages(descriptor);
        return forward!(fn write(descriptor: c_int, from: Bytes, size: usize) -> isize);
    }
    let code = shadow_stack::users(code);
    let result = mode::host(move || {
        if is_hidden(descriptor, &[piece]) {
            return Ok(size as isize);
        }
        interrupts::scheduling_point(code);
        if !interrupts::cancellation_point(code) {
            return Ok(0);
        }
        let write =
            |from, size| forward!(fn write(descriptor: c_int, from: Bytes, size: usize) -> isize);
        let result = write_all(descriptor, from, size, code, write);
        if result == Err(libc::EPIPE) {
            signals::raise(libc::SIGPIPE, code);
        }
        result
    });
    result.unwrap_or_else(|error| {
        mode::set_errno(error);
        -1
    })
}

system_calls! {
    fn read(descriptor: c_int, to: Bytes, size: usize) -> isize as on_read("rcx") code {
        operate(descriptor, Way::In, false, code, || {
            outcome(forward!(fn read(descriptor: c_int, to: Bytes, size: usize) -> isize))
        })
    }

    fn __read_chk(descriptor: c_int, to: Bytes, size: usize, room: usize) -> isize
        as on_checked_read("r8") code {
        operate(descriptor, Way::In, false, code, || {
            outcome(forward!(fn __read_chk(descriptor: c_int, to: Bytes, size: usize, room: usize) -> isize))
        })
    }

    fn readv(descriptor: c_int, to: Pieces, count: c_int) -> isize as on_readv("rcx") code {
        operate(descriptor, Way::In, false, code, || {
            outcome(forward!(fn readv(descriptor: c_int, to: Pieces, count: c_int) -> isize))
        })
    }

    fn writev(descriptor: c_int, from: Pieces, count: c_int) -> isize as on_writev("rcx") code {
        if let (libc::STDOUT_FILENO | libc::STDERR_FILENO, Ok(count @ 1..)) =
            (descriptor, usize::try_from(count))
        {
            let pieces = from.to_vec(count);
            if is_hidden(descriptor, &pieces) {
                return Ok(pieces.iter().map(|piece| piece.iov_len as isize).sum());
            }
        }
        operate(descriptor, Way::Out, false, code, || {
            outcome(forward!(fn writev(descriptor: c_int, from: Pieces, count: c_int) -> isize))
        })
    }

    fn recv(socket: c_int, to: Bytes, size: usize, flags: c_int) -> isize as on_recv("r8") code {
        operate(socket, Way::In, is_at_once(flags), code, || {
            outcome(forward!(fn recv(socket: c_int, to: Bytes, size: usize, flags: c_int) -> isize))
        })
    }

    fn __recv_chk(socket: c_int, to: Bytes, size: usize, room: usize, flags: c_int) -> isize
        as on_checked_recv("r9") code {
        operate(socket, Way::In, is_at_once(flags), code, || {
            outcome(forward!(fn __recv_chk(
                socket: c_int, to: Bytes, size: usize, room: usize, flags: c_int
            ) -> isize))
        })
    }

    fn recvfrom(
        socket: c_int, to: Bytes, size: usize, flags: c_int, peer: Bytes, peer_size: Bytes
    ) -> isize as on_recvfrom("rax") code {
        operate(socket, Way::In, is_at_once(flags), code, || {
            outcome(forward!(fn recvfrom(
                socket: c_int, to: Bytes, size: usize, flags: c_int, peer: Bytes, peer_size: Bytes
            ) -> isize))
        })
    }

    fn sendto(
        socket: c_int, from: Bytes, size: usize, flags: c_int, peer: Bytes, peer_size: c_uint
    ) -> isize as on_sendto("rax") code {
        let flags = flags | libc::MSG_NOSIGNAL;
        operate(socket, Way::Out, is_at_once(flags), code, || {
            outcome(forward!(fn sendto(
                socket: c_int, from: Bytes, size: usize, flags: c_int, peer: Bytes, peer_size: c_uint
            ) -> isize))
        })
    }

    fn recvmsg(socket: c_int, to: Message, flags: c_int) -> isize as on_recvmsg("rcx") code {
        operate(socket, Way::In, is_at_once(flags), code, || {
            outcome(forward!(fn recvmsg(socket: c_int, to: Message, flags: c_int) -> isize))
        })
    }

    fn send(socket: c_int, from: Bytes, size: usize, flags: c_int) -> isize as on_send("r8") code {
        let flags = flags | libc::MSG_NOSIGNAL;
        if is_at_once(flags) {
            return operate(socket, Way::Out, true, code, || {
                outcome(forward!(fn send(socket: c_int, from: Bytes, size: usize, flags: c_int) -> isize))
            });
        }
        write_all(socket, from, size, code, |from, size| {
            forward!(fn send(socket: c_int, from: Bytes, size: usize, flags: c_int) -> isize)
        })
    }

    fn sendmsg(socket: c_int, from: Message, flags: c_int) -> isize as on_sendmsg("rcx") code {
        let flags = flags | libc::MSG_NOSIGNAL;
        operate(socket, Way::Out, is_at_once(flags), code, || {
            outcome(forward!(fn sendmsg(socket: c_int, from: Message, flags: c_int) -> isize))
        })
    }

    fn waitpid(child: libc::pid_t, status: *mut c_int, flags: c_int) -> libc::pid_t
        as on_waitpid("rcx") _code {
        let ended = forward!(fn waitpid(
            child: libc::pid_t, status: *mut c_int, flags: c_int
        ) -> libc::pid_t);
        outcome(ended as isize)
    }

    fn wait(status: *mut c_int) -> libc::pid_t as on_wait("rsi") _code {
        outcome(forward!(fn wait(status: *mut c_int) -> libc::pid_t) as isize)
    }

    fn eventfd_read(descriptor: c_int, to: Bytes) -> c_int as on_event("rdx") code {
        operate(descriptor, Way::In, false, code, || {
            outcome(forward!(fn eventfd_read(descriptor: c_int, to: Bytes) -> c_int) as isize)
        })
    }

    fn eventfd_write(descriptor: c_int, value: u64) -> c_int as on_add("rdx") code {
        operate(descriptor, Way::Out, false, code, || {
            outcome(forward!(fn eventfd_write(descriptor: c_int, value: u64) -> c_int) as isize)
        })
    }
}
