//! Connections to servers, encrypted or not.

#[cfg(feature = "tls")]
mod tls;

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A connection to a server.
pub enum Stream {
    Plain(TcpStream),
    #[cfg(feature = "tls")]
    Encrypted(Box<tls::Encrypted>),
}

/// The verification of an encrypted connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// Any certificate is accepted.
    None,
    /// The certificate is signed by a known authority, for any host.
    Authority,
    /// The certificate is signed by a known authority for the host of the address.
    Host,
}

/// The encryption of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    pub verification: Verification,
    /// The file with the certificates of known authorities; without one, those of the system.
    pub authorities: Option<String>,
}

impl Stream {
    /// Connects within this time, which then holds for every wait.
    pub fn connect(host: &str, port: u16, time: Duration) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, time) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(time))?;
                    stream.set_write_timeout(Some(time))?;
                    return Ok(Stream::Plain(stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Encrypts the connection from now on. An error with a text of [`refusal`] will not go away.
    #[cfg(feature = "tls")]
    pub fn encrypt(self, host: &str, encryption: &Encryption) -> io::Result<Self> {
        let Stream::Plain(stream) = self else {
            unreachable!("it is encrypted once");
        };
        let encrypted = tls::encrypt(stream, host, encryption)?;
        Ok(Stream::Encrypted(Box::new(encrypted)))
    }

    /// Refuses: the addresses of this build have no encryption.
    #[cfg(not(feature = "tls"))]
    pub fn encrypt(self, _host: &str, _encryption: &Encryption) -> io::Result<Self> {
        Err(refused(
            "this `cargo raddle` was built without TLS: install it with its feature `tls`"
                .to_owned(),
        ))
    }

    pub fn set_read_timeout(&self, time: Duration) -> io::Result<()> {
        let stream = match self {
            Stream::Plain(stream) => stream,
            #[cfg(feature = "tls")]
            Stream::Encrypted(encrypted) => encrypted.get_ref(),
        };
        stream.set_read_timeout(Some(time))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self {
            Stream::Plain(stream) => stream.read(buffer),
            #[cfg(feature = "tls")]
            Stream::Encrypted(encrypted) => encrypted.read(buffer),
        };
        read.map_err(|error| match error.kind() {
            // The text of the system is about the descriptor.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                io::Error::new(io::ErrorKind::TimedOut, "the server does not answer")
            }
            _ => error,
        })
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.write(bytes),
            #[cfg(feature = "tls")]
            Stream::Encrypted(encrypted) => encrypted.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.flush(),
            #[cfg(feature = "tls")]
            Stream::Encrypted(encrypted) => encrypted.flush(),
        }
    }
}

/// The reason of an error that another attempt will not remove.
#[derive(Debug)]
struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Returns an error that another attempt will not remove.
pub fn refused(reason: String) -> io::Error {
    io::Error::other(Refused(reason))
}

/// Returns the reason of such an error; `None` for others.
pub fn refusal(error: &io::Error) -> Option<String> {
    let inner = error.get_ref()?.downcast_ref::<Refused>()?;
    Some(inner.0.clone())
}
