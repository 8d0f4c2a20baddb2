//! Records: the tables of a run, and the circumstances that they depend on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use bench_tables::Table;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Benchmark;
use crate::files;
use crate::run::{cargo, output, program, root};

const FOLDER: &str = "benches/records";

/// A file in `benches/records`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The name of the file, without its extension: the benchmark and the CPU.
    #[serde(skip)]
    pub(crate) name: String,
    command: String,
    pub(crate) date: String,
    commit: String,
    pub(crate) rustc: String,
    host: Host,
    /// The crates that the benchmark depends on itself, the rivals among them.
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) tables: Vec<Table>,
}

/// Facts of a host, most of them by `tach doctor`.
#[derive(Debug, Serialize, Deserialize)]
struct Host {
    platform: String,
    cpu: Option<String>,
    cores: usize,
    kernel: Option<String>,
    hypervisor: Option<String>,
    clocksource: Option<String>,
    sandboxes: Vec<String>,
    /// The clock that tach uses there.
    source: String,
}

impl Record {
    /// Returns a record without tables.
    pub(super) fn begin(benchmark: &Benchmark) -> Result<Self, String> {
        let host = Host::this()?;
        let cpu = host.cpu.as_deref().unwrap_or(&host.platform);
        let commit = ["describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"];
        Ok(Self {
            name: format!("{}-{}", benchmark.name, file_name(cpu)),
            command: format!("cargo xtask bench {}", benchmark.name),
            date: line(&mut program("date", &["-u", "+%F"]))?,
            commit: line(&mut program("git", &commit))?,
            rustc: line(&mut program("rustc", &["--version"]))?,
            host,
            versions: versions(benchmark)?,
            tables: Vec::new(),
        })
    }

    /// Returns where it was measured, in a line.
    pub(super) fn circumstances(&self) -> String {
        let Self { rustc, host, .. } = self;
        let cpu = host.cpu.as_deref().unwrap_or(&host.platform);
        let rustc = rustc.split(' ').take(2).collect::<Vec<_>>().join(" ");
        format!("{cpu}, {} cores, {}, {rustc}", host.cores, host.platform)
    }

    /// Writes the record over an older one, and prints the marks that quote its tables.
    #[expect(clippy::print_stdout, reason = "the marks are for a document")]
    pub(super) fn write(&self) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| format!("the record {}: {error}", self.name))?;
        let path = root().join(FOLDER).join(format!("{}.json", self.name));
        files::write(&path, &format!("{text}\n"))?;
        println!("Wrote {FOLDER}/{}.json. A document quotes its tables so:\n", self.name);
        for table in &self.tables {
            println!("<!-- record {} | {} -->\n<!-- end -->\n", self.name, table.name);
        }
        println!("Then: cargo xtask bench --tables");
        Ok(())
    }
}

/// Returns all records, in the order of their names.
pub(super) fn all() -> Result<Vec<Record>, String> {
    let mut paths = files::entries(&root().join(FOLDER))?;
    paths.sort();
    let is_record = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "json");
    paths.iter().filter(is_record).map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<Record, String> {
    let text = files::read(path)?;
    let record: Result<Record, _> = serde_json::from_str(&text);
    let mut record = record.map_err(|error| format!("{}: {error}", path.display()))?;
    record.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(record)
}

impl Host {
    fn this() -> Result<Self, String> {
        let mut doctor = cargo(&["run", "--quiet", "--locked", "--package", "tach-cli", "--"]);
        doctor.args(["doctor", "--for", "1s", "--json"]);
        // Ignore the exit status: it is a failure if the host's clock is bad, which the record
        // states too.
        let output =
            doctor.output().map_err(|error| format!("can't start tach doctor: {error}"))?;
        let facts: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
            let errors = String::from_utf8_lossy(&output.stderr);
            format!("the output of tach doctor: {error}\n{errors}")
        })?;
        let cores = thread::available_parallelism();
        let cores = cores.map_err(|error| format!("the number of cores: {error}"))?.get();
        Ok(Self::of(&facts, cores))
    }

    fn of(facts: &Value, cores: usize) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let host = &facts["host"];
        let sandboxes = host["sandboxes"].as_array().into_iter().flatten();
        Self {
            platform: text(&facts["platform"]).unwrap_or_default(),
            cpu: text(&host["cpu"]),
            cores,
            kernel: text(&host["kernel"]),
            hypervisor: text(&host["hypervisor"]),
            clocksource: text(&host["clocksource"]),
            sandboxes: sandboxes.filter_map(text).collect(),
            source: text(&facts["source"]).unwrap_or_default(),
        }
    }
}

