//! Statements as text, and what they answer: values are texts, whatever their types.

use std::io::{Read, Write};

use wire::command::code;
use wire::reply::ErrPacket;
use wire::text_result::{TextReader, TextResult};
use wire::{Caps, Status};

use crate::{Error, Login, Packets};

/// A client that is logged in.
#[derive(Debug)]
pub struct Client<S> {
    /// Its connection, for what is no statement. Between statements nothing is under way there.
    pub packets: Packets<S>,
}

impl<S: Read + Write> Client<S> {
    /// Logs in on a connection that has received nothing yet.
    pub fn log_in(mut packets: Packets<S>, login: &Login<'_>) -> Result<Self, Error> {
        // results are read with the EOF packets that this leaves out
        let caps = login.caps.without(Caps::DEPRECATE_EOF);
        packets.log_in(&Login { caps, ..*login })?;
        Ok(Self { packets })
    }

    /// Runs a statement, or several with [`Caps::MULTI_STATEMENTS`]; gives the last one's answer.
    /// The first that is refused is the last one.
    pub fn query(&mut self, text: &str) -> Result<TextResult, Error> {
        self.packets.command(code::QUERY, text.as_bytes())?;
        loop {
            let reply = self.result()?;
            if !reply.status.contains(Status::MORE_RESULTS) {
                return Ok(reply);
            }
        }
    }

    fn result(&mut self) -> Result<TextResult, Error> {
        let mut reader = TextReader::default();
        loop {
            if let Some(result) = reader.on_packet(&self.packet()?)? {
                return Ok(result);
            }
        }
    }

    /// The payload of the next packet, if that is not an error.
    fn packet(&mut self) -> Result<Vec<u8>, Error> {
        match self.packets.receive()? {
            (_, packet) if ErrPacket::is(&packet) => Err(Error::told(&packet)),
            (_, packet) => Ok(packet),
        }
    }
}
