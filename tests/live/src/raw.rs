//! A client that speaks bytes: for what a real driver would never send.

use std::io::Read;
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use client::{Error, Login, Packets, Welcome};
use wire::Caps;
use wire::auth::Plugin;
use wire::command::code;
use wire::connect::ChangeUser;
use wire::reply::{EofPacket, ErrPacket};

/// A TCP connection with packets done by hand.
#[derive(Debug)]
pub struct Raw {
    /// The connection, with what it received beyond the last packet taken.
    pub packets: Packets<TcpStream>,
    /// What the login told; nothing before [`Raw::login`].
    pub welcome: Welcome,
}

impl Raw {
    /// Connects; nothing is read yet.
    pub fn open(port: u16) -> Result<Self> {
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let packets = Packets::tcp(address, Duration::from_secs(15))?;
        Ok(Raw { packets, welcome: Welcome::default() })
    }

    /// Connects and logs in.
    pub fn login(port: u16, user: &str, password: &str) -> Result<Self> {
        Raw::login_as(port, &Login::new(user, password))
    }

    /// The same with the id of a collation.
    pub fn login_with(port: u16, (user, password): (&str, &str), collation: u8) -> Result<Self> {
        Raw::login_as(port, &Login { collation, ..Login::new(user, password) })
    }

    /// The same as a client that can do what these flags of its handshake say.
    pub fn login_able(port: u16, (user, password): (&str, &str), caps: Caps) -> Result<Self> {
        let login = Login::new(user, password);
        Raw::login_as(port, &Login { caps: login.caps.union(caps), ..login })
    }

    fn login_as(port: u16, login: &Login<'_>) -> Result<Self> {
        let mut raw = Raw::open(port)?;
        raw.welcome = raw.packets.log_in(login)?;
        Ok(raw)
    }

    /// `COM_CHANGE_USER` with the id of a collation and no schema.
    pub fn change_user(&mut self, (user, password): (&str, &str), collation: u16) -> Result<()> {
        let command = ChangeUser {
            user: user.as_bytes(),
            auth_response: b"",
            schema: b"",
            collation: Some(collation),
            plugin: Some(Plugin::NativePassword.name().as_bytes()),
            attributes: b"",
        };
        let mut payload = Vec::new();
        command.encode(Login::new(user, password).caps, &mut payload);
        self.send(0, &payload)?;
        self.packets.authenticate(password)?;
        Ok(())
    }

    /// The only column of the first row of a result.
    pub fn first_row(&mut self, query: &str) -> Result<Vec<u8>> {
        self.packets.command(code::QUERY, query.as_bytes())?;
        let (mut packets, mut ends) = (Vec::new(), 0);
        while ends < 2 {
            let (_, packet) = self.receive()?;
            if ErrPacket::is(&packet) {
                return Err(Error::told(&packet).into());
            }
            let is_end = packet.first() == Some(&EofPacket::MARKER);
            ends += u8::from(is_end && packet.len() <= EofPacket::BYTES);
            packets.push(packet);
        }
        packets.into_iter().nth(3).context("a row")
    }

    /// Sends one packet.
    pub fn send(&mut self, seq: u8, payload: &[u8]) -> Result<()> {
        Ok(self.packets.send(seq, payload)?)
    }

    /// Sends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.packets.bytes(bytes)?)
    }

    /// Says that nothing more is sent.
    pub fn finish(&mut self) {
        drop(self.stream().shutdown(Shutdown::Write));
    }

    /// Receives one packet: its sequence number and payload.
    pub fn receive(&mut self) -> Result<(u8, Vec<u8>)> {
        Ok(self.packets.receive()?)
    }

    /// Everything until the other side closes; an error when it does not within the time limit.
    pub fn rest(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.packets.stream.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(bytes),
            Err(error) => Err(error).context("the connection stays open"),
        }
    }

    /// The socket itself, for what packets cannot say. What is read from it comes after all that
    /// was received ahead.
    pub fn stream(&self) -> &TcpStream {
        self.packets.stream.get_ref()
    }
}

/// The payload of a handshake response as any driver would send it.
pub fn response(user: &str, answer: &[u8]) -> Vec<u8> {
    Login::new(user, "").response(Plugin::NativePassword, answer)
}
