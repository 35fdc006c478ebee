//! Makes, restarts or finds a container by testcontainers, as it is asked to on its input. A program of its own: who has no engine
//! compiles none of what talks to one.

use std::collections::HashMap;
use std::io::{Read, stdin};

use anyhow::Context;
use testcontainers::bollard::models::PortBinding;
use testcontainers::core::ContainerPort;
use testcontainers::core::client::ClientError;
use testcontainers::runners::AsyncRunner;
use testcontainers::{
    ContainerRequest, GenericImage, ImageExt, ReuseDirective, TestcontainersError,
};
use workshop_base::container::{ContainerAnswer, WantedContainer};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut asked = String::new();
    stdin().read_to_string(&mut asked)?;
    let wanted = serde_json::from_str(&asked).context("this is no container that is wanted")?;
    println!("{}", serde_json::to_string(&run(wanted).await?)?);
    Ok(())
}

/// Sees to it that the container runs.
async fn run(wanted: WantedContainer) -> anyhow::Result<ContainerAnswer> {
    let port = ContainerPort::Tcp(wanted.port);
    let only_local = wanted.only_local;
    let container = match request(wanted).start().await {
        Ok(container) => container,
        Err(TestcontainersError::Client(ClientError::PullImage { err, .. })) => {
            return Ok(ContainerAnswer::NoImage(err.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let host = if only_local {
        "127.0.0.1".to_owned()
    } else {
        container.get_host().await?.to_string()
    };
    Ok(ContainerAnswer::Runs {
        id: container.id().to_owned(),
        host,
        port: container.get_host_port_ipv4(port).await?,
    })
}

/// The container in testcontainers' words. It has no ready condition: the server in it is asked.
fn request(wanted: WantedContainer) -> ContainerRequest<GenericImage> {
    let port = ContainerPort::Tcp(wanted.port);
    let (repository, tag) = split_image(&wanted.image);
    let mut request = GenericImage::new(repository, tag)
        .with_exposed_port(port)
        .with_container_name(wanted.name)
        .with_labels(wanted.labels)
        .with_cmd(wanted.command)
        .with_shm_size(wanted.shared_memory)
        .with_startup_timeout(wanted.patience)
        .with_reuse(ReuseDirective::Always)
        .with_host_config_modifier(move |host| {
            let binding = PortBinding {
                host_ip: wanted.only_local.then(|| "127.0.0.1".to_owned()),
                host_port: Some(String::new()),
            };
            host.publish_all_ports = Some(false);
            host.port_bindings = Some(HashMap::from([(port.to_string(), Some(vec![binding]))]));
        });
    for (name, value) in wanted.variables {
        request = request.with_env_var(name, value);
    }
    request
}

/// `registry:5000/postgres:18.1` is `registry:5000/postgres` and `18.1`; a digest stays whole.
fn split_image(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_name_is_split_at_its_tag_and_not_at_a_port() {
        assert_eq!(split_image("postgres:18.1"), ("postgres", "18.1"));
        assert_eq!(split_image("postgres"), ("postgres", "latest"));
        assert_eq!(
            split_image("registry:5000/postgres"),
            ("registry:5000/postgres", "latest")
        );
        assert_eq!(
            split_image("registry:5000/postgres:18"),
            ("registry:5000/postgres", "18")
        );
    }
}
