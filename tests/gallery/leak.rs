use raddle::port::Port;
use raddle::thread;

pub fn sends_too_much() {
    let port = Port::asynchronous();
    let sender = port.sender();
    let producer = thread::spawn(move || (1..=2).for_each(|number| sender.send(number)));
    assert_eq!(port.receive(), 1);
    producer.join().unwrap();
}
