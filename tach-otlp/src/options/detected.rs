//! Attributes of the host, the process and the container, for the resource
//! (<https://opentelemetry.io/docs/specs/semconv/resource/>).

use core::hash::BuildHasher as _;
use std::env::consts;
use std::hash::RandomState;
use std::sync::OnceLock;
use std::{fs, process};

use tach_core::adapter;
use tach_log::Value;

use super::Otlp;

pub(super) const INSTANCE: &str = "service.instance.id";
const PID: &str = "process.pid";
/// The hexadecimal digits of a container's id.
const ID_DIGITS: usize = 64;

impl Otlp {
    /// Adds the host, the process and the container to the resource: `host.name`, `host.arch`,
    /// `os.type`, `process.pid`, `process.executable.name`, `process.runtime.name`, and on Linux
    /// `container.id`. An attribute that is set, also by `OTEL_RESOURCE_ATTRIBUTES`, stays. An
    /// attribute that this system does not provide is left out.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::from_env().detect_resource();
    /// ```
    pub fn detect_resource(self) -> Self {
        let pid = i64::from(process::id());
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let (groups, mounts) = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
        self.detected("host.name", host_name().as_deref())
            .detected("host.arch", Some(architecture(consts::ARCH)))
            .detected("os.type", Some(if consts::OS == "macos" { "darwin" } else { consts::OS }))
            .detected(PID, Some(pid))
            .detected("process.executable.name", Some(adapter::program_name()))
            .detected("process.runtime.name", Some("rustc"))
            .detected("container.id", container_id(&groups, &mounts))
    }

    /// Returns the options for this process, a forked child of the process that made them.
    /// Attributes that the program has set stay.
    pub(crate) fn in_child(&self) -> Self {
        let (parent, this) = (self.process, process::id());
        let mut child = Self { process: this, ..self.clone() };
        let id = Value::Str;
        let (old, new) = (instance_id(parent), instance_id(this));
        child.renumber(INSTANCE, id(&old), id(&new));
        child.renumber(PID, i64::from(parent).into(), i64::from(this).into());
        child
    }

    /// Replaces the value of an attribute if it is `old`.
    fn renumber(&mut self, key: &str, old: Value<'_>, new: Value<'_>) {
        let encoded = |value| Self::encoded(key, value);
        let (old, new) = (encoded(old), encoded(new));
        for (_, attribute) in self.attributes.iter_mut().filter(|(_, it)| *it == old) {
            attribute.clone_from(&new);
        }
    }

    fn detected<'a>(self, key: &str, value: Option<impl Into<tach_log::Value<'a>>>) -> Self {
        match value {
            Some(value) if !self.attributes.iter().any(|(known, _)| known == key) => {
                self.attribute(key, value)
            }
            _ => self,
        }
    }
}

/// Returns the host's name: from a file on Linux, and elsewhere from a variable.
fn host_name() -> Option<String> {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let files = files.into_iter().filter_map(|path| fs::read_to_string(path).ok());
    let variable = |name| adapter::variable(name)?.into_string().ok();
    let names = files.chain(["HOSTNAME", "COMPUTERNAME"].into_iter().filter_map(variable));
    names.map(|name| name.trim().to_owned()).find(|name| !name.is_empty())
}

