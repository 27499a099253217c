//! The text of failures among messages, word for word; each replays to the same failure.
//!
//! The programs stand at the top, so that their line numbers stay what the stories say.

use raddle::port::Port;
use raddle::sync::mpsc::{self, TryRecvError};
use raddle::{Checker, Strategy, thread};

fn nobody_answers() {
    let (questions, answers) = (Port::asynchronous(), Port::<u32>::asynchronous());
    let ask = questions.sender();
    let asking = move || {
        ask.send("why?");
        answers.receive()
    };
    let asker = thread::Builder::new().name("asker".into()).spawn(asking);
    questions.receive();
    asker.unwrap().join().unwrap();
}

fn nobody_listens() {
    let (left, right) = (Port::synchronous(), Port::<()>::synchronous());
    let third = Port::<()>::bounded(1);
    let sender = Port::synchronous().sender();
    thread::spawn(move || sender.send(1));
    raddle::select! {
        () = left.receive() => {}
        () = right.receive() => {}
        () = third.receive(), when false => {}
    }
}

fn looks_too_early() {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let thread = thread::spawn(move || other.send(1).unwrap());
    drop(sender);
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    thread.join().unwrap();
}

fn too_many() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let other = sender.clone();
    thread::spawn(move || other.send(1).unwrap());
    sender.send(2).unwrap();
    sender.send(3).unwrap();
    drop(receiver);
}

fn nobody_comes() {
    let (sender, receiver) = mpsc::sync_channel::<u32>(0);
    let _keeps_it_open = sender.clone();
    thread::spawn(move || assert!(receiver.recv().is_ok()));
    drop(sender);
    let (sender, _receiver) = mpsc::sync_channel(0);
    sender.send(1).unwrap();
}

fn story(program: fn()) -> String {
    let checker = Checker::new().strategy(Strategy::Exhaustive).named("it");
    let report = checker.run(program);
    let failure = &report.failures[0];
    let again = Checker::new().strategy(Strategy::Replay(failure.schedule.clone()));
    assert_eq!(again.run(program).failures[0].message, failure.message);
    raddle_tests::told(failure)
}

#[test]
fn a_receive_that_nobody_sends_to() {
    assert_eq!(
        story(nobody_answers),
        "\
deadlock after 1 execution (exhaustive)

  main waits at tests/tests/telling/message_stories.rs:18 for asker to end
  asker waits at tests/tests/telling/message_stories.rs:14 for a message from Port `answers`

   step │ main                                    │ asker
      1 │ spawn asker :16                         │
      2 │                                         │ send to questions :13
      3 │ receive from questions (from asker) :17 │
      4 │ ⏳ join asker :18                       │
      5 │                                         │ ⏳ receive from answers :14

  questions was made at tests/tests/telling/message_stories.rs:10
  answers was made at tests/tests/telling/message_stories.rs:10

  replay: RADDLE_REPLAY=[main: begin, spawn asker; asker: begin, send Port#1; main: receive Port#1] cargo \
         test it -- --exact
"
    );
}

#[test]
fn a_selection_and_a_send_without_another_side() {
    assert_eq!(
        story(nobody_listens),
        "\
deadlock after 1 execution (exhaustive)

  main waits at tests/tests/telling/message_stories.rs:26 for a message from Port `left` or Port `right`
  main.1 waits at tests/tests/telling/message_stories.rs:25 for its message to be received from Port

   step │ main                              │ main.1
      1 │ spawn main.1 :25                  │
      2 │                                   │ send to Port :25
      3 │ ⏳ receive from left or right :26 │
      4 │                                   │ ⏳ deliver to Port :25

  left was made at tests/tests/telling/message_stories.rs:22
  right was made at tests/tests/telling/message_stories.rs:22
  Port was made at tests/tests/telling/message_stories.rs:24

  replay: RADDLE_REPLAY=[main: begin, spawn main.1; main.1: begin, send Port#3] cargo test it -- --exact
"
    );
}

#[test]
fn a_panic_because_a_sender_is_still_there() {
    assert_eq!(
        story(looks_too_early),
        "\
panic after 1 execution (exhaustive)

  main panicked at tests/tests/telling/message_stories.rs:39:5:
  assertion `left == right` failed
    left: Err(Empty)
   right: Err(Disconnected)

   step │ main                                     │ main.1
      1 │ spawn main.1 :36                         │
      2 │ drop Sender#1 :34                        │
      3 │                                          │ look for Receiver: there :36
      4 │                                          │ send to Channel :36
      5 │ receive from Channel (from main.1) :38   │
      6 │ try-receive from Channel: no message :39 │
      7 │ look for Sender#1: gone :39              │
      8 │ look for Sender#2: there :39             │
      9 │ panic :39                                │

  Sender#1 was made at tests/tests/telling/message_stories.rs:34
  Receiver was made at tests/tests/telling/message_stories.rs:34
  Sender#2 was made at tests/tests/telling/message_stories.rs:35
  Channel was made at tests/tests/telling/message_stories.rs:34

  why:    fails when main tries to receive from Channel (:39) before main.1 drops Sender#2 (:35), not the \
         other way round
  replay: RADDLE_REPLAY=[main: begin, spawn main.1, hang-up Channel; main.1: begin, load Receiver, send \
         Channel; main: receive Channel, try-receive Channel, load Sender#1, load Sender#2] cargo test \
         it -- --exact
"
    );
}

#[test]
fn a_deadlock_because_nobody_receives() {
    assert_eq!(
        story(too_many),
        "\
deadlock after 1 execution (exhaustive)

  main waits at tests/tests/telling/message_stories.rs:48 for room in Channel
  main.1 waits at tests/tests/telling/message_stories.rs:46 for room in Channel

   step │ main                        │ main.1
      1 │ clone sender of Channel :45 │
      2 │ spawn main.1 :46            │
      3 │ send to Channel :47         │
      4 │ ⏳ send to Channel :48      │
      5 │                             │ ⏳ send to Channel :46

  Channel was made at tests/tests/telling/message_stories.rs:44

  replay: RADDLE_REPLAY=[main: begin, clone Channel, spawn main.1, send Channel; main.1: begin] cargo test \
         it -- --exact
"
    );
}

#[test]
fn a_deadlock_because_nobody_comes() {
    assert_eq!(
        story(nobody_comes),
        "\
deadlock after 1 execution (exhaustive)

  main waits at tests/tests/telling/message_stories.rs:58 for its message to be received from Channel#2
  main.1 waits at tests/tests/telling/message_stories.rs:55 for a message from Channel#1

   step │ main                          │ main.1
      1 │ clone sender of Channel#1 :54 │
      2 │ spawn main.1 :55              │
      3 │ drop sender of Channel#1 :53  │
      4 │ send to Channel#2 (waits) :58 │
      5 │                               │ receive from Channel#1 (waits) :55
      6 │ ⏳ deliver to Channel#2 :58   │
      7 │                               │ ⏳ receive from Channel#1 :55

  Channel#1 was made at tests/tests/telling/message_stories.rs:53
  Channel#2 was made at tests/tests/telling/message_stories.rs:57

  replay: RADDLE_REPLAY=[main: begin, clone Channel#1, spawn main.1, hang-up Channel#1, send Channel#2; \
         main.1: begin, receive Channel#1] cargo test it -- --exact
"
    );
}
