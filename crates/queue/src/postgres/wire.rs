//! A connection to a server of PostgreSQL.
//!
//! Messages and authentication are those of the crate `postgres-protocol`. The crates above it, `tokio-postgres` and
//! `postgres`, bring a runtime along, and have no limit of time for a reply.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::{DataRowBody, ErrorResponseBody, Message};
use postgres_protocol::message::frontend;
use postgres_protocol::{IsNull, Oid};

use super::login::Login;
use crate::Address;
use crate::stream::{Stream, refusal, refused};

/// Maximum length of a message; far beyond the replies of the queue.
const MAX_MESSAGE: usize = 256 << 20;

/// A row of a result: its values as text.
pub type Row = Vec<Option<String>>;

/// The problem of a call.
pub enum Problem {
    /// The connection is broken.
    Connection(io::Error),
    /// An error of the server.
    Server { code: String, message: String },
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match refusal(&error) {
            Some(message) => Problem::Server {
                code: String::new(),
                message,
            },
            None => Problem::Connection(error),
        }
    }
}

/// A connection to a server.
pub struct Connection {
    stream: Stream,
    time: Duration,
    received: BytesMut,
    /// Names of the prepared statements.
    prepared: HashSet<&'static str>,
    was_notified: bool,
}

impl Connection {
    /// Connects within this time, which then holds for every wait.
    pub fn open(address: &Address, login: &Login, time: Duration) -> Result<Self, Problem> {
        let mut stream = Stream::connect(&address.host, address.port, time)?;
        if let Some(encryption) = &login.encryption {
            offer_encryption(&mut stream)?;
            stream = stream.encrypt(&address.host, encryption)?;
        }
        let mut connection = Connection {
            stream,
            time,
            received: BytesMut::new(),
            prepared: HashSet::new(),
            was_notified: false,
        };
        connection.log_in(login)?;
        Ok(connection)
    }

    fn log_in(&mut self, login: &Login) -> Result<(), Problem> {
        let parameters = [
            ("user", login.user.as_str()),
            ("database", &login.database),
            ("application_name", "cargo-raddle"),
            ("client_encoding", "UTF8"),
        ];
        self.send(|buffer| frontend::startup_message(parameters, buffer))?;
        let no_password = || Problem::Server {
            code: "28P01".to_owned(),
            message:
                "the server asks for a password: put it into RADDLE_QUEUE, PGPASSWORD or ~/.pgpass"
                    .to_owned(),
        };
        let password = || login.password.clone().ok_or_else(no_password);
        let mut scram = None;
        loop {
            match self.receive()? {
                Message::AuthenticationCleartextPassword => {
                    let password = password()?;
                    self.send(|buffer| frontend::password_message(password.as_bytes(), buffer))?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let (user, password) = (login.user.as_bytes(), password()?);
                    let hash = md5_hash(user, password.as_bytes(), body.salt());
                    self.send(|buffer| frontend::password_message(hash.as_bytes(), buffer))?;
                }
                Message::AuthenticationSasl(body) => {
                    let mut mechanisms = body.mechanisms();
                    let is_known = mechanisms.any(|name| Ok(name == sasl::SCRAM_SHA_256))?;
                    if !is_known {
                        return Err(unknown_authentication());
                    }
                    let binding = sasl::ChannelBinding::unsupported();
                    let new = sasl::ScramSha256::new(password()?.as_bytes(), binding);
                    self.send(|buffer| {
                        frontend::sasl_initial_response(sasl::SCRAM_SHA_256, new.message(), buffer)
                    })?;
                    scram = Some(new);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or_else(unexpected)?;
                    scram.update(body.data())?;
                    self.send(|buffer| frontend::sasl_response(scram.message(), buffer))?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    scram.as_mut().ok_or_else(unexpected)?.finish(body.data())?;
                }
                Message::AuthenticationOk => {}
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(body) => return Err(server_problem(&body)?),
                Message::BackendKeyData(_)
                | Message::ParameterStatus(_)
                | Message::NoticeResponse(_) => {}
                _ => return Err(unknown_authentication()),
            }
        }
    }

    /// Runs statements without parameters, in one transaction.
    pub fn run(&mut self, statements: &str) -> Result<Vec<Row>, Problem> {
        self.send(|buffer| frontend::query(statements, buffer))?;
        self.rows()
    }

    /// Runs a statement, which is prepared under its name when it is first used.
    pub fn call(
        &mut self,
        name: &'static str,
        statement: &str,
        parameters: &[String],
    ) -> Result<Vec<Row>, Problem> {
        let is_new = !self.prepared.contains(name);
        self.send(|buffer| {
            if is_new {
                frontend::parse(name, statement, std::iter::empty::<Oid>(), buffer)?;
            }
            let write = |parameter: &String, buffer: &mut BytesMut| {
                buffer.extend_from_slice(parameter.as_bytes());
                Ok(IsNull::No)
            };
            // Parameters and results are texts.
            let bound = frontend::bind("", name, [0], parameters, write, [0], buffer);
            bound.map_err(|_| io::Error::other("a parameter is too long"))?;
            frontend::execute("", 0, buffer)?;
            frontend::sync(buffer);
            Ok(())
        })?;
        let rows = self.rows()?;
        self.prepared.insert(name);
        Ok(rows)
    }

