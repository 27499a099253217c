//! Messages between processes that share a search, and replies of the server with the queue.

use raddle_report::exchange::{FromCheck, ToCheck};

/// Reads messages of a check, messages to one, and a reply of a server.
pub fn message(data: &[u8]) {
    if let Ok(Some(message)) = FromCheck::read(&mut &*data) {
        let mut written = Vec::new();
        message.write(&mut written).expect("memory can be written");
        let again = FromCheck::read(&mut &written[..]);
        assert_eq!(again.expect("it was written"), Some(message));
    }
    if let Ok(Some(message)) = ToCheck::read(&mut &*data) {
        let mut written = Vec::new();
        message.write(&mut written).expect("memory can be written");
        let again = ToCheck::read(&mut &written[..]);
        assert_eq!(again.expect("it was written"), Some(message));
    }
    raddle_queue::read_reply(data);
}
