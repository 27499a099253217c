//! A proxy on the loopback device that cuts connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

/// The connections to a server, both ends of each.
type Streams = Arc<Mutex<Vec<(TcpStream, TcpStream)>>>;

/// Passes bytes on to a server. Runs until the process ends.
pub struct Proxy {
    port: u16,
    streams: Streams,
    is_cutting: Arc<AtomicBool>,
    /// Number of bytes passed on, both ways.
    bytes: Arc<AtomicU64>,
}

impl Proxy {
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy {
            port: listener.local_addr().unwrap().port(),
            streams: Arc::default(),
            is_cutting: Arc::new(AtomicBool::new(true)),
            bytes: Arc::default(),
        };
        let (streams, bytes) = (Arc::clone(&proxy.streams), Arc::clone(&proxy.bytes));
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let bytes = Arc::clone(&bytes);
                    thread::spawn(move || pass(from, to, &bytes));
                }
                streams.lock().unwrap().push((client, server));
            }
        });
        proxy
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Cuts all connections, some of them between a command and its reply. Returns their number.
    pub fn cut(&mut self) -> usize {
        let streams = std::mem::take(&mut *self.streams.lock().unwrap());
        if !self.is_cutting.load(Relaxed) {
            return 0;
        }
        for (client, server) in &streams {
            // The server gets what was sent, and its reply has nowhere to go.
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Write);
        }
        streams.len()
    }

    pub fn stop_cutting(&self) {
        self.is_cutting.store(false, Relaxed);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, bytes: &AtomicU64) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        bytes.fetch_add(length as u64, Relaxed);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
