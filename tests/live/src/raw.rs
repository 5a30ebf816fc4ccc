//! A client that speaks bytes: for what a real driver would never send.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use wire::connect::Greeting;

/// A TCP connection with packet framing done by hand.
#[derive(Debug)]
pub struct Raw {
    /// The socket itself, for what the framing cannot say.
    pub stream: TcpStream,
    /// What the greeting called this connection, after [`Raw::login`].
    pub connection_id: u32,
    /// Status flags of the greeting, after [`Raw::login`].
    pub greeted_status: u16,
    /// Status flags that the login ended with.
    pub login_status: u16,
}

impl Raw {
    /// Connects; nothing is read yet.
    pub fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(15)))?;
        stream.set_nodelay(true)?;
        Ok(Raw { stream, connection_id: 0, greeted_status: 0, login_status: 0 })
    }

    /// Connects and logs in with `mysql_native_password`.
    pub fn login(port: u16, user: &str, password: &str) -> Result<Self> {
        Raw::login_with(port, (user, password), 45)
    }

    /// The same with the id of a collation.
    pub fn login_with(port: u16, account: (&str, &str), collation: u8) -> Result<Self> {
        Raw::login_as(port, account, |payload| payload[8] = collation)
    }

    /// The same as a client that is told what statements change in its session.
    pub fn login_telling(port: u16, user: &str, password: &str) -> Result<Self> {
        const SESSION_TRACK: u8 = 0x80;
        Raw::login_as(port, (user, password), |payload| payload[2] |= SESSION_TRACK)
    }

    /// The same as a client that can do what these flags of its handshake say.
    pub fn login_able(port: u16, account: (&str, &str), flags: u32) -> Result<Self> {
        let add = |payload: &mut [u8]| {
            payload.iter_mut().zip(flags.to_le_bytes()).for_each(|(byte, flags)| *byte |= flags);
        };
        Raw::login_as(port, account, add)
    }

    fn login_as(
        port: u16,
        (user, password): (&str, &str),
        edit: impl FnOnce(&mut [u8]),
    ) -> Result<Self> {
        let mut raw = Raw::open(port)?;
        let (_, greeting) = raw.receive()?;
        let (id, nonce) = challenge(&greeting).context("a greeting with a scramble")?;
        raw.connection_id = id;
        raw.greeted_status = Greeting::parse(&greeting).context("a greeting")?.status.0;
        let answer = wire::auth::native::scramble(password.as_bytes(), &nonce);
        let mut payload = response(user, &answer);
        edit(&mut payload);
        raw.send(1, &payload)?;
        raw.authenticate(password)?;
        Ok(raw)
    }

    /// `COM_CHANGE_USER` with the id of a collation and no schema.
    pub fn change_user(&mut self, (user, password): (&str, &str), collation: u16) -> Result<()> {
        let mut payload = [b"\x11", user.as_bytes(), b"\0\0\0"].concat();
        payload.extend_from_slice(&collation.to_le_bytes());
        payload.extend_from_slice(b"mysql_native_password\0");
        self.send(0, &payload)?;
        self.authenticate(password)
    }

    /// The only column of the first row of a result.
    pub fn first_row(&mut self, query: &str) -> Result<Vec<u8>> {
        self.send(0, &[b"\x03", query.as_bytes()].concat())?;
        let (mut packets, mut ends) = (Vec::new(), 0);
        while ends < 2 {
            let (_, packet) = self.receive()?;
            if packet.first() == Some(&0xff) {
                bail!("{}", String::from_utf8_lossy(&packet));
            }
            ends += u8::from(packet.first() == Some(&0xfe) && packet.len() < 9);
            packets.push(packet);
        }
        packets.into_iter().nth(3).context("a row")
    }

    fn authenticate(&mut self, password: &str) -> Result<()> {
        loop {
            let (seq, packet) = self.receive()?;
            match packet.first() {
                Some(0x00) => {
                    let status = packet.get(3..5).and_then(<[u8]>::first_chunk);
                    self.login_status = u16::from_le_bytes(*status.context("status flags")?);
                    return Ok(());
                }
                Some(0xfe) => {
                    let nonce = packet.get(23..43).context("a scramble")?.try_into()?;
                    let password = password.as_bytes();
                    // the names of both plugins have as many letters
                    let answer = match packet.get(1..22) == Some(b"caching_sha2_password") {
                        true => wire::auth::sha2::scramble(password, &nonce).to_vec(),
                        false => wire::auth::native::scramble(password, &nonce).to_vec(),
                    };
                    self.send(seq.wrapping_add(1), &answer)?;
                }
                // the server knows the password of another login
                Some(0x01) if packet == [1, 3] => {}
                Some(0xff) => bail!("refused: {}", String::from_utf8_lossy(&packet)),
                _ => bail!("unexpected packet {packet:?}"),
            }
        }
    }

    /// Sends one packet.
    pub fn send(&mut self, seq: u8, payload: &[u8]) -> Result<()> {
        let len = u32::try_from(payload.len())?.to_le_bytes();
        let mut packet = vec![len[0], len[1], len[2], seq];
        packet.extend_from_slice(payload);
        self.bytes(&packet)
    }

    /// Sends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Says that nothing more is sent.
    pub fn finish(&mut self) {
        drop(self.stream.shutdown(Shutdown::Write));
    }

    /// Receives one packet: its sequence number and payload.
    pub fn receive(&mut self) -> Result<(u8, Vec<u8>)> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let [a, b, c, seq] = header;
        let mut payload = vec![0; usize::try_from(u32::from_le_bytes([a, b, c, 0]))?];
        self.stream.read_exact(&mut payload)?;
        Ok((seq, payload))
    }

    /// Everything until the other side closes; an error when it does not within the time limit.
    pub fn rest(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.stream.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(bytes),
            Err(error) => Err(error).context("the connection stays open"),
        }
    }
}

/// The payload of a handshake response as any driver would send it.
pub fn response(user: &str, answer: &[u8]) -> Vec<u8> {
    // long password, long flag, 4.1 protocol, transactions, secure connection, plugin names
    let flags: u32 = 1 | 4 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
    let mut payload = flags.to_le_bytes().to_vec();
    payload.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    payload.push(45);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(user.as_bytes());
    payload.push(0);
    payload.push(answer.len().try_into().unwrap_or(0));
    payload.extend_from_slice(answer);
    payload.extend_from_slice(b"mysql_native_password\0");
    payload
}

/// The connection's number and the 20 bytes to be scrambled, from a greeting.
fn challenge(greeting: &[u8]) -> Option<(u32, [u8; 20])> {
    let version = greeting.iter().skip(1).position(|&byte| byte == 0)? + 1;
    let id = greeting.get(version + 1..version + 5)?.try_into().ok()?;
    let first = greeting.get(version + 5..version + 13)?;
    let second = greeting.get(version + 32..version + 44)?;
    Some((u32::from_le_bytes(id), [first, second].concat().try_into().ok()?))
}