    /// Waits for a notification for at most this time.
    pub fn wait(&mut self, time: Duration) -> io::Result<()> {
        let end = Instant::now() + time;
        while !self.was_notified {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                break;
            };
            // A time of zero would be no limit.
            self.stream
                .set_read_timeout(left.max(Duration::from_millis(1)))?;
            match self.receive() {
                Ok(Message::ErrorResponse(_)) => {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                Ok(_) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        self.was_notified = false;
        self.stream.set_read_timeout(self.time)
    }

    /// Returns the rows of all results up to the end of the reply.
    fn rows(&mut self) -> Result<Vec<Row>, Problem> {
        let mut rows = Vec::new();
        let mut problem = None;
        loop {
            match self.receive()? {
                Message::DataRow(body) => rows.push(values(&body)?),
                Message::ErrorResponse(body) => problem = Some(server_problem(&body)?),
                Message::ReadyForQuery(_) => break,
                _ => {}
            }
        }
        match problem {
            Some(problem) => Err(problem),
            None => Ok(rows),
        }
    }

    fn send(&mut self, write: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> io::Result<()> {
        let mut buffer = BytesMut::new();
        write(&mut buffer)?;
        self.stream.write_all(&buffer)?;
        self.stream.flush()
    }

    fn receive(&mut self) -> io::Result<Message> {
        loop {
            check_length(&self.received)?;
            if let Some(message) = Message::parse(&mut self.received)? {
                self.was_notified |= matches!(message, Message::NotificationResponse(_));
                return Ok(message);
            }
            let mut chunk = [0; 1 << 14];
            match self.stream.read(&mut chunk)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.received.extend_from_slice(&chunk[..length]),
            }
        }
    }
}

/// Refuses a message that is too long, before the parser reserves memory for the whole of it.
fn check_length(received: &[u8]) -> io::Result<()> {
    let Some(length) = received.get(1..5) else {
        return Ok(());
    };
    let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]);
    match length as usize <= MAX_MESSAGE {
        true => Ok(()),
        false => Err(foreign_protocol()),
    }
}

fn foreign_protocol() -> io::Error {
    let problem = "the server does not speak the protocol of PostgreSQL";
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The server notices without it too.
        let _ = self.send(|buffer| {
            frontend::terminate(buffer);
            Ok(())
        });
    }
}

/// Asks the server for TLS, before anything secret is sent.
fn offer_encryption(stream: &mut Stream) -> io::Result<()> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request)?;
    // No more than the answer: what follows it in clear text is from someone else.
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    match answer {
        [b'S'] => Ok(()),
        _ => Err(refused(
            "the server does not offer TLS, which `sslmode` asks for".to_owned(),
        )),
    }
}

fn values(body: &DataRowBody) -> io::Result<Row> {
    let value = |range: Option<std::ops::Range<usize>>| match range {
        None => Ok(None),
        Some(range) => {
            let bytes = body.buffer().get(range).unwrap_or_default().to_vec();
            let text = String::from_utf8(bytes);
            text.map(Some)
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "bytes that are no text"))
        }
    };
    body.ranges().map(value).collect()
}

fn server_problem(body: &ErrorResponseBody) -> io::Result<Problem> {
    let (mut code, mut message) = (String::new(), String::new());
    let mut fields = body.fields();
    while let Some(field) = fields.next()? {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => code = value,
            b'M' => message = value,
            _ => {}
        }
    }
    Ok(Problem::Server { code, message })
}

fn unknown_authentication() -> Problem {
    Problem::Server {
        code: "28000".to_owned(),
        message: "the server asks for a kind of authentication that is not built in; passwords (scram-sha-256, md5, \
                  password) and trust are"
            .to_owned(),
    }
}

fn unexpected() -> Problem {
    Problem::Connection(foreign_protocol())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// The received bytes of a connection whose server sends these.
    fn receive(sent: &[u8]) -> (io::Result<Message>, BytesMut) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        listener.accept().unwrap().0.write_all(sent).unwrap();
        let mut connection = Connection {
            stream: Stream::Plain(stream),
            time: Duration::from_secs(1),
            received: BytesMut::new(),
            prepared: HashSet::new(),
            was_notified: false,
        };
        let message = connection.receive();
        (message, std::mem::take(&mut connection.received))
    }

    #[test]
    fn memory_is_reserved_only_for_messages_of_a_length_that_may_be() {
        let (message, received) = receive(&[b'D', 0x7f, 0xff, 0xff, 0xff, 0]);
        let error = message.err().expect("it is too long");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(received.capacity() < 1 << 20, "{}", received.capacity());
        // ReadyForQuery.
        let (message, _) = receive(&[b'Z', 0, 0, 0, 5, b'I']);
        assert!(matches!(message, Ok(Message::ReadyForQuery(_))));
    }
}
