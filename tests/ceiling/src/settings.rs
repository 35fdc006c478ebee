//! The settings, from the same environment variables as in the other measured services.

use std::{
    env::{self, VarError},
    net::{IpAddr, SocketAddr},
    str::FromStr,
    time::Duration,
};

use anyhow::Context;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::NoTls;

/// The settings of this program.
pub struct Settings {
    /// `ADDRESS` and `PORT`: where to listen.
    pub address: SocketAddr,
    /// `API_KEYS`: the accepted keys.
    pub api_keys: Vec<String>,
    database: tokio_postgres::Config,
    pool_size: usize,
    timeout: Duration,
}

impl Settings {
    /// Reads the settings.
    ///
    /// # Errors
    /// If `DATABASE_URL` is missing or a variable has an invalid value. The message doesn't repeat
    /// the value, because the URL contains a password.
    pub fn from_environment() -> anyhow::Result<Settings> {
        let address: IpAddr = variable("ADDRESS", "127.0.0.1")?;
        let keys: String = variable("API_KEYS", "valid_key")?;
        let url = env::var("DATABASE_URL").context("DATABASE_URL is not set")?;
        Ok(Settings {
            address: SocketAddr::new(address, variable("PORT", "8080")?),
            api_keys: keys.split(',').map(|key| key.trim().to_owned()).collect(),
            database: url.parse().context("DATABASE_URL cannot be used")?,
            pool_size: variable("DATABASE_POOL_SIZE", "10")?,
            timeout: Duration::from_millis(variable("DATABASE_TIMEOUT_MS", "1000")?),
        })
    }

    /// The pool. It lends connections without testing them with a query first.
    ///
    /// # Errors
    /// The pool's settings contradict each other.
    pub fn pool(&self) -> anyhow::Result<Pool> {
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(
            self.database.clone(),
            NoTls,
            ManagerConfig { recycling_method },
        );
        Ok(Pool::builder(manager)
            .max_size(self.pool_size)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(self.timeout))
            .create_timeout(Some(self.timeout))
            .build()?)
    }
}

/// The value of a variable, or its default.
fn variable<T: FromStr>(name: &str, default: &str) -> anyhow::Result<T> {
    let text = match env::var(name) {
        Ok(text) => text,
        Err(VarError::NotPresent) => default.to_owned(),
        Err(VarError::NotUnicode(_)) => anyhow::bail!("{name} is not Unicode"),
    };
    match text.parse() {
        Ok(value) => Ok(value),
        Err(_) => anyhow::bail!("{name} has a value that cannot be used"),
    }
}