/// Returns the conventions' name of an architecture.
fn architecture(of_rust: &str) -> &str {
    match of_rust {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Returns the id of the container in which the process runs: the end of a path in
/// `/proc/self/cgroup`, or with version 2 of cgroups the folder from which the container's files
/// are mounted.
fn container_id<'a>(groups: &'a str, mounts: &'a str) -> Option<&'a str> {
    let of_group = groups.lines().filter_map(|line| line.rsplit('/').next());
    // `docker-<id>.scope` and `cri-containerd-<id>.scope` are systemd's names.
    let mut of_group = of_group.filter_map(|name| name.split(['-', '.', ':']).find(|it| is_id(it)));
    let mut of_mount = mounts.split(' ').filter_map(|path| {
        // `/var/lib/docker/containers/<id>/hostname`, or podman's `overlay-containers`.
        path.split_once("containers/")?.1.split('/').next().filter(|it| is_id(it))
    });
    of_group.next_back().or_else(|| of_mount.next())
}

fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Returns the random `service.instance.id` of a process, a UUID of version 4. A forked process has
/// another one.
pub(super) fn instance_id(process: u32) -> String {
    static RANDOM: OnceLock<RandomState> = OnceLock::new();
    let random = RANDOM.get_or_init(RandomState::new);
    let [high, low] = [0_u8, 1].map(|half| random.hash_one((process, half)));
    let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
    format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn a_container_has_an_id_in_either_version_of_cgroups() {
        for (groups, mounts, is_found) in [
            (format!("12:pids:/docker/{ID}\n0::/\n"), String::new(), true),
            (format!("1:name=systemd:/kubepods/besteffort/pod1/{ID}"), String::new(), true),
            (format!("0::/system.slice/docker-{ID}.scope"), String::new(), true),
            (format!("0::/kubepods.slice/cri-containerd-{ID}.scope"), String::new(), true),
            (format!("0::/x:cri-containerd:{ID}"), String::new(), true),
            (
                "0::/".to_owned(),
                format!("7 8 0:1 /var/lib/docker/containers/{ID}/hostname /etc/hostname rw"),
                true,
            ),
            ("0::/".to_owned(), format!("7 8 /overlay-containers/{ID}/userdata/hosts rw"), true),
            // The sandbox of a pod, which is another container.
            ("0::/".to_owned(), format!("7 8 /io.containerd/sandboxes/{ID}/hostname rw"), false),
            (format!("0::/user.slice/{}", &ID[1..]), "7 8 /containers/short/x".to_owned(), false),
            (String::new(), String::new(), false),
        ] {
            assert_eq!(container_id(&groups, &mounts), is_found.then_some(ID), "{groups} {mounts}");
        }
    }

    #[test]
    fn an_instance_has_one_random_id() {
        let id = instance_id(1);
        assert_eq!(id, instance_id(1));
        assert_ne!(id, instance_id(2));
        let lengths: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&id[14..15], "4");
        assert!(["8", "9", "a", "b"].contains(&&id[19..20]), "{id}");
    }

    #[test]
    fn a_child_has_its_own_id_and_number() {
        let parent = Otlp { process: 1, ..Otlp::new() }.attribute(INSTANCE, &*instance_id(1));
        let has = |otlp: &Otlp, key: &str, value: Value<'_>| {
            otlp.attributes.contains(&(key.to_owned(), Otlp::encoded(key, value)))
        };
        let (id, this) = (instance_id(process::id()), i64::from(process::id()));
        let child = parent.clone().attribute(PID, 1_i64).in_child();
        assert!(has(&child, INSTANCE, Value::Str(&id)) && has(&child, PID, this.into()));
        // Attributes that the program has set are kept in the child.
        let child = parent.attribute(INSTANCE, "blue").attribute(PID, 7_i64).in_child();
        assert!(has(&child, INSTANCE, Value::Str("blue")) && has(&child, PID, 7_i64.into()));
    }

    #[test]
    fn what_is_set_stays() {
        let set = Otlp::new().attribute("host.name", "mine").detect_resource();
        let keys: Vec<_> = set.attributes.iter().map(|(key, _)| &**key).collect();
        let later = Otlp::new().detect_resource().attribute("host.name", "mine");
        for otlp in [&set, &later] {
            let hosts = otlp.attributes.iter().filter(|(key, _)| key == "host.name");
            let hosts: Vec<_> = hosts.collect();
            assert!(hosts.len() == 1 && hosts[0].1.windows(4).any(|it| it == b"mine"));
        }
        for key in ["host.arch", "os.type", "process.pid", "process.executable.name"] {
            assert!(keys.contains(&key), "{keys:?}");
        }
    }
}
