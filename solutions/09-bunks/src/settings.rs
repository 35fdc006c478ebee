//! The settings: the address to listen on, read from the environment once.

use std::env;
use std::fmt;
use std::net::IpAddr;

use rocket::figment::Figment;

/// The address and the port to listen on.
pub struct Settings {
    address: IpAddr,
    port: u16,
}

/// An invalid variable, described in a sentence for the person who set it.
#[derive(Debug, thiserror::Error)]
#[error("{variable} can't be used; set it to {expected}")]
pub struct BadSetting {
    variable: &'static str,
    expected: &'static str,
}

impl Settings {
    /// Reads `ADDRESS` and `PORT`, which have defaults.
    pub fn from_environment() -> Result<Settings, BadSetting> {
        Ok(Settings {
            address: setting("ADDRESS", "127.0.0.1", "an IP address")?,
            port: setting("PORT", "8080", "a port number, 0 to 65535")?,
        })
    }

    /// Rocket's configuration. After SIGTERM, requests in flight have a second to finish.
    pub fn rocket(&self) -> Figment {
        rocket::Config::figment()
            .merge(("address", self.address))
            .merge(("port", self.port))
            .merge(("log_level", "critical"))
            .merge(("shutdown.grace", 1))
            .merge(("shutdown.mercy", 1))
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.address, self.port)
    }
}

fn setting<T: std::str::FromStr>(
    variable: &'static str,
    default: &str,
    expected: &'static str,
) -> Result<T, BadSetting> {
    let text = env::var_os(variable).unwrap_or_else(|| default.into());
    let value = text.to_str().and_then(|text| text.parse().ok());
    value.ok_or(BadSetting { variable, expected })
}