/// Returns the versions of the crates that the benchmark's package depends on, without tach's.
fn versions(benchmark: &Benchmark) -> Result<BTreeMap<String, String>, String> {
    let mut metadata = cargo(&["metadata", "--format-version", "1", "--locked"]);
    let text = output(metadata.args(["--manifest-path", benchmark.workspace]))?;
    let metadata: Value = serde_json::from_str(&text)
        .map_err(|error| format!("the output of cargo metadata: {error}"))?;
    Ok(direct(&metadata, benchmark.package))
}

fn direct(metadata: &Value, package: &str) -> BTreeMap<String, String> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let id = packages.iter().find(|one| one["name"] == package).map(|one| one["id"].clone());
    let nodes = list(&metadata["resolve"]["nodes"]);
    let node = nodes.iter().find(|node| Some(&node["id"]) == id.as_ref());
    let dependencies = node.map(|node| list(&node["dependencies"])).unwrap_or_default();
    // Skip packages of the workspace, which come from no registry.
    let is_other = |one: &&Value| dependencies.contains(&one["id"]) && !one["source"].is_null();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    packages
        .iter()
        .filter(is_other)
        .map(|one| (text(&one["name"]), text(&one["version"])))
        .collect()
}

/// Returns a name for a file: small letters and digits, and hyphens for the rest.
fn file_name(cpu: &str) -> String {
    let cpu = cpu.to_lowercase();
    let words = cpu.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

fn line(command: &mut Command) -> Result<String, String> {
    Ok(output(command)?.trim().to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn record(name: &str, tables: Vec<Table>) -> Record {
        let host = Host::of(&json!({"host": {"cpu": "A"}}), 2);
        let [command, date, commit, rustc] = [const { String::new() }; 4];
        let versions = BTreeMap::new();
        Record { name: name.to_owned(), command, date, commit, rustc, host, versions, tables }
    }

    #[test]
    fn a_cpu_names_a_file() {
        assert_eq!(file_name("Intel(R) Xeon(R) CPU @ 2.80GHz"), "intel-r-xeon-r-cpu-2-80ghz");
    }

    #[test]
    fn the_hosts_facts_are_those_of_tach_doctor() {
        let facts = json!({"platform": "linux x86_64", "source": "counter", "host": {
            "cpu": "AMD EPYC", "kernel": "6.1", "hypervisor": null, "clocksource": "tsc",
            "sandboxes": ["container"]}});
        let host = Host::of(&facts, 2);
        let host = serde_json::to_value(host).unwrap();
        let expected = json!({"platform": "linux x86_64", "source": "counter", "cores": 2,
            "cpu": "AMD EPYC", "kernel": "6.1", "hypervisor": null, "clocksource": "tsc",
            "sandboxes": ["container"]});
        assert_eq!(host, expected);
    }

    #[test]
    fn versions_are_those_of_direct_dependencies_from_a_registry() {
        let metadata = json!({
            "packages": [
                {"name": "benches", "version": "0.0.0", "id": "1", "source": null},
                {"name": "tach-core", "version": "0.1.0", "id": "2", "source": null},
                {"name": "quanta", "version": "0.12.6", "id": "3", "source": "registry"},
                {"name": "libc", "version": "0.2.1", "id": "4", "source": "registry"},
            ],
            "resolve": {"nodes": [
                {"id": "3", "dependencies": ["4"]},
                {"id": "1", "dependencies": ["2", "3"]},
            ]},
        });
        let expected = BTreeMap::from([("quanta".to_owned(), "0.12.6".to_owned())]);
        assert_eq!(direct(&metadata, "benches"), expected);
    }
}
