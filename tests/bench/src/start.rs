// SPDX-License-Identifier: Apache-2.0
//! How long an agent takes from its start to its first answer about containers, which it gives after recovery.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use testbed::{Agent, Error, Testbed};

use crate::rounds;
use crate::variant::Variant;

const PATIENCE: Duration = Duration::from_secs(60);
const BODY: &str = r#"{"type":"GET_CONTAINERS"}"#;

/// One start. No master is there: registration is not what is measured.
pub fn milliseconds(variant: Variant) -> Result<f64, Error> {
    let bed = Testbed::new()?;
    let mut agent = variant.agent(&bed).start()?;
    let elapsed = until_ready(&mut agent)?;
    agent.terminate()?;
    Ok(elapsed)
}

/// The milliseconds until an agent that was started right now is ready.
pub fn until_ready(agent: &mut Agent) -> Result<f64, Error> {
    let started = Instant::now();
    while !answers(agent.address()) {
        if started.elapsed() > PATIENCE {
            agent.wait_ready(Duration::ZERO)?;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(rounds::milliseconds(started))
}

/// Whether the agent says yes. A refused connection or another status means not yet.
fn answers(address: &str) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "POST /api/v1 HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{BODY}",
            BODY.len()
        )?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        std::io::Result::Ok(status)
    };
    ask().is_ok_and(|status| status.ends_with(b" 200"))
}
