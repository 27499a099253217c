//! Selections outside a check: the forms that the macro accepts, and the alternative that is
//! chosen.

use std::rc::Rc;
use std::sync::Mutex;
use std::thread;

use super::{Port, Sender};

struct Server {
    deposit: Port<u32>,
    requests: Vec<Port<&'static str>>,
    balance: u32,
}

impl Server {
    fn new() -> Self {
        Server {
            deposit: Port::asynchronous(),
            requests: vec![Port::asynchronous(), Port::asynchronous()],
            balance: 0,
        }
    }

    fn change(&mut self, by: u32) -> u32 {
        self.balance += by;
        self.balance
    }

    /// Ports may be fields and elements; bodies may use what the ports are part of.
    fn serve(&mut self) -> Result<u32, &'static str> {
        let balance = crate::select! {
            amount = self.deposit.receive() => self.change(amount),
            request = self.requests[1].receive(), when self.requests.len() > 1 => {
                self.balance = 0;
                Err(request)?
            }
        };
        Ok(balance)
    }
}

#[test]
fn the_value_is_that_of_the_body() {
    let mut server = Server::new();
    let (deposit, request) = (server.deposit.sender(), server.requests[1].sender());
    deposit.send(3);
    request.send("close");
    assert_eq!(server.serve(), Ok(3));
    assert_eq!(server.serve(), Err("close"));
    assert_eq!(server.balance, 0);
}

#[test]
fn the_message_that_came_first_decides() {
    let (numbers, words) = (Port::asynchronous(), Port::asynchronous());
    let (number, word) = (numbers.sender(), words.sender());
    word.send("a");
    number.send(1);
    number.send(2);
    word.send("b");
    let next = || {
        crate::select! {
            number = numbers.receive() => format!("{number}"),
            word = words.receive() => word.to_owned(),
        }
    };
    assert_eq!([(); 4].map(|()| next()), ["a", "1", "2", "b"]);
}

#[test]
fn a_closed_alternative_is_not_taken_and_its_port_not_looked_up() {
    let ports: Vec<_> = (0..2).map(|_| Port::asynchronous()).collect();
    ports[0].sender().send(0);
    ports[1].sender().send(1);
    let mut asked = Vec::new();
    let mut ask = |number, answer| {
        asked.push(number);
        answer
    };
    let taken = crate::select! {
        message = ports[0].receive(), when ask(0, false) => message,
        message = ports[7].receive(), when ask(7, false) => message,
        message = ports[1].receive(), when ask(1, true) => message,
    };
    assert_eq!((taken, asked), (1, vec![0, 7, 1]));
}

#[test]
fn bodies_may_leave_what_is_around_the_selection() {
    let (port, stop) = (Port::asynchronous(), Port::asynchronous());
    (0..5).for_each(|number| port.sender().send(number));
    stop.sender().send(());
    let mut odd = Vec::new();
    let reason = loop {
        crate::select! {
            number = port.receive() => {
                if number % 2 == 0 {
                    continue;
                }
                odd.push(number);
            }
            () = stop.receive() => break "stopped",
        }
    };
    assert_eq!((reason, odd), ("stopped", vec![1, 3]));
    let leave = || {
        crate::select! {
            _ = port.receive() => return 1,
            _ = stop.receive() => (),
        }
        2
    };
    port.sender().send(0);
    assert_eq!(leave(), 1);
}

#[test]
fn patterns_take_messages_apart_and_messages_are_moved() {
    let (pairs, boxes) = (Port::asynchronous(), Port::<Box<u32>>::asynchronous());
    pairs.sender().send((String::from("a"), [1, 2]));
    boxes.sender().send(Box::new(5));
    let mut total = Vec::new();
    for _ in 0..2 {
        crate::select! {
            (name, [_, mut number]) = pairs.receive() => {
                number += 1;
                total.push(format!("{name}{number}"))
            }
            owned = boxes.receive() => total.push(owned.to_string()),
        }
    }
    assert_eq!(total, ["a3", "5"]);
}

#[test]
fn ports_may_be_behind_pointers() {
    let shared = Rc::new(Port::<u32>::asynchronous());
    let locked = Mutex::new(Port::asynchronous());
    let guard = locked.lock().unwrap();
    guard.sender().send(1);
    let reference = &&shared;
    let taken = crate::select! {
        number = reference.receive() => number + 10,
        number = guard.receive() => number,
    };
    assert_eq!(taken, 1);
}

#[test]
fn many_alternatives() {
    struct Many {
        ports: [Port<usize>; 12],
    }
    let many = Many {
        ports: std::array::from_fn(|_| Port::asynchronous()),
    };
    for sent in 0..12 {
        many.ports[sent].sender().send(sent);
        let (place, number) = crate::select! {
            number = many.ports[0].receive() => (0, number),
            number = many.ports[1].receive(), when sent < 20 => (1, number),
            number = many.ports[2].receive() => { (2, number) }
            number = many.ports[3].receive() => (3, number),
            number = many.ports[4].receive() => (4, number),
            number = many.ports[5].receive() => (5, number),
            number = many.ports[6].receive() => (6, number),
            number = many.ports[7].receive() => (7, number),
            number = many.ports[8].receive() => { (8, number) },
            number = many.ports[9].receive() => (9, number),
            number = many.ports[10].receive(), when true => (10, number),
            number = many.ports[11].receive() => (11, number)
        };
        assert_eq!((place, number), (sent, sent));
    }
}

#[test]
#[should_panic(expected = "no alternative of a select! is open")]
fn nothing_open_is_refused() {
    let port = Port::<()>::asynchronous();
    crate::select! { () = port.receive(), when false => {} }
}

#[test]
#[should_panic(expected = "two open alternatives of a select! are for the same port")]
fn the_same_port_twice_is_refused() {
    let port = Port::<()>::asynchronous();
    crate::select! {
        () = port.receive() => {}
        () = port.receive() => {}
    }
}

#[test]
fn a_port_may_come_twice_if_only_one_is_open() {
    let port = Port::asynchronous();
    port.sender().send(1);
    let first = false;
    let taken = crate::select! {
        number = port.receive(), when first => number,
        number = port.receive(), when !first => -number,
    };
    assert_eq!(taken, -1);
}

/// Checks that a selection without a message sleeps, and wakes up for a send to any of its ports.
#[test]
fn a_selection_waits_for_any_of_its_ports() {
    let (left, right) = (Port::synchronous(), Port::bounded(1));
    thread::scope(|scope| {
        let (to_left, to_right) = (left.sender(), right.sender());
        scope.spawn(move || (0..500).for_each(|number| to_left.send(number)));
        scope.spawn(move || (0..500).for_each(|number| to_right.send(number)));
        let mut next = [0, 0];
        for _ in 0..1000 {
            let (side, number) = crate::select! {
                number = left.receive() => (0, number),
                number = right.receive() => (1, number),
            };
            assert_eq!(number, next[side]);
            next[side] += 1;
        }
    });
}

#[test]
fn ends_may_go_where_std_s_may() {
    fn can_be_sent<T: Send>() {}
    fn can_be_shared<T: Sync>() {}
    can_be_sent::<Port<std::cell::Cell<u32>>>();
    can_be_sent::<Sender<std::cell::Cell<u32>>>();
    can_be_shared::<Sender<std::cell::Cell<u32>>>();
}
