use std::sync::Arc;

use tokio::sync::Mutex;

type Account = Arc<Mutex<u32>>;

async fn transfer(from: Account, to: Account) {
    let mut from = from.lock().await;
    let mut to = to.lock().await;
    *from -= 1;
    *to += 1;
}

pub async fn two_transfers() {
    let savings = Arc::new(Mutex::new(5));
    let current = Arc::new(Mutex::new(5));
    let there = tokio::spawn(transfer(Arc::clone(&savings), Arc::clone(&current)));
    transfer(current, savings).await;
    there.await.unwrap();
}
