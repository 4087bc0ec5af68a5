//! The two servers, each in its own process.

use std::env;
use std::process::{Child, Command};
use std::sync::Arc;

use rsbinder::{Interface, Parcel, ProcessState, Remotable, StatusCode, TransactionCode};
use unjank_binder::{Answer, KernelDriver, NodeFlags, Server};

use crate::{ECHO, NUMBERS, Outcome, pin};

/// A process that is killed at the end.
pub struct Peer(Child);

impl Peer {
    /// Starts a server on a CPU.
    pub fn start(role: &str, device: &str, cpu: usize) -> Outcome<Self> {
        let cpu = cpu.to_string();
        Ok(Self(Command::new(env::current_exe()?).args([role, device, &cpu]).spawn()?))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Fails if it has ended already.
        let _killed = self.0.kill().and_then(|()| self.0.wait());
    }
}

struct Echo;

impl Remotable for Echo {
    fn descriptor() -> &'static str {
        "unjank.echo"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        request: &mut Parcel,
        reply: &mut Parcel,
    ) -> rsbinder::Result<()> {
        if code != ECHO {
            return Err(StatusCode::UnknownTransaction);
        }
        for _ in NUMBERS {
            reply.write(&request.read::<i64>()?)?;
        }
        Ok(())
    }

    fn on_dump(&self, _: &mut dyn std::io::Write, _: &[String]) -> rsbinder::Result<()> {
        Ok(())
    }
}

/// Serves through rsbinder.
pub fn rsbinder(device: &str, cpu: usize) -> Outcome {
    pin(cpu)?;
    ProcessState::init(device, 0)?;
    ProcessState::as_self().become_context_manager(rsbinder::Binder::new(Echo).as_binder())?;
    ProcessState::join_thread_pool()?;
    Ok(())
}

/// Serves through unjank-binder.
pub fn unjank(device: &str, cpu: usize) -> Outcome {
    pin(cpu)?;
    let driver = Arc::new(KernelDriver::open(device)?);
    Server::become_context_manager(driver, NodeFlags::NONE)?.serve(|request, reply| {
        match (request.code, request.payload.as_chunks::<8>()) {
            (ECHO, ([first, second], [])) => {
                reply.extend_from_slice(first);
                reply.extend_from_slice(second);
                Answer::Reply
            }
            _ => Answer::Refuse(-1),
        }
    })?;
    Ok(())
}
