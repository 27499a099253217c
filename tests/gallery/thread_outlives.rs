use raddle::port::Port;
use raddle::thread;

pub fn forgotten() {
    let port = Port::<u32>::asynchronous();
    let sender = port.sender();
    thread::spawn(move || {
        loop {
            port.receive();
        }
    });
    sender.send(1);
}
